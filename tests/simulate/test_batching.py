from collections.abc import Iterable
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashevolve.simulate.batching import Batch, Entry, ServingSettings, Timing

SETTINGS = ServingSettings(
    max_sequences=3,
    t_base_s=0.5,
    t_per_sequence_s=0.25,
    prefill_tokens_per_s=100.0,
    prefix_cache_blocks=8,
)


def latency_s(entry: Entry) -> float:
    assert entry.timing is not None
    return entry.timing.queued_s + entry.timing.prefill_s + entry.timing.decode_s


def drain(batch: Batch) -> list[tuple[float, Entry]]:
    """Runs the batch empty; returns (time of the event, entry) in order."""
    finished: list[tuple[float, Entry]] = []
    while (due_s := batch.due_s()) is not None:
        finished += [(due_s, entry) for entry in batch.advance(due_s)]
    return finished


def test_alone_a_sequence_takes_exactly_its_prefill_and_its_steps() -> None:
    batch = Batch(SETTINGS)
    batch.advance(7.0)
    entry = batch.submit(50, 10)
    [(done_s, same)] = drain(batch)
    assert same is entry
    assert done_s == 7.0 + 0.5 + 10 * 0.75
    assert entry.timing == Timing(queued_s=0.0, prefill_s=0.5, decode_s=7.5)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_identical_requests_finish_together(n: int) -> None:
    batch = Batch(SETTINGS)
    for _ in range(n):
        batch.submit(50, 10)
    finished = drain(batch)
    assert {done_s for done_s, _ in finished} == {n * 0.5 + 10 * (0.5 + 0.25 * n)}
    assert len(finished) == n


def test_a_sequence_that_joins_slows_the_others_down_until_it_leaves() -> None:
    batch = Batch(SETTINGS)
    batch.submit(0, 10, tag="long")
    batch.advance(1.5)  # two tokens at 0.75 s
    batch.submit(0, 4, tag="short")
    assert [(t, e.tag) for t, e in drain(batch)] == [(5.5, "short"), (5.5 + 4 * 0.75, "long")]


def test_decoding_stands_still_while_a_prompt_is_read() -> None:
    batch = Batch(SETTINGS)
    batch.submit(0, 4, tag="first")
    batch.advance(1.5)
    batch.submit(100, 1, tag="second")
    # Two tokens, a second of prefill, one shared step, one step alone.
    assert [(t, e.tag) for t, e in drain(batch)] == [(3.5, "second"), (4.25, "first")]


def test_beyond_the_bound_sequences_queue_first_come_first_served() -> None:
    batch = Batch(SETTINGS)
    entries = [batch.submit(0, 1 + k, tag=k) for k in range(5)]
    assert (batch.n_running, batch.n_queued) == (3, 2)
    assert [e.tag for _, e in drain(batch)] == [0, 1, 2, 3, 4]
    queued_s = [e.timing.queued_s for e in entries if e.timing]
    assert queued_s == [0.0, 0.0, 0.0, 1.25, 2.5]


def test_a_cached_prefix_is_not_read_again() -> None:
    batch = Batch(SETTINGS)
    batch.submit(40, 1, (1, 2))
    [(_, first)] = drain(batch)
    whole, half, other = (
        batch.submit(32, 1, (1, 2)),
        batch.submit(40, 1, (1, 9)),
        batch.submit(40, 1, (3,)),
    )
    drain(batch)
    read_s = [e.timing.prefill_s for e in (first, whole, half, other) if e.timing]
    assert read_s == pytest.approx([0.40, 0.01, 0.24, 0.40])


@pytest.mark.parametrize("after_s", [0.0, 0.25, 0.5, 1.0, 3.0])
def test_a_dropped_sequence_frees_its_slot_at_once(after_s: float) -> None:
    batch = Batch(replace(SETTINGS, max_sequences=1))
    first = batch.submit(50, 10, tag="first")
    second = batch.submit(50, 10, tag="second")
    batch.advance(after_s)
    batch.drop(first)
    batch.drop(first)
    assert (batch.n_running, batch.n_queued) == (1, 0)
    assert [(t, e.tag) for t, e in drain(batch)] == [(after_s + 8.0, "second")]
    assert second.timing == Timing(queued_s=after_s, prefill_s=0.5, decode_s=7.5)


def test_sequences_that_are_dropped_while_they_wait_are_skipped() -> None:
    batch = Batch(replace(SETTINGS, max_sequences=2))
    entries = [batch.submit(50, 2, tag=k) for k in range(4)]
    batch.drop(entries[1])  # waits in the lane behind the first prompt
    batch.drop(entries[2])  # took over the slot, or waits for it
    assert (batch.n_running, batch.n_queued) == (2, 0)
    assert [e.tag for _, e in drain(batch)] == [0, 3]
    assert (batch.n_running, batch.n_queued, batch.due_s()) == (0, 0, None)


def test_time_may_not_run_backwards_while_something_is_served() -> None:
    batch = Batch(SETTINGS)
    batch.advance(5.0)
    batch.advance(1.0)  # idle: another loop may have another clock
    batch.submit(0, 1)
    with pytest.raises(ValueError, match=r"the batch is at 1.0 s, got 0.5 s"):
        batch.advance(0.5)


@pytest.mark.parametrize(("tokens_in", "tokens_out"), [(-1, 1), (0, 0)])
def test_impossible_token_counts_are_refused(tokens_in: int, tokens_out: int) -> None:
    with pytest.raises(ValueError, match=f"got {tokens_in} and {tokens_out}"):
        Batch(SETTINGS).submit(tokens_in, tokens_out)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_sequences": 0}, "max_sequences must be at least 1, got 0"),
        ({"prefix_cache_blocks": -1}, "prefix_cache_blocks must be at least 0, got -1"),
        ({"t_base_s": -0.1}, "t_base_s must not be negative"),
        ({"t_base_s": 0.0, "t_per_sequence_s": 0.0}, "must take time"),
        ({"prefill_tokens_per_s": 0.0}, "must take time"),
    ],
)
def test_settings_that_describe_no_machine_are_refused(
    changes: dict[str, float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        replace(SETTINGS, **changes)  # type: ignore[arg-type]


@dataclass
class Naive:
    """One request in the reference model, which moves every sequence at every event."""

    arrives_s: float
    tokens_in: int
    tokens_out: int
    left: float = 0.0
    done_s: float = -1.0


def naive_times(requests: Iterable[Naive], at: ServingSettings) -> None:
    """Sets `done_s` of all requests by moving everything, event by event."""
    waiting = sorted(requests, key=lambda r: r.arrives_s)
    lane: list[Naive] = []
    decoding: list[Naive] = []
    now_s = 0.0
    while waiting or lane or decoding:
        while waiting and waiting[0].arrives_s <= now_s:
            if len(lane) + len(decoding) == at.max_sequences:
                break
            lane.append(waiting.pop(0))
            lane[-1].left = lane[-1].tokens_in / at.prefill_tokens_per_s
        step_s = at.t_base_s + at.t_per_sequence_s * len(decoding)
        steps: list[float] = []
        if waiting and waiting[0].arrives_s > now_s:
            steps.append(waiting[0].arrives_s - now_s)
        if lane:
            steps.append(lane[0].left)
        elif decoding:
            steps.append(min(r.left for r in decoding) * step_s)
        elapsed_s = min(steps)
        now_s += elapsed_s
        if lane:
            lane[0].left -= elapsed_s
            if lane[0].left <= 1e-12:
                decoding.append(lane.pop(0))
                decoding[-1].left = float(decoding[-1].tokens_out)
            continue
        for request in decoding:
            request.left -= elapsed_s / step_s
        for request in [r for r in decoding if r.left <= 1e-9]:
            request.done_s = now_s
            decoding.remove(request)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 400), st.integers(0, 300), st.integers(1, 40)),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 5),
)
def test_the_heap_agrees_with_moving_every_sequence_one_by_one(
    given_requests: list[tuple[int, int, int]], max_sequences: int
) -> None:
    at = replace(SETTINGS, max_sequences=max_sequences)
    # Sixteenths of a second keep arrivals off the events by more than rounding.
    requests = [Naive(a / 16 + 1e-4, i, o) for a, i, o in sorted(given_requests)]
    naive_times(requests, at)
    batch = Batch(at)
    done_s: dict[int, float] = {}
    starts_s: list[float] = []
    entries: list[Entry] = []

    def advance(to_s: float) -> None:
        while (due_s := batch.due_s()) is not None and due_s <= to_s:
            for entry in batch.advance(due_s):
                assert isinstance(entry.tag, int)
                done_s[entry.tag] = due_s
            assert batch.n_running <= max_sequences
            assert batch.n_queued == 0 or batch.n_running == max_sequences
        if to_s < float("inf"):
            batch.advance(to_s)

    for key, request in enumerate(requests):
        advance(request.arrives_s)
        entries.append(batch.submit(request.tokens_in, request.tokens_out, (), key))
    advance(float("inf"))
    starts_s = [entry.prefill_from_s for entry in entries]
    assert starts_s == sorted(starts_s)
    assert [done_s[k] for k in range(len(requests))] == pytest.approx([r.done_s for r in requests])
    assert [latency_s(e) for e in entries] == pytest.approx(
        [r.done_s - r.arrives_s for r in requests]
    )


def test_the_first_token_is_told_when_the_prompt_is_read_and_what_was_cached_of_it() -> None:
    batch = Batch(SETTINGS)
    told: list[tuple[float, int]] = []
    for _ in range(2):
        batch.submit(
            40, 2, range(2), on_first_token=lambda cached: told.append((batch.clock_s, cached))
        )
    drain(batch)
    # Both blocks of the second prompt were read with the first one; 8 tokens are in none.
    assert told == [(0.4, 0), (pytest.approx(0.48), 32)]


def test_of_a_prompt_that_is_cached_whole_the_last_token_is_not_counted_as_cached() -> None:
    batch = Batch(SETTINGS)
    told: list[int] = []
    for _ in range(2):
        batch.submit(32, 1, range(2), on_first_token=told.append)
    drain(batch)
    assert told == [0, 31]


def test_the_first_token_of_a_dropped_sequence_is_never_told() -> None:
    batch = Batch(SETTINGS)
    told: list[int] = []
    entries = [batch.submit(10, 1, on_first_token=told.append) for _ in range(5)]
    for entry in entries:
        batch.drop(entry)
    drain(batch)
    assert told == []
