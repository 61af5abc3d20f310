"""Sections: the parts of a long prompt that a reader tells apart by headings and fences.

A heading is a Markdown heading or a short labelled line (`Feedback: ...`); one of the first two
levels has to hold a word that labels a part of a prompt, because answers have titles too. A fence
is a block between two lines of three or more backticks; headings inside a fence are text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.+?)\s*#*$")
_LABEL = re.compile(r"^\**([A-Z][\w' ()-]{2,40}?)\**:\**\s*(.*)$")
_LABELS = re.compile(
    r"(?i)\b(?:input|output|answer|response|feedback|question|request|example|instruction|prompt|"
    r"stale|current|update|base|latest|component|trace|score)"
)
_FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})")


@dataclass(frozen=True)
class Section:
    """A heading with the text below it, up to the next heading."""

    path: tuple[str, ...]
    """The headings above it and its own; the empty tuple at the top."""
    text: str
    blocks: tuple[tuple[str, str], ...]
    """Its fenced blocks, each with the last line before it."""

    def about(self, *cues: str) -> bool:
        """Tells whether the section's own heading or one above holds a cue."""
        return any(cue in heading.lower() for heading in self.path for cue in cues)


def sections(text: str) -> tuple[Section, ...]:
    """Returns the sections of a prompt in order."""
    found: list[Section] = []
    path: list[tuple[int, str]] = []
    lines: list[str] = []
    blocks: list[tuple[str, str]] = []
    fence: list[str] | None = None
    mark = caption = ""

    def flush() -> None:
        body = "\n".join(lines).strip("\n")
        if body.strip() or path:
            found.append(Section(tuple(h for _, h in path), body, tuple(blocks)))
        lines.clear()
        blocks.clear()

    for line in text.splitlines():
        opened = _FENCE.match(line)
        if fence is not None:
            if opened and line.strip().startswith(mark) and not line.strip().strip(mark[0]):
                blocks.append((caption, "\n".join(fence)))
                lines.extend(fence)
                fence = None
            else:
                fence.append(line)
            continue
        if opened:
            fence, mark = [], opened[1]
            caption = next((li.strip() for li in reversed(lines) if li.strip()), "")
            continue
        level, title, rest = _heading(line)
        if title:
            flush()
            while path and path[-1][0] >= level:
                path.pop()
            path.append((level, title))
            lines.extend([rest] * bool(rest))
        else:
            lines.append(line)
    if fence is not None:
        lines.extend(fence)
    flush()
    return tuple(found)


def first_block(parts: Sequence[Section]) -> str | None:
    """Returns the first non-empty fenced block; None if there is none."""
    return next((block for part in parts for _, block in part.blocks if block.strip()), None)


def _heading(line: str) -> tuple[int, str, str]:
    """Returns level, heading and what follows it on the line; an empty heading = no heading."""
    match = _HEADING.match(line)
    if match and (len(match[1]) > 2 or _LABELS.search(match[2])):
        return len(match[1]), match[2], ""
    match = _LABEL.match(line)
    if match and len(match[1].split()) <= 3 and _LABELS.search(match[1]):
        return 9, match[1], match[2]
    return 0, "", ""
