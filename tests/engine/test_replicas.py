"""Several evaluations of one artifact on one example, whose mean is the score."""

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.errors import TaskError
from flashevolve.outcome import Outcome, Usage
from tests.engine.test_evaluation import VAL, Rig, only, virtual


def counting() -> Any:
    """A metric whose n-th score of an example is n."""
    seen: Counter[str] = Counter()

    def score(example: Any, output: Any) -> Outcome:
        seen[example.id] += 1
        return Outcome(score=seen[example.id], feedback=str(seen[example.id]), usage=Usage(calls=1))

    return score


@given(st.integers(1, 4), st.integers(1, 5), st.sets(st.sampled_from(VAL), min_size=1))
def test_a_shared_score_is_the_mean_of_replicas_and_each_is_a_metric_call(
    replicas: int, max_parallel: int, ids: set[str]
) -> None:
    rig = Rig(score=counting(), max_parallel=max_parallel, replicas=replicas)
    found = virtual(lambda: rig(sorted(ids), fresh=False))
    assert list(found) == sorted(ids)
    assert len(rig.spent) == len(rig.recorded()) == replicas * len(ids)
    assert {(e.example, e.replica) for e in rig.recorded()} == {
        (e, n) for e in ids for n in range(replicas)
    }
    for example, outcome in found.items():
        scores = [e.score for e in rig.recorded() if e.example == example]
        assert outcome.score == pytest.approx(sum(scores) / replicas)
        assert outcome.usage.calls == replicas


def test_a_fresh_evaluation_runs_once_whatever_the_replicas() -> None:
    rig = Rig(replicas=3)
    virtual(lambda: rig(VAL[:4], rig.place(7), fresh=True))
    assert [e.replica for e in rig.recorded()] == [7] * 4


def test_known_replicas_cost_nothing_and_the_missing_ones_are_run() -> None:
    rig = Rig(replicas=3, score=lambda example, output: 0.0)
    virtual(lambda: rig(fresh=False))
    first, second, third = (replace(e, score=1.0) for e in rig.recorded())
    later = Rig(replicas=3, score=lambda example, output: 0.0)
    later.store.append([first, third], 0.0)
    later.service.resume()
    assert only(virtual(lambda: later(fresh=False))).score == pytest.approx(2 / 3)
    assert [e.replica for e in later.recorded()] == [first.replica, third.replica, second.replica]


def test_a_sweep_asked_for_twice_at_once_runs_each_replica_once() -> None:
    rig = Rig(replicas=2)

    async def both() -> list[dict[str, Outcome]]:
        wishes = [rig(VAL, rig.place(ticket), fresh=False) for ticket in (1, 2)]
        return await asyncio.gather(*wishes)

    virtual(both)
    assert len(rig.recorded()) == len(rig.spent) == 20


def test_the_probe_of_an_agent_meets_several_examples_before_any_a_second_time() -> None:
    seen: list[str] = []

    def run(artifact: Any, example: Any) -> str:
        seen.append(example.id)
        raise ValueError("no")

    rig = Rig(run=run, replicas=5)
    with pytest.raises(TaskError, match="the agent failed on the first 3 examples: run raised"):
        virtual(lambda: rig(VAL, fresh=False))
    assert sorted(seen) == ["val-0", "val-1", "val-2"]


def test_the_words_of_a_mean_outcome_are_those_of_the_first_replica() -> None:
    outcome = only(virtual(lambda: Rig(score=counting(), replicas=2)(fresh=False)))
    assert (outcome.score, outcome.feedback, outcome.output) == (1.5, "1", "re: question 0")
