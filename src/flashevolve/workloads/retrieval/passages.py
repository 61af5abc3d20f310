"""Passages: what is searched, from a corpus file or from the contexts of examples.

A corpus file is JSONL, one passage a line: `{"id": ..., "title": ..., "text": ...}`, where `text`
is a text or a list of sentences and `id` may be missing. Titles are what examples call their
supporting pages; two passages may have the same title.
"""

import json
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from flashevolve.errors import DataError


@dataclass(frozen=True)
class Passage:
    """A paragraph of a page."""

    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.title}: {self.text}"


def key_of(title: str) -> str:
    """Returns a title as it is compared, since dumps of Wikipedia differ.

    They do in case and in how they compose letters with accents.
    """
    return " ".join(unicodedata.normalize("NFC", title).casefold().split())


def joined(sentences: Iterable[str]) -> str:
    """Returns sentences as one text; the public files begin most of them with a space."""
    return " ".join(" ".join(sentences).split())


def union(contexts: Iterable[Iterable[Passage]]) -> tuple[Passage, ...]:
    """Returns the passages of all contexts, each once, in order of first occurrence."""
    return tuple(dict.fromkeys(passage for context in contexts for passage in context))


def read_corpus(path: Path) -> tuple[Passage, ...]:
    """Returns the passages of a corpus file. Raises `DataError`, with the line where one is wrong.

    A file is read again only if its size or its time of change differs.
    """
    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        raise DataError(f"{path}: expected a corpus as a file that ends in .jsonl")
    try:
        state = path.stat()
        return _read(path, state.st_size, state.st_mtime_ns)
    except OSError as error:
        raise DataError(f"{path}: the corpus cannot be read: {error.strerror}") from None


@lru_cache(maxsize=2)
def _read(path: Path, size: int, mtime_ns: int) -> tuple[Passage, ...]:
    found = tuple(_passages(path))
    if not found:
        raise DataError(f"{path}: expected at least one passage, found none")
    return found


def _passages(path: Path) -> Iterator[Passage]:
    # Line by line: a public corpus has millions of them.
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield _passage(line, f"{path}, line {number}")


def _passage(line: bytes, where: str) -> Passage:
    try:
        found: Any = json.loads(line)
    except ValueError as error:
        raise DataError(f"{where}: expected a JSON object, found a mistake: {error}") from None
    title = found.get("title") if isinstance(found, dict) else None
    text = found.get("text") if isinstance(found, dict) else None
    if isinstance(text, list) and all(isinstance(sentence, str) for sentence in text):
        text = joined(text)
    if not isinstance(title, str) or not isinstance(text, str):
        raise DataError(
            f'{where}: expected a passage such as {{"title": "Oslo", "text": "Oslo is ..."}}, '
            f"found {found!r:.80}"
        )
    return Passage(title, text)
