"""Codec of events: a canonical JSON text per event, and the event back from it.

Invariants: the same event gives the same bytes (sorted keys, compact, ASCII); decoding gives an
event equal to the one encoded. In the stored form every string longer than `INTERN_ABOVE_CHARS` is
`{"$text": hash}` and the string itself is handed out to be stored once. Keys of user data that
look like this marker get one more `$`, so that no payload can be mistaken for a reference.
"""

import hashlib
import json
from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Annotated, Any

from flashevolve.events import Event, Record

if TYPE_CHECKING:
    from pydantic import TypeAdapter

INTERN_ABOVE_CHARS = 200
"""Shorter strings cost less inline than a hash, a row and a lookup."""

MARKER = "$text"

SELDOM_SAID = {
    "stage_taken": ("n_sweeps",),
    "stage_ended": ("tail",),
    "gap_checked": ("tainted",),
    "pool_changed": ("speculation", "missed", "tainted"),
    "outcome_recorded": ("objectives",),
}
"""Fields of frequent events that are left out where they say nothing (None, false, no entries)."""

_to_json = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


@cache
def _adapter() -> "TypeAdapter[Event]":
    """Returns the one adapter; built at first use, because pydantic is slow to import."""
    from pydantic import Field, TypeAdapter

    return TypeAdapter(Annotated[Event, Field(discriminator="kind")])


@lru_cache(maxsize=1024)
def text_hash(text: str) -> str:
    """Returns the first 32 hexadecimal digits of the text's SHA-256.

    Cached: a prompt is hashed for its request and for its row, and by every call that repeats it.
    """
    # A model's reply may hold half a surrogate pair, which strict UTF-8 refuses.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def intern_json(value: Any) -> tuple[str, dict[str, str]]:
    """Returns the canonical JSON of plain data, and the texts it refers to by hash.

    Raises `TypeError` for anything that JSON does not know.
    """
    texts: dict[str, str] = {}
    return _to_json(_interned(value, texts)), texts


def restore_json(body: str, text: Callable[[str], str]) -> Any:
    """Returns the data that `intern_json` was given; `text` looks up a hash."""
    if MARKER not in body:
        return json.loads(body)

    def restore(found: dict[str, Any]) -> Any:
        if MARKER in found:
            return text(found[MARKER])
        return {_unescaped(key): value for key, value in found.items()}

    return json.loads(body, object_hook=restore)


def encode(event: Event) -> tuple[str, dict[str, str]]:
    """Returns the stored form of an event, and the texts it refers to by hash."""
    return intern_json(_dumped(event))


def decode(body: str, text: Callable[[str], str]) -> Event:
    """Returns the event whose stored form is `body`; `text` looks up a hash.

    Raises `ValueError` if `body` is not an event.
    """
    return _adapter().validate_python(restore_json(body, text))


def record_to_json(record: Record) -> str:
    """Returns a record as one self-contained line of JSON, for export."""
    event = _dumped(record.event)
    return _to_json({"seq": record.seq, "t_s": record.t_s, "event": event})


def record_from_json(line: str) -> Record:
    """Returns the record that `record_to_json` was given."""
    found = json.loads(line)
    event = _adapter().validate_python(found["event"])
    return Record(seq=found["seq"], t_s=found["t_s"], event=event)


def _dumped(event: Event) -> dict[str, Any]:
    data: dict[str, Any] = _adapter().dump_python(event)
    for name in SELDOM_SAID.get(event.kind, ()):
        if data[name] in (None, [], (), {}) or data[name] is False:
            del data[name]
    return data


def _interned(value: Any, texts: dict[str, str]) -> Any:
    kind = type(value)
    if kind is str:
        if len(value) <= INTERN_ABOVE_CHARS:
            return value
        key = text_hash(value)
        texts[key] = value
        return {MARKER: key}
    if kind is dict:
        found = {}
        for key, inner in value.items():
            # Most values need nothing, and a call for each would cost more than all the rest.
            kind = type(inner)
            if kind in _CONTAINERS or (kind is str and len(inner) > INTERN_ABOVE_CHARS):
                inner = _interned(inner, texts)
            found[_escaped(key) if "$" in str(key) else key] = inner
        return found
    if kind is list or kind is tuple:
        return [_interned(v, texts) for v in value]
    return value


_CONTAINERS = frozenset((dict, list, tuple))


def _looks_like_marker(key: Any) -> bool:
    return isinstance(key, str) and key.endswith(MARKER) and not key[: -len(MARKER)].strip("$")


def _escaped(key: Any) -> Any:
    return "$" + key if _looks_like_marker(key) else key


def _unescaped(key: str) -> str:
    return key[1:] if _looks_like_marker(key) else key
