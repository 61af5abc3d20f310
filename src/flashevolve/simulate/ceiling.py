"""The ceiling of a row: how fast its calls could have been served without dependencies.

The recorded calls go through the same serving model in the order of their reservation, with at most
C in flight: as soon as one is done the next is sent. What a run takes longer is the price of its
dependencies, its boundaries and its scheduling.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from flashevolve.simulate.batching import Batch, ServingSettings


@dataclass(frozen=True, kw_only=True)
class RecordedCall:
    """What one call cost the accelerator."""

    input_tokens: int
    output_tokens: int
    prefix_blocks: tuple[int, ...] = ()
    """As `simulate.prefix.prefix_blocks` gives them. Without them every prompt is read whole, and a
    run that shared prefixes may beat its ceiling."""


def ceiling_s(
    calls: Iterable[RecordedCall], settings: ServingSettings, *, max_in_flight: int
) -> float:
    """Returns the makespan in seconds; 0 without calls."""
    if max_in_flight < 1:
        raise ValueError(f"max_in_flight must be at least 1, got {max_in_flight}")
    batch = Batch(settings)
    for call in calls:
        while batch.n_running + batch.n_queued >= max_in_flight:
            _next_event(batch)
        batch.submit(call.input_tokens, call.output_tokens, call.prefix_blocks)
    while batch.due_s() is not None:
        _next_event(batch)
    return batch.clock_s


def _next_event(batch: Batch) -> None:
    due_s = batch.due_s()
    assert due_s is not None
    batch.advance(due_s)
