"""Events for tests: one builder per table, and a hypothesis strategy for every kind."""

from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hypothesis import settings
from hypothesis import strategies as st

from flashevolve.events import CallReserved, CallSettled, Event, OutcomeRecorded, StageTaken
from flashevolve.outcome import Usage

KINDS: tuple[type[Event], ...] = get_args(Event)

brief = settings(max_examples=40, deadline=None)
"""No deadline: the first example pays for building the codec, and machines are shared."""

any_character = st.characters(exclude_categories=())
"""Includes halves of surrogate pairs, which models do emit."""
strings = st.text(any_character, max_size=20) | st.text(any_character, min_size=195, max_size=205)
keys = st.sampled_from(["$text", "$$text", "x$text", "text", ""]) | st.text(max_size=5)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | strings,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)


def values(annotation: Any) -> st.SearchStrategy[Any]:
    """Returns values of a field's type, as they come back from JSON."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return json_values
    if annotation is Usage:
        return st.builds(Usage)
    if annotation is str:
        return strings
    if annotation is float:
        return st.floats(allow_nan=False)
    if annotation in (int, bool, NoneType):
        return st.from_type(annotation)
    if origin is UnionType or str(origin) == "typing.Union":
        return st.one_of([values(part) for part in inner])
    if origin is Literal:
        return st.sampled_from(inner)
    if origin is list:
        return st.lists(values(inner[0]), max_size=3)
    if origin in (dict, Mapping):
        return st.dictionaries(keys, values(inner[1]), max_size=3)
    raise TypeError(f"no strategy for {annotation!r}")


def events_of(kind: type[Event]) -> st.SearchStrategy[Event]:
    """Returns events of one kind with every field drawn."""
    hints = get_type_hints(kind)
    fields = {name: values(hint) for name, hint in hints.items() if name != "kind"}
    return st.builds(kind, **fields)


any_event: st.SearchStrategy[Event] = st.sampled_from(KINDS).flatmap(events_of)


def taken(ticket: int, stage: str = "s") -> StageTaken:
    return StageTaken(ticket=ticket, stage=stage, visit=1)


def reserved(call: int, ticket: int = 1, request: Any = None) -> CallReserved:
    return CallReserved(
        call=call, ticket=ticket, stage="s", visit=1, map_key="", name="ask", request_hash="h",
        occurrence=0, attempt=1, role="task", model="m", tokens=100, usd=0.5, request=request or {},
    )  # fmt: skip


def settled(call: int, ticket: int = 1, reply: str = "yes") -> CallSettled:
    return CallSettled(
        call=call, ticket=ticket, status="ok", usage=Usage(calls=1, tokens_in=3, usd=0.1),
        usage_known=True, reply={"text": reply},
    )  # fmt: skip


def outcome(
    example: str = "e1", ticket: int = 1, *, artifact: str = "a", replica: int = 0,
    fresh: bool = False, score: float = 1.0, output: Any = "out",
) -> OutcomeRecorded:  # fmt: skip
    return OutcomeRecorded(
        ticket=ticket, stage="s", visit=1, artifact=artifact, split="val", example=example,
        replica=replica, fresh=fresh, score=score, output=output, feedback="", trace=None,
        error=None, usage=Usage(),
    )  # fmt: skip


def life(n: int) -> list[Sequence[Event]]:
    """Returns n transactions that touch every table, calls settled out of order."""
    log: list[Sequence[Event]] = []
    for i in range(n):
        later = [settled(2 * i), settled(2 * i - 1)] if i else []
        first: list[Event] = [taken(i + 1), reserved(2 * i + 1), reserved(2 * i + 2)]
        log.append([*first, *later, outcome(f"e{i}", i + 1, output=f"{i} " * 150)])
    return log
