"""The ceiling of a row: how fast its calls could have been served without dependencies.

The recorded calls go through the same server in the order of their reservation, with at most C in
flight: as soon as one is done the next is sent, of several replicas to the least loaded. At a
hosted API, a call that the account's limits turn away waits at the head of the queue until it fits.
What a run takes longer is the price of its dependencies, its boundaries and its scheduling.
"""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from flashevolve.simulate.batching import Batch, ServingSettings
from flashevolve.simulate.hosted import Account, HostedSettings
from flashevolve.simulate.replicated import LeastLoaded, ReplicatedSettings
from flashevolve.simulate.serving import Job, Preset


@dataclass(frozen=True, kw_only=True)
class RecordedCall(Job):
    """What one call cost the server. Without its prefix blocks a run may beat its ceiling."""

    latency_s: float | None = None
    """How long it took once it was admitted. A hosted API's ceiling needs it: there it is the
    call's own, whoever else is under way. On an accelerator it follows from the others."""


def ceiling_s(calls: Iterable[RecordedCall], settings: Preset, *, max_in_flight: int) -> float:
    """Returns the makespan in seconds; 0 without calls.

    Raises `ValueError` for a limit below 1, and at a hosted API for a call without a latency.
    """
    if max_in_flight < 1:
        raise ValueError(f"max_in_flight must be at least 1, got {max_in_flight}")
    if isinstance(settings, HostedSettings):
        return _hosted_s(calls, settings, max_in_flight)
    if isinstance(settings, ReplicatedSettings):
        return _replicated_s(calls, settings, max_in_flight)
    return _batched_s(calls, settings, max_in_flight)


def _batched_s(calls: Iterable[RecordedCall], settings: ServingSettings, n_max: int) -> float:
    batch = Batch(settings)
    for call in calls:
        while batch.n_running + batch.n_queued >= n_max:
            _next_event(batch)
        batch.submit(call.input_tokens, call.output_tokens, call.prefix_blocks)
    while batch.due_s() is not None:
        _next_event(batch)
    return batch.clock_s


def _next_event(batch: Batch) -> None:
    due_s = batch.due_s()
    assert due_s is not None
    batch.advance(due_s)


def _replicated_s(calls: Iterable[RecordedCall], settings: ReplicatedSettings, n_max: int) -> float:
    replicas = [Batch(settings.each) for _ in range(settings.n_replicas)]
    routing = LeastLoaded(settings.n_replicas)
    now_s = 0.0
    events: list[tuple[float, int]] = []
    """A heap of (time, replica); those that are not the replica's next any more are skipped."""

    def plan(index: int) -> None:
        due_s = replicas[index].due_s()
        if due_s is not None:
            heapq.heappush(events, (due_s, index))

    def go_on() -> bool:
        """Moves to the next event of any replica; False = all are idle."""
        nonlocal now_s
        while events:
            due_s, index = heapq.heappop(events)
            if due_s == replicas[index].due_s():
                now_s = due_s
                for _ in replicas[index].advance(due_s):
                    routing.leave(index)
                plan(index)
                return True
        return False

    for call in calls:
        while routing.total >= n_max:
            go_on()
        index = routing.take()
        # Events come in order of time, so none of this replica lies before now.
        for _ in replicas[index].advance(now_s):
            routing.leave(index)
        replicas[index].submit(call.input_tokens, call.output_tokens, call.prefix_blocks)
        plan(index)
    while go_on():
        pass
    return now_s


def _hosted_s(calls: Iterable[RecordedCall], settings: HostedSettings, n_max: int) -> float:
    account = Account(settings)
    under_way: list[tuple[float, int, int]] = []
    """A heap of (end, reserved tokens, used tokens)."""
    now_s = 0.0

    def end_next() -> float:
        end_s, reserved_tokens, used_tokens = heapq.heappop(under_way)
        account.settle(reserved_tokens, used_tokens, end_s)
        return end_s

    for call in calls:
        if call.latency_s is None:
            raise ValueError("a hosted API's ceiling needs the latency of each call, found None")
        while len(under_way) >= n_max:
            now_s = end_next()
        while wait_s := account.admit(call.reserved_tokens, now_s):
            # What flows back when a call ends may come before what flows in by itself.
            if under_way and under_way[0][0] <= now_s + wait_s:
                now_s = end_next()
            else:
                now_s += wait_s
        ended = (now_s + call.latency_s, call.reserved_tokens, call.used_tokens)
        heapq.heappush(under_way, ended)
    while under_way:
        now_s = end_next()
    return now_s
