"""Texts against each other: what two artifacts differ in, line by line, plain or in colours.

The lines are those of a unified diff. A text is split at its line feeds only. One at its very end,
which files have and what models write has not, counts only if nothing else differs.
"""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from flashevolve.artifact import Artifact

if TYPE_CHECKING:
    from rich.text import Text

CONTEXT_LINES = 3

MAX_WORDS = 300
"""Of a line, for its changed words to be marked: matching takes time with their square, or worse.
A text of one long line is readable without."""

MIN_LIKENESS = 0.3
"""Lines with less in common are two lines, and not one that was changed."""

STYLES = {"---": "bold", "+++": "bold", "@@": "cyan", "-": "red", "+": "green"}
"""By how a line begins, the longer beginnings first."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """How one component differs."""

    component: str
    added: int
    """Lines."""
    removed: int
    lines: tuple[str, ...]
    """A unified diff; empty if the texts are the same."""


def changes(old: Artifact, new: Artifact, old_name: str, new_name: str) -> list[Change]:
    """Returns the change of each component that either artifact has, by name."""
    return [_change(name, old, new, old_name, new_name) for name in sorted({*old, *new})]


def _change(name: str, old: Artifact, new: Artifact, old_name: str, new_name: str) -> Change:
    texts = [artifact.components.get(name) for artifact in (old, new)]
    trimmed = [text.removesuffix("\n") if text else text for text in texts]
    before, after = (
        [] if text is None else text.split("\n")
        for text in (trimmed if trimmed[0] != trimmed[1] else texts)
    )
    was, is_now = (
        f"{name} ({side}{'' if name in artifact else ', which has none'})"
        for side, artifact in ((old_name, old), (new_name, new))
    )
    diff = difflib.unified_diff(before, after, was, is_now, lineterm="", n=CONTEXT_LINES)
    lines = tuple(diff)
    body = lines[2:]
    return Change(
        component=name,
        added=sum(line.startswith("+") for line in body),
        removed=sum(line.startswith("-") for line in body),
        lines=lines,
    )


def coloured(lines: Sequence[str]) -> "Iterator[Text]":
    """Yields the lines of one unified diff in colours; what changed within a line stands out."""
    for line in lines[:2]:
        yield _styled(line)
    hunks = [list(run) for _, run in groupby(lines[2:], key=lambda line: line[:1])]
    i = 0
    while i < len(hunks):
        run, following = hunks[i], hunks[i + 1] if i + 1 < len(hunks) else []
        if run[0][:1] == "-" and following and following[0][:1] == "+":
            yield from _replaced(run, following)
            i += 2
        else:
            yield from map(_styled, run)
            i += 1


def _styled(line: str) -> "Text":
    from rich.text import Text

    style = next((style for start, style in STYLES.items() if line.startswith(start)), "")
    return Text(line, style)


def _replaced(old: Sequence[str], new: Sequence[str]) -> "Iterator[Text]":
    from rich.text import Text

    before, after = [Text(line, "red") for line in old], [Text(line, "green") for line in new]
    if len(old) == len(new):
        for left, right in zip(before, after, strict=True):
            _mark_words(left, right)
    yield from before
    yield from after


def _mark_words(old: "Text", new: "Text") -> None:
    """Marks the words that two lines do not share, if they are alike."""
    bare = (old.plain[1:].split(), new.plain[1:].split())
    if max(map(len, bare)) > MAX_WORDS:
        return
    before, after = _words(old.plain[1:]), _words(new.plain[1:])
    if difflib.SequenceMatcher(None, *bare, autojunk=False).ratio() < MIN_LIKENESS:
        return
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        if tag != "equal":
            _mark(old, before, i, i_end)
            _mark(new, after, j, j_end)


def _words(line: str) -> list[str]:
    """Returns words and what is between them; joined, they are the line."""
    return ["".join(run) for _, run in groupby(line, key=str.isspace)]


def _mark(line: "Text", words: Sequence[str], first: int, end: int) -> None:
    start = 1 + sum(map(len, words[:first]))
    line.stylize("bold reverse", start, start + sum(map(len, words[first:end])))
