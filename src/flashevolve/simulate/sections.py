"""Sections: the parts of a long prompt that a reader tells apart by headings, tags and fences.

A heading is a Markdown heading, a short labelled line (`Feedback: ...`) or a tag (`<feedback>`); a
heading of the first two levels, a labelled line and a tag have to be labels, because answers have
titles too. A fence is a block between two lines of three or more backticks; headings inside a fence
are text.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flashevolve.simulate.labels import PARTS_OF_EXAMPLES, is_label, kind_of, kinds_of_words

_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.+?)\s*#*$")
_LABEL = re.compile(r"^\**([A-Z][\w' ()-]{2,40}?)\**:\**\s*(.*)$")
_FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})")
_OPENED = re.compile(r"^\s*<([A-Za-z_][\w-]*)(?:\s[^<>]*)?>(.*)$")
LABEL_LEVEL = 9
"""Level of a labelled line: below all six of Markdown."""
TAG_LEVEL = 10
"""Level of a tag: what it holds stands below it."""
MAX_LABEL_WORDS = 3
"""A longer line that ends in a colon is prose."""


@dataclass(frozen=True)
class Section:
    """A heading with the text below it, up to the next heading."""

    path: tuple[str, ...]
    """The headings above it and its own; the empty tuple at the top."""
    text: str
    blocks: tuple[tuple[str, str], ...]
    """Its fenced blocks, each with the last line before it."""
    outside: str = ""
    """Its text without the fenced blocks."""

    @property
    def kind(self) -> str | None:
        """What its headings say that it is (a name of `labels`); None = nothing known."""
        return kind_of(self.path)

    @property
    def in_example(self) -> bool:
        """Tells whether it is a part of an example."""
        return self.kind in PARTS_OF_EXAMPLES

    def about(self, *cues: str) -> bool:
        """Tells whether it is of a kind that a cue names, or has a cue in a heading."""
        kinds = kinds_of_words(*cues)
        if self.kind is not None and self.kind in kinds:
            return True
        others = [cue for cue in cues if not kinds_of_words(cue)]
        return any(cue in heading.lower() for heading in self.path for cue in others)


def sections(text: str) -> tuple[Section, ...]:
    """Returns the sections of a prompt in order."""
    taken = _Taker()
    for line in text.splitlines():
        taken.take(line)
    return taken.close()


def unfenced(text: str) -> tuple[Section, ...]:
    """Returns the sections of a prompt whose fences cannot be trusted and count as nothing."""
    return sections("\n".join(line for line in text.splitlines() if not _FENCE.match(line)))


def records(text: str) -> tuple[Section, ...]:
    """Returns the sections of examples that are given as a JSON list; empty if it is none."""
    if not text.lstrip().startswith(("[", "{")):
        return ()
    try:
        found = json.loads(text)
    except ValueError:
        return ()
    listed = found if isinstance(found, list) else [found]
    if not all(isinstance(one, dict) for one in listed):
        return ()
    return tuple(s for k, one in enumerate(listed, 1) for s in _flat((f"Example {k}",), one))


def first_block(parts: Sequence[Section]) -> str | None:
    """Returns the first non-empty fenced block; None if there is none."""
    return next((block for part in parts for _, block in part.blocks if block.strip()), None)


def _flat(path: tuple[str, ...], value: Any) -> Iterator[Section]:  # whatever JSON holds
    if isinstance(value, dict):
        yield Section(path, "", ())
        for name, inner in value.items():
            yield from _flat((*path, str(name)), inner)
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield Section(path, text, (), text)


class _Taker:
    """Sections being read, line by line."""

    def __init__(self) -> None:
        self._found: list[Section] = []
        self._path: list[tuple[int, str]] = []
        self._tags: list[str] = []
        self._lines: list[str] = []
        self._outside: list[str] = []
        self._blocks: list[tuple[str, str]] = []
        self._fence: list[str] | None = None
        self._mark = self._caption = ""
        self._headed = False

    def take(self, line: str) -> None:
        opened = _FENCE.match(line)
        if self._fence is not None:
            self._take_fenced(line, closes=bool(opened))
        elif opened:
            self._fence, self._mark = [], opened[1]
            above = next((li.strip() for li in reversed(self._lines) if li.strip()), "")
            self._caption = above or (self._path[-1][1] if self._headed else "")
        elif not self._take_tag(line) and not self._take_heading(line):
            self._add(line)

    def close(self) -> tuple[Section, ...]:
        for line in self._fence or ():
            self._add(line)
        self._flush()
        return tuple(self._found)

    def _take_fenced(self, line: str, closes: bool) -> None:
        assert self._fence is not None
        bare = line.strip()
        if closes and bare.startswith(self._mark) and not bare.strip(self._mark[0]):
            self._blocks.append((self._caption, "\n".join(self._fence)))
            self._lines.extend(self._fence)
            self._fence = None
        else:
            self._fence.append(line)

    def _take_tag(self, line: str) -> bool:
        if self._tags and line.strip() == f"</{self._tags[-1]}>":
            self._leave_tag()
            return True
        opened = _OPENED.match(line)
        if not opened or not is_label(opened[1]):
            return False
        self._open(TAG_LEVEL * (len(self._tags) + 1), opened[1])
        self._tags.append(opened[1])
        rest = opened[2].rstrip()
        closed = rest.endswith(f"</{opened[1]}>")
        if rest := rest.removesuffix(f"</{opened[1]}>"):
            self._add(rest)
        if closed:
            self._leave_tag()
        return True

    def _leave_tag(self) -> None:
        self._flush()
        level = TAG_LEVEL * len(self._tags)
        self._tags.pop()
        while self._path and self._path[-1][0] >= level:
            self._path.pop()

    def _take_heading(self, line: str) -> bool:
        level, title, rest = _heading(line)
        if title:
            self._open(TAG_LEVEL * len(self._tags) + level, title)
            if rest:
                self._add(rest)
        return bool(title)

    def _open(self, level: int, title: str) -> None:
        self._flush()
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self._path.append((level, title))
        self._headed = True

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._outside.append(line)

    def _flush(self) -> None:
        body = "\n".join(self._lines).strip("\n")
        if body.strip() or self._headed:
            path = tuple(heading for _, heading in self._path)
            outside = "\n".join(self._outside).strip("\n")
            self._found.append(Section(path, body, tuple(self._blocks), outside))
        self._lines.clear()
        self._outside.clear()
        self._blocks.clear()
        self._headed = False


def _heading(line: str) -> tuple[int, str, str]:
    """Returns level, heading and what follows it on the line; an empty heading = no heading."""
    match = _HEADING.match(line)
    if match and (len(match[1]) > 2 or is_label(match[2])):
        return len(match[1]), match[2], ""
    match = _LABEL.match(line)
    if match and len(match[1].split()) <= MAX_LABEL_WORDS and is_label(match[1]):
        return LABEL_LEVEL, match[1], match[2]
    return 0, "", ""
