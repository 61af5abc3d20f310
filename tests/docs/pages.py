"""The documents as their tests read them: pages, fenced blocks, links and commands."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.source import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(flashevolve [^`]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block."""

    page: Path
    number: int
    language: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.page.stem}-{self.number}"


def blocks(language: str) -> list[Block]:
    """Returns all fenced blocks in a language, page by page."""
    return [
        Block(page, number, found[1], found[2])
        for page in PAGES
        for number, found in enumerate(_BLOCK.finditer(_text(page)))
        if found[1] == language
    ]


def commands() -> list[list[str]]:
    """Returns all command lines that begin with `flashevolve`, each once, without that word."""
    lines = [line for block in blocks("sh") for line in block.text.splitlines()]
    lines += [found[1] for page in PAGES for found in _INLINE.finditer(_text(page))]
    split = [shlex.split(line, comments=True) for line in lines if line.startswith("flashevolve ")]
    return [list(command) for command in sorted({tuple(words[1:]) for words in split})]


def links() -> Iterator[tuple[Path, str]]:
    """Yields (page, target) for each link that stays inside the repository."""
    for page in PAGES:
        for found in _LINK.finditer(_BLOCK.sub("", _text(page))):
            if "://" not in found[1]:
                yield page, found[1]


def anchors(page: Path) -> set[str]:
    """Returns the fragments by which a page's headings are linked."""
    headings = _HEADING.findall(_BLOCK.sub("", _text(page)))
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8")
