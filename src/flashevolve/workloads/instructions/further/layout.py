"""Checkers about layout: lists, headings, blocks, tables and what each line looks like."""

import re
from collections.abc import Mapping
from itertools import pairwise

from flashevolve.workloads.instructions.further.parts import sentences
from flashevolve.workloads.instructions.text import counted, filled_lines, n_found
from flashevolve.workloads.instructions.verdict import Checker, Count, Line, Position, Verdict

DIVIDER = "---"
FENCE = "```"
_STARRED = re.compile(r"\*\*([^*\n]+)\*\*")


def numbered(answer: str, *, n: Count) -> Verdict:
    """The numbered lines are "1. ", "2. ", ... "n. ", in this order and no others."""
    found = [int(number) for number in re.findall(r"^(\d{1,3})\. +\S", answer, re.MULTILINE)]
    if found == list(range(1, n + 1)):
        return Verdict(True, "Its list is fine.")
    return Verdict(
        False,
        f'There must be exactly {counted(n, "numbered line")} that begin with "1. ", "2. " '
        f"and so on in order; {n_found(len(found), 'numbered line')}.",
    )


def headings(answer: str, *, n: Count) -> Verdict:
    """Exactly `n` lines are Markdown headings of the second level."""
    found = len(re.findall(r"^## +\S", answer, re.MULTILINE))
    if found == n:
        return Verdict(True, "Its divisions are fine.")
    return Verdict(
        False,
        f"There must be exactly {counted(n, 'heading')} and each heading line must begin with "
        f'"## "; '
        f"{n_found(found, 'such line')}.",
    )


def bold(answer: str, *, n: Count) -> Verdict:
    """At least `n` spans between double asterisks."""
    found = _n_bold(answer)
    if found >= n:
        return Verdict(True, "Its emphasis is fine.")
    return Verdict(
        False,
        f'At least {counted(n, "phrase")} must be bold, each between "**" and "**"; '
        f"{found} were found.",
    )


def n_lines(answer: str, *, n: Position) -> Verdict:
    """Exactly `n` lines that are not empty."""
    found = len(filled_lines(answer))
    if found == n:
        return Verdict(True, "Its number of lines is right.")
    return Verdict(
        False,
        f"The answer must have exactly {counted(n, 'line')} and empty lines do not count; "
        f"it has {counted(found, 'line')}.",
    )


def code_block(answer: str) -> Verdict:
    """The whole answer stands in one fence of three backticks."""
    opening, _, rest = answer.strip().partition("\n")
    inner = rest.removesuffix(f"\n{FENCE}")
    fenced = opening.startswith(FENCE) and "`" not in opening[len(FENCE) :] and inner != rest
    if fenced and inner.strip() and FENCE not in inner:
        return Verdict(True, "Its frame is fine.")
    return Verdict(
        False,
        'The whole answer must stand in one code block, with a line "```" before it and a line '
        '"```" after it; it does not.',
    )


def tag(answer: str, *, tag: Line) -> Verdict:
    """The whole answer stands between an opening and a closing tag."""
    text = answer.strip()
    opening, closing = f"<{tag}>", f"</{tag}>"
    inner = text.removeprefix(opening).removesuffix(closing)
    if len(text) - len(inner) == len(opening + closing) and inner.strip():
        return Verdict(True, "Its frame is fine.")
    return Verdict(
        False, f'The whole answer must stand between "{opening}" and "{closing}"; it does not.'
    )


def quote_lines(answer: str) -> Verdict:
    """Every line begins with "> "; empty lines don't count."""
    written = filled_lines(answer)
    found = sum(not re.match(r"> +\S", line) for line in written)
    if written and not found:
        return Verdict(True, "Its lines are fine.")
    return Verdict(
        False,
        f'Every line must begin with "> "; {found} of {len(written)} lines begin differently.',
    )


def table(answer: str, *, columns: Position) -> Verdict:
    """A Markdown table: header, dashes, and at least two rows, all with `columns` cells."""
    widths: list[int] = []
    dashes = False
    best = 0
    for line in [*answer.splitlines(), ""]:
        row = line.strip()
        if len(row) > 2 and row[0] == row[-1] == "|":
            widths.append(row.count("|") - 1)
            dashes |= len(widths) == 2 and bool(re.fullmatch(r"\|(?:\s*:?-+:?\s*\|)+", row))
            continue
        if dashes and set(widths) == {columns}:
            best = max(best, len(widths) - 2)
        widths, dashes = [], False
    if best >= 2:
        return Verdict(True, "Its grid is fine.")
    return Verdict(
        False,
        f'There must be a Markdown table with {counted(columns, "column")}, with "|" '
        "around its cells, a line of dashes below the header and at least 2 rows; "
        "no such table was found.",
    )


def sentence_lines(answer: str) -> Verdict:
    """Every line holds exactly one sentence, and there are at least two."""
    written = filled_lines(answer)
    whole = len(sentences(" ".join(written)))
    found = sum(len(sentences(line)) != 1 for line in written)
    if len(written) >= 2 and not found and whole == len(written):
        return Verdict(True, "Its lines are fine.")
    return Verdict(
        False,
        "Every sentence must stand on its own line; "
        f"{counted(whole, 'sentence')} on {n_found(len(written), 'line')}.",
    )


def indent(answer: str) -> Verdict:
    """At least three lines, each with one more space before it than the line above."""
    written = filled_lines(answer.expandtabs(4))
    steps = [len(line) - len(line.lstrip(" ")) for line in written]
    if len(steps) >= 3 and all(b == a + 1 for a, b in pairwise(steps)):
        return Verdict(True, "Its lines are fine.")
    return Verdict(
        False,
        "There must be at least 3 lines and every line must begin with one more space than the "
        "line above; they do not.",
    )


def twice(answer: str) -> Verdict:
    """The whole text is there twice, with a line of three hyphens between."""
    parts = [part.strip() for part in re.split(r"^---[ \t]*\r?$", answer, flags=re.MULTILINE)]
    if len(parts) == 2 and parts[0] and parts[0] == parts[1]:
        return Verdict(True, "Its copies are fine.")
    return Verdict(
        False,
        f'The whole answer must be given twice without change, with a line "{DIVIDER}" between; '
        "no such repetition was found.",
    )


# A pattern for what may stand inside would try each of thousands of letters as its last one.
def _n_bold(answer: str) -> int:
    """Returns how many spans hold a word and have no space next to their asterisks."""
    found = start = 0
    while span := _STARRED.search(answer, start):
        inner = span[1]
        good = inner == inner.strip() and re.search(r"\w", inner) is not None
        found += good
        # The asterisks after what is no bold text may open one.
        start = span.end() if good else span.end(1)
    return found


CHECKERS: Mapping[str, Checker] = {
    "layout:numbered": numbered,
    "layout:headings": headings,
    "layout:bold": bold,
    "layout:lines": n_lines,
    "layout:code_block": code_block,
    "layout:tag": tag,
    "layout:quote_lines": quote_lines,
    "layout:table": table,
    "layout:sentence_lines": sentence_lines,
    "layout:indent": indent,
    "repeats:answer": twice,
}
"""Id -> checker."""
