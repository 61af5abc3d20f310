"""Control in the engine: workers that change, what is recorded of it, and who is never left out."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashevolve import events as ev
from flashevolve.algorithms.gepa import GEPA
from flashevolve.engine.item import End, Item, Needs, Selection
from flashevolve.engine.state import RunState
from flashevolve.engine.workflow import Setup, Source, Stage, StageContext
from flashevolve.llm.errors import LLMError, Transient
from flashevolve.llm.messages import Request, user
from flashevolve.llm.retry import RetryPolicy
from flashevolve.outcome import Outcome
from flashevolve.policies.control import Control, Mode
from flashevolve.pools.pool import Pool
from flashevolve.simulate.loop import run_virtual
from flashevolve.task import Example
from tests.fakes import time_travel
from tests.fakes.audit import Audit
from tests.fakes.patience import patient
from tests.fakes.runs import Bench, echo
from tests.fakes.workflows import Deltas, Every, HeadWorkflow, Note, Reduction
from tests.fakes.writer import MemoryStore

MOVING: tuple[Mode, ...] = ("paper", "adaptive")


def control(mode: Mode, **changes: Any) -> Control:
    return Control(mode=mode, **{"window_s": 10.0, "tick_s": 2.0, "k_max": 8, **changes})


@dataclass(frozen=True)
class Endless:
    """A source that never runs dry; a budget or a stop must end it."""

    name: str = "endless"

    def select(self, pool: Pool, rng: Random) -> Selection[Note] | None:
        return Selection(payload=Note(subject="x"), reads=())


class Chain(HeadWorkflow):
    """Stages that ask so many times, one after another, and then pass the item on."""

    name = "chain"

    sources: Sequence[Source[Note]]

    def __init__(self, setup: Setup, asks: tuple[int, ...], n: int = 60) -> None:
        super().__init__(setup, n)
        self.sources = [Every("chain", n, reads=())]
        self.stages = [self._stage(f"s{i}", times) for i, times in enumerate(asks)]

    def _stage(self, name: str, times: int) -> Stage[Note]:
        async def run(item: Item[Note], ctx: StageContext) -> Item[Note] | End:
            for _ in range(times):
                await ctx.chat("reflect", [user(f"{name} {item.payload.subject}")])
            return item.with_payload(text=item.payload.subject)

        return Stage(name=name, run=run)

    def commit(self, item: Item[Note], pool: Pool) -> Any:
        return Deltas.commit(self, item, pool)  # type: ignore[arg-type]


def chain(*asks: int, n: int = 60, **changes: Any) -> Bench:
    usual: dict[str, Any] = {"latency_s": lambda rng: 1.0, "in_flight": 16, "concurrency": 16}
    return Bench(lambda setup: Chain(setup, asks, n), **{**usual, **changes})


def path_of(bench: Bench) -> dict[str, list[int]]:
    """Returns the numbers of workers that each stage was given, in order."""
    path: dict[str, list[int]] = {}
    for change in bench.store.events(ev.WorkersChanged):
        path.setdefault(change.stage, []).append(change.workers)
    return path


def two_unequal(mode: Mode) -> Bench:
    """The second stage takes eight times as long, and no worker more can help it."""
    return chain(
        1, 8, n=100, workers=4, queue=99, in_flight=100, control=control(mode, k_max=4, tick_s=1.0)
    )


def audit(bench: Bench) -> Audit:
    names = [stage.name for stage in bench.fresh_workflow().stages]
    book = Audit(bench, names, names[-1])
    book.writes = False
    return book


def test_the_papers_rule_takes_from_stages_that_write_much_and_says_why() -> None:
    bench = chain(1, 1, 9, workers=4, queue=99, in_flight=60, control=control("paper"))
    bench.run()
    path = path_of(bench)
    assert path["s2"][0] == 5
    reason = next(c.reason for c in bench.store.events(ev.WorkersChanged) if c.stage == "s2")
    assert "< half the median of" in reason


def test_the_papers_rule_is_silent_before_its_window_has_passed() -> None:
    bench = chain(1, 1, 9, workers=4, queue=99, control=control("paper", window_s=30.0))
    bench.run()
    first = next(r for r in bench.store.records if isinstance(r.event, ev.WorkersChanged))
    assert first.t_s >= 30.0


def test_two_stages_shrink_under_adaptive_where_the_papers_rule_cannot() -> None:
    paths = {}
    for mode in MOVING:
        bench = two_unequal(mode)
        bench.run()
        paths[mode] = path_of(bench)
    began_with = 4
    assert all(min(counts) >= began_with for counts in paths["paper"].values())
    assert min(paths["adaptive"]["s0"]) < began_with


def test_a_stage_that_holds_the_others_up_grows_while_slots_are_free() -> None:
    bench = chain(1, 4, n=100, workers=2, queue=99, in_flight=32, control=control("adaptive"))
    bench.run()
    assert max(path_of(bench)["s1"]) == 8
    fixed = chain(1, 4, n=100, workers=2, queue=99, in_flight=32)
    fixed.run()
    assert bench.store.records[-1].t_s < 0.6 * fixed.store.records[-1].t_s


def test_a_shrunk_stage_gives_a_worker_up_after_its_item_and_the_audit_agrees() -> None:
    bench = two_unequal("adaptive")
    bench.run()
    audit(bench).check(bench.store.records)
    assert bench.store.events(ev.WorkersChanged)


@pytest.mark.parametrize("mode", MOVING)
def test_a_resume_goes_on_with_the_workers_that_were_found(mode: Mode) -> None:
    def bench() -> Bench:
        return chain(
            1, 1, 9, n=80, workers=4, queue=99, in_flight=60, concurrency=6, control=control(mode)
        )

    whole = bench()
    whole.run()
    changed = [r.seq for r in whole.store.records if isinstance(r.event, ev.WorkersChanged)]
    cut = next(b for b in whole.store.boundaries if b >= changed[1])
    resumed = bench()
    resumed.store = MemoryStore(whole.store.records[:cut])
    resumed.store.boundaries = [b for b in whole.store.boundaries if b <= cut]
    before = resumed.folded().staffing.workers
    assert before
    resumed.run()
    audit(resumed).check(resumed.store.records)
    later = [r.event for r in resumed.store.records[cut:] if isinstance(r.event, ev.WorkersChanged)]
    for stage, workers in before.items():
        following = [c.workers for c in later if c.stage == stage]
        assert not following or abs(following[0] - workers) == 1


def test_changes_survive_a_snapshot_and_are_forgotten_under_other_settings() -> None:
    bench = chain(1, 1, 9, workers=4, queue=99, in_flight=60, control=control("paper"))
    state = bench.run()
    assert state.staffing.workers
    data = state.dump(lambda payload: {})
    again = RunState.load(data, state.pool, {}, lambda data: data)
    assert again.staffing == state.staffing
    record = replace(bench.store.records[-1], event=ev.RunResumed(changes={}, orphans=[]))
    again.apply(record)
    assert again.staffing.workers == state.staffing.workers
    changes = {"control": {"mode": "fixed"}}
    again.apply(replace(record, event=ev.RunResumed(changes=changes, orphans=[])))
    assert again.staffing.workers == {}


def test_a_snapshot_of_an_older_version_loads() -> None:
    state = chain(1, n=3).run()
    data = state.dump(lambda payload: {})
    del data["staffing"]
    assert RunState.load(data, state.pool, {}, lambda data: data).staffing.workers == {}


@pytest.mark.parametrize("mode", MOVING)
@pytest.mark.parametrize("workflow", [Deltas, Reduction])
def test_one_step_in_flight_is_the_same_log_whatever_the_mode(
    mode: Mode, workflow: type[HeadWorkflow]
) -> None:
    def records(given: Control) -> list[ev.Record]:
        bench = Bench(workflow, in_flight=1, workers=4, queue=1, control=given)
        bench.run()
        return bench.store.records

    moving = control(mode, k_max=8, tick_s=0.01, window_s=0.1, workers={"judge": 2})
    assert records(moving) == records(Control())


def evolution(**changes: Any) -> Bench:
    """GEPA on the seed with answers that always differ."""

    def answer(request: Request, rng: Random) -> str | LLMError:
        if "Choose one verdict" in request.messages[-1].text:
            return echo(request, rng)
        return f"```\nnew {rng.randrange(10**9)}\n```"

    usual: dict[str, Any] = {
        "answer": answer,
        "latency_s": lambda rng: 5.0 * rng.lognormvariate(0, 0.5),
        "in_flight": 32,
        "workers": 32,
        "queue": 64,
        "concurrency": 32,
        "n_val": 20,
        "max_output_tokens": 1000,
        "deadline_s": 300.0,
    }
    return Bench(lambda setup: GEPA(merge=False).workflow(setup), **{**usual, **changes})


def proposals(mode: Mode, **changes: Any) -> int:
    bench = evolution(control=Control(mode=mode, k_max=32), **changes)
    return bench.run().counters["proposed"]


async def with_a_client_of_its_own(artifact: Mapping[str, str], example: Example) -> Outcome:
    rng = Random(artifact["text"] + example.id)
    await asyncio.sleep(5.0 * rng.lognormvariate(0, 0.8))
    return Outcome(score=rng.random(), output="x")


@pytest.mark.slow
def test_user_code_with_a_client_of_its_own_is_not_held_back() -> None:
    fixed, adaptive = (
        proposals(mode, agent=with_a_client_of_its_own, concurrency=16)
        for mode in ("fixed", "adaptive")
    )
    assert adaptive >= 0.9 * fixed


@pytest.mark.slow
def test_a_slow_account_that_few_steps_ask_does_not_hold_the_others_back() -> None:
    """Those that wait for it are bounded, so that a little is lost; it was 40 %."""
    wide = {"in_flight": 64, "workers": 64, "concurrency": 64, "accounts": {"repair": 1}}
    fixed, adaptive = (
        proposals(mode, policy="reflective", **wide) for mode in ("fixed", "adaptive")
    )
    assert adaptive >= 0.75 * fixed


def most_in_flight(bench: Bench) -> int:
    in_flight = peak = 0
    for record in bench.store.records:
        in_flight += isinstance(record.event, ev.ItemSelected)
        in_flight -= isinstance(record.event, ev.ItemEnded)
        peak = max(peak, in_flight)
    return peak


def test_an_outage_lets_no_more_steps_in_than_can_ask() -> None:
    def down(request: Request, rng: Random) -> str | LLMError:
        return Transient("503") if 20 < asyncio.get_running_loop().time() < 80 else "x"

    bench = chain(
        *(1, 1, 1),
        n=300,
        in_flight=64,
        workers=64,
        concurrency=8,
        control=control("adaptive", k_max=64),
        answer=down,
        retry=RetryPolicy(max_attempts=20, first_wait_s=4.0),
    )
    bench.run()
    assert most_in_flight(bench) <= 2 * 8


def test_items_that_wait_for_money_get_no_worker_more() -> None:
    class Costly(Chain):
        def _stage(self, name: str, times: int) -> Stage[Note]:
            needs = Needs(metric_calls=5)
            return replace(super()._stage(name, times), needs=lambda item, pool: needs)

    bench = Bench(
        lambda setup: Costly(setup, (3, 3), 100),
        latency_s=lambda rng: 1.0,
        in_flight=16,
        workers=4,
        queue=99,
        concurrency=64,
        control=control("adaptive", tick_s=0.5),
        budget={"metric_calls": 15},
        deadline_s=60.0,
    )
    bench.run()
    grown = [change for change in bench.store.events(ev.WorkersChanged) if change.workers > 4]
    assert not grown


def test_adaptive_lets_no_more_steps_in_than_the_backend_has_slots() -> None:
    most = {}
    for mode in ("fixed", "adaptive"):
        bench = chain(
            1, 1, 1, n=60, workers=50, in_flight=50, concurrency=4, control=control(mode, k_max=50)
        )
        bench.run()
        in_flight = peak = 0
        for record in bench.store.records:
            in_flight += isinstance(record.event, ev.ItemSelected)
            in_flight -= isinstance(record.event, ev.ItemEnded)
            peak = max(peak, in_flight)
        most[mode] = peak, round(record.t_s)
    assert most["fixed"][0] == 50
    assert most["adaptive"][0] <= 8
    assert most["adaptive"][1] <= most["fixed"][1] + 2, "slots stood empty"


@settings(patient, max_examples=25)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=3),
    st.sampled_from(["fixed", "paper", "adaptive"]),
    st.integers(1, 6),
    st.integers(1, 3),
    st.integers(1, 8),
)
def test_no_stage_starves_whatever_the_rates(
    asks: list[int], mode: Mode, concurrency: int, workers: int, in_flight: int
) -> None:
    """Items never run dry, yet each ends in the time that all in flight need one by one, twice."""

    class Busy(Chain):
        def __init__(self, setup: Setup) -> None:
            super().__init__(setup, (*asks, 1))
            self.sources = [Endless()]

    bound_s = 2.0 * in_flight * (sum(asks) + 1)
    bench = Bench(
        Busy,
        in_flight=in_flight,
        workers=workers,
        concurrency=concurrency,
        control=control(mode, k_max=6, tick_s=1.0, window_s=3.0),
        latency_s=lambda rng: 1.0,
        deadline_s=2 * bound_s,
        drive=time_travel.run,
    )
    bench.run()
    began_s: dict[int, float] = {}
    served: Counter[str] = Counter()
    for record in bench.store.records:
        match record.event:
            case ev.ItemSelected(ticket=ticket):
                began_s[ticket] = record.t_s
            case ev.ItemEnded(ticket=ticket):
                assert record.t_s - began_s.pop(ticket) <= bound_s
            case ev.StageTaken(stage=stage):
                served[stage] += 1
    assert served.keys() == {f"s{i}" for i in range(len(asks) + 1)}
    assert not began_s


def test_virtual_time_gives_the_same_log_twice() -> None:
    logs = []
    for _ in range(2):
        bench = chain(
            1, 3, 2, n=60, workers=3, concurrency=5, control=control("adaptive"), drive=run_virtual
        )
        bench.run()
        logs.append(bench.store.records)
    assert logs[0] == logs[1]
