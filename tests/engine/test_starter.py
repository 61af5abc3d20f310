from dataclasses import dataclass
from random import Random

import pytest

from flashevolve import events as ev
from flashevolve.algorithms.gepa import GEPA
from flashevolve.engine.workflow import Setup
from flashevolve.llm.messages import Request
from flashevolve.pools.pool import Pool
from tests.fakes.runs import Bench
from tests.fakes.workflows import Every, Reduction


@dataclass(frozen=True)
class Few(Every):
    """A source that may have three steps in flight."""

    def cap(self, pool: Pool) -> int:
        return 3


class FewReductions(Reduction):
    """The small workflow with a capped source beside its own."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.sources = (Few("few", 12), *self.sources)


def test_a_capped_source_keeps_to_its_cap_and_leaves_the_other_credits_to_others() -> None:
    bench = Bench(FewReductions, in_flight=8, workers=8)
    bench.run()
    few, others, most_few, most = set[int](), set[int](), 0, 0
    for record in bench.store.records:
        match record.event:
            case ev.ItemSelected(ticket=ticket, source=source):
                (few if source == "few" else others).add(ticket)
            case ev.ItemEnded(ticket=ticket):
                few.discard(ticket)
                others.discard(ticket)
        most_few, most = max(most_few, len(few)), max(most, len(few | others))
    selected = [e for e in bench.store.events(ev.ItemSelected) if e.source == "few"]
    assert len(selected) == 12
    assert (most_few, most) == (3, 8)


def longer(request: Request, rng: Random) -> str:
    """Rewrites a text by making it longer."""
    shown = request.messages[-1].text.partition("```")[2].partition("```")[0]
    return f"```\n{shown.strip()} {rng.randint(1, 10**9)}\n```"


def improving(metric_calls: int, in_flight: int) -> Bench:
    """A run in which every child beats its parent."""
    return Bench(
        lambda setup: GEPA(skip_perfect=False).workflow(setup),
        agent=lambda artifact, example: artifact["text"],
        score=lambda example, output: len(output) / 10_000,
        answer=longer,
        policy="full",
        n_val=16,
        in_flight=in_flight,
        workers=in_flight,
        budget={"metric_calls": metric_calls},
    )


@pytest.mark.parametrize("metric_calls", [40, 60, 100, 150])
def test_many_workers_finish_steps_of_a_small_budget_too(metric_calls: int) -> None:
    for in_flight in (1, 8, 64):
        bench = improving(metric_calls, in_flight)
        state = bench.run()
        # The seed's sweep takes 16 calls, a step 6, and its sweep 16 more.
        n_whole = (metric_calls - 16) // 22
        n_admitted = state.counters["admitted"] - 1
        assert n_admitted >= max(1, n_whole // 2), (in_flight, n_admitted, n_whole)
        assert state.ledger.spent["metric_calls"] > metric_calls - 44
