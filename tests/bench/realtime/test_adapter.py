from concurrent.futures import ThreadPoolExecutor
from typing import Any

from flashevolve.bench.realtime.adapter import PooledAdapter
from flashevolve.bench.realtime.client import Turns
from flashevolve.bench.realtime.data import COMPONENT
from flashevolve.workloads.instructions import generate

EXAMPLES = generate(0, n_train=4, n_val=1, n_test=1)["train"]


class Echo:
    """Answers with the prompt that it was given, and the request."""

    def complete(self, messages: Turns) -> str:
        return " / ".join(turn["content"] for turn in messages)


def adapter(pool: ThreadPoolExecutor) -> PooledAdapter:
    client: Any = Echo()
    return PooledAdapter(client, pool)


def test_each_candidate_gets_its_own_batch_back_in_order() -> None:
    with ThreadPoolExecutor(3) as pool:
        items = [({COMPONENT: "a"}, EXAMPLES[:3]), ({COMPONENT: "b"}, EXAMPLES[3:])]
        first, second = adapter(pool).batch_evaluate(items)
    assert first.outputs == [f"a / {e['prompt']}" for e in EXAMPLES[:3]]
    assert second.outputs == [f"b / {EXAMPLES[3]['prompt']}"]
    assert [len(first.scores), len(second.scores)] == [3, 1]
    assert all(0 <= score <= 1 for score in first.scores)


def test_traces_are_kept_where_they_are_asked_for_and_shown_to_the_reflection() -> None:
    with ThreadPoolExecutor(2) as pool:
        made = adapter(pool)
        assert made.evaluate(EXAMPLES, {COMPONENT: "a"}).trajectories is None
        traced = made.evaluate(EXAMPLES[:2], {COMPONENT: "a"}, capture_traces=True)
        shown = made.make_reflective_dataset({COMPONENT: "a"}, traced, [COMPONENT])
    records = shown[COMPONENT]
    assert [r["Inputs"] for r in records] == [e["prompt"] for e in EXAMPLES[:2]]
    assert all(record["Feedback"] for record in records)
