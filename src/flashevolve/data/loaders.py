"""Loaders: the user's data as examples. Any sequence of mappings, JSONL, a JSON list, CSV.

Each row remembers its place (file and line, or split and index), so that whatever is wrong with it
can be found. Ids are unique over all splits; where a row has none, a hash of its content is its id,
which makes two equal rows duplicates.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashevolve.data.fingerprint import content_id
from flashevolve.errors import DataError, nearest
from flashevolve.task import Example, Split

Source = str | Path | Iterable[Mapping[str, Any]]
"""A JSONL, JSON or CSV file, or rows."""


@dataclass(frozen=True)
class Row:
    """One row and where it stands."""

    place: str
    data: Mapping[str, Any]
    id: str | None = None
    """Given already, by an `Example`."""


@dataclass(frozen=True, kw_only=True)
class Splits:
    """Examples in three disjoint splits."""

    train: tuple[Example, ...]
    val: tuple[Example, ...]
    test: tuple[Example, ...] = ()
    note: str = ""
    """How they were made, if not by the user."""

    def __getitem__(self, split: Split) -> tuple[Example, ...]:
        return {"train": self.train, "val": self.val, "test": self.test}[split]


def load_splits(
    train: Source, val: Source, test: Source | None = None, *, id_field: str = "id"
) -> Splits:
    """Loads the splits. Raises `DataError` for anything unreadable, empty or duplicate."""
    for name, source in (("train", train), ("val", val)):
        if source is None:
            raise DataError(f"{name}: expected a file or a sequence of mappings, found None")
    seen: dict[str, str] = {}
    given: dict[Split, Source | None] = {"train": train, "val": val, "test": test}
    loaded = {
        split: examples(rows(source, name=split), id_field=id_field, seen=seen)
        for split, source in given.items()
        if source is not None
    }
    return Splits(train=loaded["train"], val=loaded["val"], test=loaded.get("test", ()))


def rows(source: Source, *, name: str = "data") -> list[Row]:
    """Reads the rows of a file or sequence; there is at least one. Raises `DataError`."""
    if isinstance(source, str | Path):
        name, found = str(source), list(_file_rows(Path(source)))
    elif isinstance(source, Iterable) and not isinstance(source, Mapping):
        found = list(_sequence_rows(source, name))
    else:
        raise DataError(
            f"{name}: expected a file or a sequence of mappings, found {type(source).__name__}"
        )
    if not found:
        raise DataError(f"{name}: expected at least one example, found none")
    return found


def examples(
    found: Iterable[Row], *, id_field: str = "id", seen: dict[str, str] | None = None
) -> tuple[Example, ...]:
    """Turns rows into examples. `seen` maps ids to places and is added to.

    Raises `DataError` for an id that occurs twice, naming both places.
    """
    seen = {} if seen is None else seen
    made: list[Example] = []
    for row in found:
        check_text([row.id, row.data], row.place)
        own = row.id if row.id is not None else _own_id(row, id_field)
        example_id = own if own is not None else _content_id(row, id_field)
        if example_id in seen:
            what = f"id {example_id!r}" if own is not None else "the same content, without an id,"
            raise DataError(
                f"{row.place}: {what} stands already at {seen[example_id]}. Every example needs "
                f"an id of its own, over all splits"
            )
        seen[example_id] = row.place
        made.append(Example(id=example_id, data=dict(row.data), place=row.place))
    return tuple(made)


def check_text(value: Any, place: str) -> None:
    """Refuses half a surrogate pair, anywhere in a value: no request can carry it."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            half = value[error.start]
            raise DataError(
                f"{place}: expected text, found half a surrogate pair, {half!a}, as character "
                f"{error.start + 1} of {value[:40]!a}. Remove it"
            ) from None
    elif isinstance(value, Mapping):
        for key, below in value.items():
            check_text(key, place)
            check_text(below, place)
    elif isinstance(value, list | tuple):
        for below in value:
            check_text(below, place)


def _own_id(row: Row, id_field: str) -> str | None:
    value = row.data.get(id_field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise DataError(
            f"{row.place}: expected {id_field!r} to be text or a whole number, found {value!r}"
        )
    return str(value)


def _content_id(row: Row, id_field: str) -> str:
    try:
        return content_id(row.data)
    except TypeError as error:
        raise DataError(
            f"{row.place}: without a field {id_field!r} an example must hold JSON values only: "
            f"{error}. Give it an {id_field!r}"
        ) from None


def _sequence_rows(source: Iterable[Mapping[str, Any]], name: str) -> Iterator[Row]:
    for index, item in enumerate(source):
        place = f"{name}[{index}]"
        if isinstance(item, Example):
            yield Row(place, item.data, item.id)
        elif isinstance(item, Mapping):
            yield Row(place, item)
        else:
            raise DataError(
                f"{place}: expected a mapping such as {{'input': ..., 'answer': ...}}, "
                f"found {type(item).__name__}"
            )


def _file_rows(path: Path) -> Iterator[Row]:
    readers = {
        ".jsonl": _jsonl_rows,
        ".ndjson": _jsonl_rows,
        ".json": _json_rows,
        ".csv": _csv_rows,
    }
    if path.suffix.lower() not in readers:
        raise DataError(f"{path}: expected a file that ends in .jsonl, .json or .csv")
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        others = [p.name for p in path.parent.glob("*")] if path.parent.is_dir() else []
        raise DataError(f"{path}: no such file.{nearest(path.name, others)}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    return readers[path.suffix.lower()](path, raw.removeprefix(b"\xef\xbb\xbf"))


def _jsonl_rows(path: Path, raw: bytes) -> Iterator[Row]:
    # Lines end at line feeds only: JSON text may hold the other separators that Unicode knows.
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            value = json.loads(_text(line, place), parse_constant=_no_constant)
        except json.JSONDecodeError as error:
            raise DataError(
                f"{place}: expected a JSON object, found a mistake at column {error.colno}: "
                f"{error.msg}"
            ) from None
        except ValueError as error:
            raise DataError(f"{place}: {error}") from None
        if not isinstance(value, dict):
            raise DataError(f"{place}: expected a JSON object, found {type(value).__name__}")
        yield Row(place, value)


def _json_rows(path: Path, raw: bytes) -> Iterator[Row]:
    try:
        found = json.loads(_text(raw, str(path)), parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        # Lines of JSON in a file of the wrong name are the usual case.
        lines = ". If each line is an object, name it .jsonl" if error.msg == "Extra data" else ""
        raise DataError(
            f"{path}, line {error.lineno}: expected one JSON list of objects, found a mistake at "
            f"column {error.colno}: {error.msg}{lines}"
        ) from None
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None
    if not isinstance(found, list):
        raise DataError(f"{path}: expected a JSON list of objects, found {type(found).__name__}")
    for index, value in enumerate(found):
        place = f"{path}[{index}]"
        if not isinstance(value, dict):
            raise DataError(f"{place}: expected a JSON object, found {type(value).__name__}")
        yield Row(place, value)


def _no_constant(name: str) -> Any:
    raise ValueError(f"expected JSON, found {name}, which JSON does not have. Write null")


def _csv_rows(path: Path, raw: bytes) -> Iterator[Row]:
    # newline="" in spirit: quoted cells keep their line breaks as they are.
    reader = csv.reader(_csv_lines(path, raw), strict=True)
    header: list[str] | None = None
    start = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(f"{path}, line {reader.line_num}: malformed CSV: {error}") from None
        place, start = f"{path}, line {start}", reader.line_num + 1
        if not cells:
            continue
        if header is None:
            header = cells
            _check_header(header, place)
            continue
        if len(cells) != len(header):
            raise DataError(
                f"{place}: expected {len(header)} cells, as in the header, found {len(cells)}"
            )
        yield Row(place, dict(zip(header, cells, strict=True)))


def _csv_lines(path: Path, raw: bytes) -> Iterator[str]:
    for number, line in enumerate(raw.splitlines(keepends=True), start=1):
        yield _text(line, f"{path}, line {number}")


def _check_header(header: list[str], place: str) -> None:
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{place}: column {twice!r} occurs twice in the header")


def _text(line: bytes, place: str) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{place}: expected UTF-8 text, byte {error.start} is not") from None
