"""Task: what is solved. Examples in three disjoint splits, and the functions that run and score.

Examples are frozen and have ids that are unique over all splits; every score in a run is keyed by
these ids. `Task` holds user code; everything else in it is data.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

Split = Literal["train", "val", "test"]
SPLITS: tuple[Split, ...] = ("train", "val", "test")


@dataclass(frozen=True, kw_only=True)
class Example(Mapping[str, Any]):
    """One instance of a task; reads like the mapping that the user gave."""

    id: str
    data: Mapping[str, Any]
    place: str = field(default="", compare=False, repr=False)
    """Where it was read, such as "train.jsonl, line 3"; for messages only."""

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def __iter__(self) -> Any:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __hash__(self) -> int:
        return hash(self.id)


def place_of(example: Mapping[str, Any], id_field: str = "id") -> str:
    """Returns where an example stands and what it is called, as messages begin.

    Such as "train.jsonl, line 3 (id 'x')", or "example 'x'" if it was not read from anywhere.
    """
    name = example.get(id_field)
    place = example.place if isinstance(example, Example) else ""
    if place:
        return place if name is None else f"{place} ({id_field} {name!r})"
    return f"example {getattr(example, 'id', None) if name is None else name!r}"


RunFunction = Callable[..., Any | Awaitable[Any]]
"""`run(artifact, example[, ctx]) -> output`, sync or async."""
ScoreFunction = Callable[..., Any | Awaitable[Any]]
"""`score(example, output[, ctx]) -> float | (float, feedback) | Outcome`, sync or async."""


@runtime_checkable
class ChecksExamples(Protocol):
    """A score function that can tell before a run whether it will be able to score."""

    def check_examples(self, examples: Iterable[Example]) -> None:
        """Raises `DataError` for the first example that it could not score."""
        ...


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is solved."""

    train: Sequence[Example]
    val: Sequence[Example]
    test: Sequence[Example] = ()
    run: RunFunction | None = None
    """None = one chat call of role `task`, the artifact as system prompt, the example's input as
    user message."""
    input: str = "input"
    """The example's field that is the user message where `run` is None."""
    score: ScoreFunction
    failure_score: float = 0.0
    """The score of a refused, empty or truncated reply and of an exception in task code."""
    perfect_score: float = 1.0
    replicas: int = 1
    """How often a shared evaluation runs an example; its score is the mean."""
    metered: bool = True
    """False if `run` may call models through a client of its own, which no budget can see."""
    by_id: Mapping[str, Example] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        index = {e.id: e for split in SPLITS for e in self.split(split)}
        object.__setattr__(self, "by_id", index)

    def split(self, name: Split) -> Sequence[Example]:
        """Returns the examples of one split, in file order."""
        return {"train": self.train, "val": self.val, "test": self.test}[name]
