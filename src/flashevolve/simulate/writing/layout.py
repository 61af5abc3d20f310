"""Layout: how sentences are set out in lines, lists, paragraphs, sections and tables."""

import random
from collections.abc import Sequence
from itertools import pairwise

from flashevolve.simulate.planning import Plan
from flashevolve.simulate.writing.habits import (
    COPY_SEPARATORS,
    HEADINGS,
    LINE_PREFIXES,
    MARKERS,
    NUMBERS,
    SECTIONS,
    SEPARATORS,
    STAIRS,
    TABLES,
    VARIANT_SEPARATORS,
    Habits,
)
from flashevolve.simulate.writing.lexicon import Picker

MAX_INDENT = 400
"""Spaces; the stairs of a very long answer go no deeper."""


def chunks(n: int, n_parts: int) -> list[range]:
    """Returns `n_parts` runs that cover range(n), none empty where there are enough."""
    cuts = [n * k // n_parts for k in range(n_parts + 1)]
    return [range(a, b) for a, b in pairwise(cuts)]


def set_out(
    plan: Plan, texts: Sequence[str], n_items: int, n_groups: int, habits: Habits, picker: Picker
) -> str:
    """Returns sentences as items of a list, groups of sentences, or one run of text."""
    if n_items:
        head, tail = list(texts[: max(0, n_groups - 1)]), texts[max(0, n_groups - 1) :]
        items = [" ".join(tail[i] for i in part) for part in chunks(len(tail), n_items) if part]
        block = "\n".join(_marks(plan, items, habits))
        return _grouped(plan, [*head, block], habits, picker) if n_groups else block
    if plan.text("sentence lines") or plan.text("indent"):
        return "\n".join(texts)
    if n_groups:
        groups = [" ".join(texts[i] for i in part) for part in chunks(len(texts), n_groups)]
        return _grouped(plan, groups, habits, picker)
    return " ".join(texts)


def _marks(plan: Plan, items: Sequence[str], habits: Habits) -> list[str]:
    if _asked(plan, "bullet"):
        mark = plan.text("marker") or habits.pick("marker", MARKERS)
        mark = mark if mark.endswith(" ") else mark + " "
        return [mark + item for item in items]
    if _asked(plan, "numbered"):
        ending = plan.text("number mark") or habits.pick("numbering", NUMBERS)
        ending = ending if ending.endswith(" ") else ending + " "
        return [f"{k}{ending}{item}" for k, item in enumerate(items, 1)]
    return list(items)


def _grouped(plan: Plan, groups: Sequence[str], habits: Habits, picker: Picker) -> str:
    if _asked(plan, "section"):
        word = plan.text("section mark") or habits.pick("sections", SECTIONS)
        return "\n".join(f"{word} {k}\n{text}" for k, text in enumerate(groups, 1))
    if _asked(plan, "heading"):
        opening, closing = plan.mark("heading marks") or habits.pick("headings", HEADINGS)
        opening = opening + " " if opening.endswith("#") else opening
        names = [picker.pick(picker.words.nouns).capitalize() for _ in groups]
        return "\n".join(
            f"{opening}{name}{closing}\n{text}" for name, text in zip(names, groups, strict=True)
        )
    if plan.number("variants"):
        between = _separator(plan, "variant")
        between = habits.pick("variants", VARIANT_SEPARATORS) if between is None else between
    else:
        between = _separator(plan, "paragraph")
        between = habits.pick("separator", SEPARATORS) if between is None else between
    return f"\n{between}\n".join(groups)


def doubled(plan: Plan, text: str, habits: Habits) -> str:
    """Returns a text twice."""
    between = _separator(plan, "copy")
    between = habits.pick("copies", COPY_SEPARATORS) if between is None else between
    return f"{text}\n{between}\n{text}"


def prefixed(plan: Plan, text: str, habits: Habits) -> str:
    """Returns a text with what every line begins with."""
    if plan.text("line look"):
        prefix = plan.text("line prefix") or habits.pick("quote", LINE_PREFIXES)
        if not prefix:
            return f'"{text}"'
        prefix = prefix if prefix.endswith(" ") else prefix + " "
        text = "\n".join(prefix + line if line else line for line in text.split("\n"))
    if plan.text("indent"):
        step = plan.number("indent step") or habits.pick("stairs", STAIRS)
        text = "\n".join(
            " " * min(step * k, MAX_INDENT) + li for k, li in enumerate(text.split("\n"))
        )
    return text


def table(plan: Plan, habits: Habits, picker: Picker, rng: random.Random) -> str:
    """Returns a table of a few rows."""
    n_columns = plan.number("exactly column") or plan.number("atleast column") or 2
    n_rows = plan.number("exactly row") or plan.number("atleast row") or rng.randint(2, 3)
    nouns = picker.words.nouns
    rows = [[picker.pick(nouns) for _ in range(min(n_columns, 20))] for _ in range(n_rows + 1)]
    if (plan.text("table style") or habits.pick("table", TABLES)) == "tabs":
        return "\n".join("\t".join(row) for row in rows)
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|" + " --- |" * len(rows[0]))
    return "\n".join(lines)


def _separator(plan: Plan, unit: str) -> str | None:
    named = plan.text(f"{unit} separator")
    return plan.text("any separator") if named is None else named


def _asked(plan: Plan, unit: str) -> bool:
    return any(plan.number(f"{r} {unit}") is not None for r in ("exactly", "atleast", "atmost"))
