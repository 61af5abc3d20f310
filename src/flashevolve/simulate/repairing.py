"""Repairing: a verdict on a text that was written against an older state.

The repairer compares the stale text with the current one, statement by statement, as far as its
attention reaches. What the current text already says need not be said again; what only the stale
text says is worth a patch. Several stale texts at once share its attention. Where no stale text is
shown, all that is left is to write the current one again. Updates are told and teach nothing. It
answers with one JSON object.
"""

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from flashevolve.simulate.attention import ReaderParameters
from flashevolve.simulate.labels import CURRENT, STALE, kind_of
from flashevolve.simulate.lessons import SAME
from flashevolve.simulate.merging import COMPARING
from flashevolve.simulate.prompt import Prompt
from flashevolve.simulate.reflecting import rewrite
from flashevolve.simulate.roles import VERDICTS, asks_for_verdict
from flashevolve.simulate.sections import Section
from flashevolve.simulate.statements import relatedness, split, statement

DEFAULT_COMPONENT = "system"
"""The name of a text that the prompt shows without a name."""

_NAME = re.compile(r"^\W*(?:component\W+)?([\w./-]+)\W*$", re.IGNORECASE)
_SEVERAL = re.compile(r'"verdicts"\s*:')
"""A part of the form, where several texts are to be judged."""
_NAMED = re.compile(r'"components"\s*:\s*\{\s*"([\w./-]+)"')


@dataclass(frozen=True)
class Comparison:
    """What a reader makes of a stale text beside the current one."""

    n_new: int
    """Statements that only the stale text seems to have."""
    n_missing: int
    """Statements that only the current text seems to have."""
    both: tuple[str, ...]
    """A text of both."""


Compare = Callable[[Sequence[str], Sequence[str], int], Comparison]
"""Compares the statements of the stale text with those of the current one; the last argument is the
number of statements of other stale texts beside them."""


def repair(prompt: Prompt, rng: random.Random, parameters: ReaderParameters) -> str:
    """Returns a JSON object with `verdict`, `reason` and, for a patch, `components`."""

    def compare(old: Sequence[str], now: Sequence[str], n_beside: int) -> Comparison:
        n_read = len(old) + len(now) + n_beside
        reach = min(1.0, COMPARING * parameters.capacity_statements / max(1, n_read))
        new = [said for said in old if not _covered(said, now, reach, rng)]
        n_missing = sum(not _covered(said, old, reach, rng) for said in now)
        both = [*now, *new]
        kept = rewrite(both, rng, parameters, len(both) + n_beside)
        return Comparison(len(new), n_missing, tuple(kept))

    return decide(prompt, compare, rng, parameters.wrong_rate)


def decide(prompt: Prompt, compare: Compare, rng: random.Random, wrong_rate: float) -> str:
    """Returns what comparisons of all components lead to, as a JSON object."""
    named = _NAMED.search(prompt.whole)
    default = named[1] if named and named[1] != "name" else DEFAULT_COMPONENT
    if not asks_for_verdict(prompt.whole):
        return json.dumps(_anew(prompt, compare, default), ensure_ascii=False)
    stale, current = versions(prompt.parts)
    now = _texts(current, default)
    groups = _numbered(stale) if _SEVERAL.search(prompt.whole) else {}
    if not groups:
        reply = _judged(_texts(stale, default), now, 0, compare, rng, wrong_rate)
        return json.dumps(reply, ensure_ascii=False)
    texts = {number: _texts(parts, default) for number, parts in groups.items()}
    sizes = {n: sum(len(split(text)) for text in old.values()) for n, old in texts.items()}
    verdicts: dict[str, object] = {}
    for number, old in texts.items():
        n_beside = sum(sizes.values()) - sizes[number]
        verdicts[number] = _judged(old, now, n_beside, compare, rng, wrong_rate)
    return json.dumps({"verdicts": verdicts}, ensure_ascii=False)


def _judged(
    stale: Mapping[str, str],
    current: Mapping[str, str],
    n_beside: int,
    compare: Compare,
    rng: random.Random,
    wrong_rate: float,
) -> dict[str, object]:
    """Returns the verdict on one stale text."""
    patched: dict[str, str] = {}
    n_new = n_missing = 0
    for name, text in stale.items():
        found = compare(split(text), split(current.get(name, "")), n_beside)
        n_new += found.n_new
        n_missing += found.n_missing
        patched[name] = "\n".join(dict.fromkeys(found.both)) or text
    if n_new == 0:
        verdict, reason = "discard", "The current text already says all of it."
    elif n_missing == 0:
        verdict, reason = "accept", "It holds everything that the current text says, and more."
    else:
        verdict = "patch"
        reason = f"It adds {n_new} statements and lacks {n_missing} of the current text."
    if rng.random() < wrong_rate:
        verdict = rng.choice([v for v in VERDICTS if v != verdict])
    reply: dict[str, object] = {"verdict": verdict, "reason": reason}
    if verdict == "patch":
        reply["components"] = patched
    return reply


def _anew(prompt: Prompt, compare: Compare, default: str) -> dict[str, object]:
    """Returns the current text as it is written again: what a patch is without a stale text."""
    shown = [part for part in prompt.parts if part.kind == CURRENT]
    current = _texts(shown or [part for part in prompt.parts if part.blocks][:1], default)
    written = {
        name: "\n".join(dict.fromkeys(compare([], split(text), 0).both)) or text
        for name, text in current.items()
    }
    return {"reason": "It says what the current text says.", "components": written}


def _numbered(stale: Sequence[Section]) -> Mapping[str, Sequence[Section]]:
    """Returns the parts of each stale text by the number in its heading."""
    groups: dict[str, list[Section]] = {}
    for part in stale:
        headings = (heading for heading in part.path if kind_of((heading,)) == STALE)
        if number := re.search(r"\d+", next(headings, "")):
            groups.setdefault(number[0], []).append(part)
    return groups


def _covered(said: str, by: Sequence[str], reach: float, rng: random.Random) -> bool:
    """Tells whether a text says the same, as far as the reader notices."""
    one = statement(said)
    same = any(said == b or relatedness(one, statement(b)) >= SAME for b in by)
    return same and rng.random() < reach


def versions(parts: Sequence[Section]) -> tuple[Sequence[Section], Sequence[Section]]:
    """Returns the parts that show the stale text, and those that show the current one.

    Where only one of the two is recognised, or none, the order of the fenced blocks decides.
    """
    stale = [part for part in parts if part.kind == STALE]
    current = [part for part in parts if part.kind == CURRENT]
    other = [p for p in parts if p.blocks and p not in stale and p not in current]
    blocks = [
        Section(p.path, block, ((caption, block),)) for p in other for caption, block in p.blocks
    ]
    if not stale and blocks:
        stale, blocks = blocks[:1], blocks[1:]
    if not current and blocks:
        current = blocks[:1]
    return stale, current


def _texts(parts: Sequence[Section], default: str) -> Mapping[str, str]:
    """Returns component name -> text: one per subsection or per fenced block with a caption."""
    found: dict[str, str] = {}
    for part in parts:
        own = _NAME.match(part.path[-1]) if len(part.path) > 1 else None
        heading = own[1] if own else default
        if part.blocks:
            for caption, block in part.blocks:
                named = _NAME.match(caption) if caption not in part.path else None
                found[named[1] if named and heading == default else heading] = block
        elif part.text.strip():
            found[heading] = part.text
    return found
