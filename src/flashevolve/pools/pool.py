"""The pool protocol.

A pool is a fold of recorded operations: `apply` is the only way to change it, and the same
operations in the same order give the same state. It holds no reference to a clock, a file or a
task; whatever is random arrives as an `rng`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self, runtime_checkable

from flashevolve.candidate import Candidate

Op = Mapping[str, Any]
"""One JSON object with a key `op` that names the operation."""


class Pool(Protocol):
    """A versioned set of candidates."""

    @property
    def version(self) -> int:
        """The number of transactions that changed the set of selectable artifacts."""
        ...

    @property
    def candidates(self) -> Mapping[int, Candidate]:
        """All candidates by id, in order of admission."""
        ...

    def apply(self, ops: Sequence[Op], *, version: int) -> None:
        """Applies one recorded transaction; afterwards `self.version == version`.

        Raises `ValueError` for an operation that it does not know.
        """
        ...

    def best(self) -> Candidate | None:
        """Returns the best confirmed candidate; None while the pool is empty."""
        ...

    def ramp(self, max_in_flight: int, n_ended: int) -> int:
        """Returns how many steps may be in flight, at most `max_in_flight`.

        `n_ended`: steps that have ended, whatever became of them; the first commit is not counted.
        """
        ...

    def dump(self) -> dict[str, Any]:
        """Returns the whole state as JSON-serialisable data."""
        ...

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Self:
        """Returns the pool that `dump` described."""
        ...


@runtime_checkable
class Speculating(Protocol):
    """A pool that can hold candidates of which only some scores are known."""

    def unconfirmed(self, ticket: int) -> Candidate | None:
        """Returns the speculative or retracted candidate of an item, or None."""
        ...

    def ancestors(self, candidate: int) -> frozenset[int]:
        """Returns the ids of all candidates that this one descends from, itself excluded."""
        ...

    def fall(self, candidate: int) -> tuple[Op, ...]:
        """Returns what takes the standing of a candidate's speculative descendants away."""
        ...

    @property
    def awaited(self) -> Candidate | None:
        """The first candidate, while nothing is known of it and its item is in flight."""
        ...

    @property
    def n_sweeps(self) -> int:
        """Completed full sweeps that the pool knows."""
        ...

    def sweeps(self, n: int) -> list[Mapping[str, float]]:
        """Returns the scores of the first `n` full sweeps, in the order of their completion."""
        ...
