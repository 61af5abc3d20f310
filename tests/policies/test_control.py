from hypothesis import given
from hypothesis import strategies as st

from flashevolve.policies.control import (
    SIDE_ROUNDS,
    Control,
    Meter,
    Reallocation,
    StageFacts,
    adaptive,
    may_begin,
    paper,
)
from tests.fakes.patience import patient

BOUNDS = Control(mode="paper", k_min=1, k_max=16, window_s=100.0)


def stages(written: list[int], workers: list[int]) -> list[StageFacts]:
    return [
        StageFacts(name=f"s{i}", workers=k, n_written=n)
        for i, (n, k) in enumerate(zip(written, workers, strict=True))
    ]


def workers_after(written: list[int], workers: list[int], control: Control = BOUNDS) -> list[int]:
    """Returns the counts after the paper's rule; rates are items per window."""
    moved = {r.stage: r.workers for r in paper(control, stages(written, workers))}
    return [moved.get(f"s{i}", k) for i, k in enumerate(workers)]


def test_rates_within_a_factor_of_two_of_the_median_change_nothing() -> None:
    # Figure 3 draws these rates with arrows; the text's thresholds, below 1 and above 4, say no.
    assert workers_after([200, 300, 100], [4, 4, 4]) == [4, 4, 4]


def test_the_bounds_of_the_rule_are_strict() -> None:
    assert workers_after([50, 20, 10], [4, 2, 2]) == [3, 2, 2]
    assert workers_after([50, 20, 9], [4, 2, 2]) == [3, 2, 3]


def test_with_two_stages_the_rule_can_add_and_never_take_away() -> None:
    assert workers_after([400, 100], [4, 4]) == [4, 5]
    assert workers_after([10_000, 0], [4, 4]) == [4, 5]


def test_the_reason_names_both_rates() -> None:
    (grown, *_) = paper(BOUNDS, stages([10, 100, 100], [1, 1, 1]))
    assert grown == Reallocation(
        stage="s0", workers=2, reason="6 items/min < half the median of 60"
    )
    (shrunk,) = paper(BOUNDS, stages([300, 100, 100], [2, 2, 2]))
    assert shrunk.reason == "180 items/min > twice the median of 60"


def test_a_count_at_its_bound_stays_and_nothing_is_said() -> None:
    assert paper(BOUNDS, stages([1, 100, 1000], [16, 4, 1])) == []


def test_nothing_is_decided_before_the_window_has_passed_and_every_stage_has_written() -> None:
    facts = stages([1, 100, 1000], [4, 4, 4])
    assert paper(BOUNDS, facts, elapsed=False) == []
    silent = [*facts, StageFacts(name="s3", workers=4, ever_wrote=False)]
    assert paper(BOUNDS, silent) == []


def test_a_stage_of_the_engine_itself_is_neither_judged_nor_part_of_the_median() -> None:
    facts = [*stages([100, 100, 10], [4, 4, 4])]
    other = StageFacts(name="repair", workers=4, n_written=1, judged=False, ever_wrote=False)
    assert [r.stage for r in paper(BOUNDS, [*facts, other])] == ["s2"]


def test_the_window_is_open_at_its_start_and_closed_at_its_end() -> None:
    meter = Meter(window_s=60.0, began_s=0.0)
    for at_s in (0.0, 0.1, 60.0):
        meter.wrote("a", at_s)
    assert meter.counts(60.0)["a"] == 2
    assert not meter.elapsed(59.9)
    assert meter.elapsed(60.0)
    assert meter.counts(60.1)["a"] == 1
    assert meter.counts(1000.0)["a"] == 0
    assert meter.ever_wrote("a")
    assert not meter.ever_wrote("b")


def waiting(*queues: int, workers: int = 4, full: bool = False) -> list[StageFacts]:
    account = frozenset({"a"})
    return [
        StageFacts(
            name=f"s{i}",
            workers=workers,
            n_waiting=n,
            accounts=account,
            full=account if full else frozenset(),
        )
        for i, n in enumerate(queues)
    ]


ADAPTIVE = Control(mode="adaptive", k_min=1, k_max=16)


def test_a_stage_that_overfeeds_loses_a_worker_while_the_backend_is_full() -> None:
    (shrunk,) = adaptive(ADAPTIVE, waiting(0, 3, full=True))
    reason = "3 items wait for 's1' and the backend is full"
    assert shrunk == Reallocation(stage="s0", workers=3, reason=reason)


def test_a_stage_that_holds_others_up_gets_a_worker_while_requests_could_be_sent() -> None:
    (grown,) = adaptive(ADAPTIVE, waiting(0, 3))
    reason = "3 items wait for it and requests could be sent"
    assert grown == Reallocation(stage="s1", workers=5, reason=reason)


def test_a_stage_loses_a_worker_if_what_follows_has_all_of_its_own_and_a_round_waits() -> None:
    facts = [*waiting(5, workers=4), StageFacts(name="s1", workers=16, n_waiting=17)]
    (shrunk,) = adaptive(ADAPTIVE, facts)
    reason = "17 items wait for 's1', which has all 16 workers"
    assert shrunk == Reallocation(stage="s0", workers=3, reason=reason)
    few = [facts[0], StageFacts(name="s1", workers=16, n_waiting=16)]
    assert [r.workers for r in adaptive(ADAPTIVE, few)] == [5]


def test_a_full_account_slows_those_that_ask_it_and_nobody_else() -> None:
    side, main = frozenset({"side"}), frozenset({"main"})
    facts = [
        StageFacts(name="s0", workers=4, accounts=side),
        StageFacts(name="s1", workers=4, n_waiting=2, accounts=main),
        StageFacts(name="s2", workers=4, n_waiting=3, accounts=side, full=side),
    ]
    assert [(r.stage, r.workers) for r in adaptive(ADAPTIVE, facts)] == [("s0", 3), ("s1", 5)]


def test_without_queues_nothing_changes() -> None:
    for full in (True, False):
        assert adaptive(ADAPTIVE, waiting(0, 0, 0, full=full)) == []


def test_a_step_begins_only_while_a_slot_is_left_for_it() -> None:
    assert may_begin(n_requests=63, limit=64)
    assert not may_begin(n_requests=64, limit=64)


def test_a_side_account_may_have_a_queue_of_a_few_rounds() -> None:
    assert may_begin(n_requests=2 * (1 + SIDE_ROUNDS) - 1, limit=2, side=True)
    assert not may_begin(n_requests=2 * (1 + SIDE_ROUNDS), limit=2, side=True)


COUNTS = st.lists(
    st.tuples(st.integers(0, 1000), st.integers(1, 30), st.integers(0, 9)), min_size=1, max_size=6
)


@patient
@given(COUNTS, st.integers(1, 8), st.integers(0, 22), st.booleans(), st.booleans())
def test_whatever_the_rates_a_count_moves_by_one_towards_or_within_its_bounds(
    facts: list[tuple[int, int, int]], k_min: int, more: int, rule: bool, full: bool
) -> None:
    control = Control(mode="paper", k_min=k_min, k_max=k_min + more)
    account = frozenset({"a"})
    before = [
        StageFacts(
            name=f"s{i}",
            workers=control.bounded(k),
            n_written=n,
            n_waiting=w,
            accounts=account,
            full=account if full else frozenset(),
        )
        for i, (n, k, w) in enumerate(facts)
    ]
    decided = paper(control, before) if rule else adaptive(control, before)
    workers = {stage.name: stage.workers for stage in before}
    assert len({r.stage for r in decided}) == len(decided)
    for change in decided:
        assert abs(change.workers - workers[change.stage]) == 1
        assert k_min <= change.workers <= k_min + more


@patient
@given(st.lists(st.integers(0, 1000), min_size=2, max_size=2), st.integers(1, 16))
def test_two_stages_never_shrink_by_the_papers_rule(written: list[int], k: int) -> None:
    assert all(r.workers > k for r in paper(BOUNDS, stages(written, [k, k])))


def test_fixed_starts_where_it_is_told_and_the_others_within_their_bounds() -> None:
    given_ = {"a": 99}
    fixed = Control(mode="fixed", k_max=4, workers=given_)
    assert (fixed.start("a", 8), fixed.start("b", 8)) == (99, 8)
    moving = Control(mode="paper", k_max=4, workers={"a": 2})
    assert (moving.start("a", 8), moving.start("b", 8)) == (2, 4)
