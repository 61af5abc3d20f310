"""Replicas: several accelerators of one kind behind one address.

A request goes to the replica with the fewest requests in flight, of several such to the first. It
stays there until it is answered or cancelled, so each request is in flight on exactly one replica.
Every replica has its own queue and its own prefix cache. With one replica all is as without.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from flashevolve.simulate.batching import ServingSettings


@dataclass(frozen=True, kw_only=True)
class ReplicatedSettings:
    """One model on several machines of one kind."""

    each: ServingSettings
    n_replicas: int

    def __post_init__(self) -> None:
        if self.n_replicas < 1:
            raise ValueError(f"n_replicas must be at least 1, got {self.n_replicas}")


class LeastLoaded:
    """Which replica gets the next request; counts what is in flight on each."""

    def __init__(self, n_replicas: int) -> None:
        self._in_flight = [0] * n_replicas

    @property
    def in_flight(self) -> Sequence[int]:
        """Requests in flight by replica."""
        return tuple(self._in_flight)

    @property
    def total(self) -> int:
        """Requests in flight on all."""
        return sum(self._in_flight)

    def take(self) -> int:
        """Returns the replica of a new request, which is in flight there until `leave`."""
        index = self._in_flight.index(min(self._in_flight))
        self._in_flight[index] += 1
        return index

    def leave(self, index: int) -> None:
        """A request of this replica is over."""
        self._in_flight[index] -= 1
