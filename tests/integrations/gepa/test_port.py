"""The port lets nobody into an adapter who may not be there, whoever gives up waiting."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashevolve.artifact import Artifact
from flashevolve.engine.current import current
from flashevolve.engine.usercode import AsyncContext, Attempt
from flashevolve.errors import ConfigError, TaskError
from flashevolve.integrations.gepa.data import Table, table
from flashevolve.integrations.gepa.errors import AdapterFailed, StepFailed
from flashevolve.integrations.gepa.port import Port, check_adapter, no_score
from flashevolve.llm.errors import Transient
from flashevolve.llm.messages import Reply
from flashevolve.outcome import Outcome
from flashevolve.simulate.loop import run_virtual
from flashevolve.task import Split
from tests.fakes.adapters import DATA, Levels, NewBatches, OldBatches

TABLES: dict[Split, Table] = {"train": table("train", DATA), "val": table("val", DATA)}
ARTIFACT = Artifact({"p": "sx"})


def port(adapter: Any, **options: Any) -> Port:
    return Port(adapter, TABLES, dict, **options)


async def answer(role: str, messages: Any, **parameters: Any) -> Reply:
    return Reply(text=f"{role}: {messages[0].text}")


def asked(
    gate: Port, example: str, *, stage: str = "evaluate", ticket: int = 1, ask: Any = answer
) -> Coroutine[Any, Any, Outcome]:
    split: Split = "train" if stage in ("rollout", "screen") else "val"
    attempt = Attempt(
        ticket=ticket,
        stage=stage,
        visit=1,
        artifact=ARTIFACT.hash,
        split=split,
        example=f"{split}/{example}",
        replica=0,
        fresh=split == "train",
    )
    (found,) = [e for e in TABLES[split].examples() if e.id == attempt.example]
    return gate.run(ARTIFACT, found, AsyncContext(ask, attempt))


def both_loops(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(main())
    run_virtual(main())


class Held(Levels):
    """Stays inside until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.came = threading.Event()

    def linger(self) -> None:
        self.came.set()
        assert self.go.wait(20)


# -- what goes out together --------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Levels, OldBatches, NewBatches])
def test_a_minibatch_is_one_call_with_traces_and_outcomes_are_matched_by_id(
    kind: type[Levels],
) -> None:
    async def main() -> None:
        adapter = kind()
        gate = port(adapter)
        found = await asyncio.gather(*(asked(gate, e, stage="rollout") for e in "140"))
        assert [outcome.score for outcome in found] == [1.0, 0.0, 1.0]
        assert [outcome.output["wants"] for outcome in found] == [1, 4, 0]
        assert adapter.calls == [3]
        batch = gate.take(1, ["train/1", "train/4", "train/0"])
        assert batch is not None
        assert [t["wants"] for t in batch.trajectories] == [1, 4, 0]
        assert gate.take(1, ["train/1"]) is None
        gate.close()

    both_loops(main)


def test_what_waits_while_the_adapter_is_busy_goes_out_with_the_next_call() -> None:
    async def main() -> None:
        adapter = OldBatches()
        gate = port(adapter)
        steps = [asked(gate, e, stage="rollout", ticket=t) for t in (1, 2, 3) for e in "12"]
        await asyncio.gather(*steps, *(asked(gate, str(e)) for e in range(12)))
        assert sum(adapter.calls) == 18
        assert len(adapter.calls) <= 2
        for ticket in (1, 2, 3):
            batch = gate.take(ticket, ["train/1", "train/2"])
            assert batch is not None
            assert len(batch.scores) == 2
        gate.close()

    both_loops(main)


def test_a_newer_batch_evaluate_is_told_what_needs_traces() -> None:
    async def main() -> None:
        adapter = NewBatches()
        gate = port(adapter)
        await asyncio.gather(asked(gate, "1", stage="rollout"), asked(gate, "2"))
        assert sorted(adapter.traced) == [False, True]
        gate.close()

    asyncio.run(main())


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 11)), max_size=20, unique=True))
@settings(max_examples=25)
def test_whatever_is_asked_for_comes_back_under_its_own_id(pairs: list[tuple[int, int]]) -> None:
    async def main(kind: type[Levels], n_calls: int) -> None:
        adapter = kind()
        gate = port(adapter, n_calls=n_calls)
        found = await asyncio.gather(
            *(asked(gate, str(e), stage="rollout", ticket=t) for t, e in pairs)
        )
        assert [o.output["wants"] for o in found] == [e % 6 for _, e in pairs]
        assert adapter.most_inside <= n_calls
        assert adapter.n_examples == len(pairs)
        gate.close()

    for kind in (Levels, OldBatches, NewBatches):
        for n_calls in (1, 3):
            run_virtual(main(kind, n_calls))


# -- giving up ---------------------------------------------------------------------------------


def test_a_cancelled_evaluation_keeps_its_place_until_its_thread_has_left() -> None:
    async def main() -> None:
        adapter = Held()
        gate = port(adapter)
        first = asyncio.ensure_future(asked(gate, "1"))
        await asyncio.to_thread(adapter.came.wait, 20)
        second = asyncio.ensure_future(asked(gate, "2", stage="rollout"))
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        for _ in range(20):
            await asyncio.sleep(0)
        # The thread is still in there, so that nobody else may be.
        assert adapter.calls == []
        assert not second.done()
        adapter.go.set()
        assert (await second).score == 0.0
        assert adapter.most_inside == 1
        assert gate.close()

    asyncio.run(main())


def test_a_run_that_ends_leaves_no_thread_behind() -> None:
    before = set(threading.enumerate())
    adapter = Held()

    async def main() -> Port:
        gate = port(adapter)
        step = asyncio.ensure_future(asked(gate, "1"))
        await asyncio.to_thread(adapter.came.wait, 20)
        step.cancel()
        await asyncio.gather(step, return_exceptions=True)
        return gate

    gate = asyncio.run(main())
    adapter.go.set()
    assert gate.close()
    for thread in set(threading.enumerate()) - before:
        thread.join(20)
        assert not thread.is_alive()


def test_whoever_waits_with_a_cancelled_evaluation_is_evaluated_all_the_same() -> None:
    class Asking(OldBatches):
        """Asks a model, and ends with what that says."""

        def batch_evaluate(self, items: list[Any]) -> list[Any]:
            current().chat("task", "hello")
            return super().batch_evaluate(items)

    async def main() -> None:
        started = asyncio.Event()

        async def never(role: str, messages: Any, **parameters: Any) -> Reply:
            started.set()
            await asyncio.Event().wait()
            raise AssertionError

        adapter = Asking()
        gate = port(adapter)
        leader = asyncio.ensure_future(asked(gate, "1", ask=never))
        other = asyncio.ensure_future(asked(gate, "2"))
        await started.wait()
        leader.cancel()
        assert (await other).score == 0.0
        assert gate.close()

    asyncio.run(main())


# -- models inside an adapter ------------------------------------------------------------------


def test_code_inside_an_adapter_finds_the_way_to_our_models() -> None:
    class Asking(Levels):
        said = ""

        def scored(self, batch: Any, candidate: Any, traces: bool) -> Any:
            reply = current().chat("task", "hello")
            assert isinstance(reply, Reply)
            self.said = reply.text
            return super().scored(batch, candidate, traces)

    async def main() -> None:
        adapter = Asking()
        gate = port(adapter)
        await asked(gate, "1")
        assert adapter.said == "task: hello"
        with pytest.raises(TaskError, match="found none under way"):
            current()
        gate.close()

    both_loops(main)


@pytest.mark.parametrize("raises", [True, False])
def test_what_our_own_models_raise_passes_through_an_adapter_unchanged(raises: bool) -> None:
    class Asking(Levels):
        def scored(self, batch: Any, candidate: Any, traces: bool) -> Any:
            return current().chat("task", "hello")

    async def down(role: str, messages: Any, **parameters: Any) -> Reply:
        raise Transient("the endpoint is down")

    async def main() -> None:
        gate = port(Asking(), raises=raises)
        with pytest.raises(Transient, match=r"^the endpoint is down$"):
            await asked(gate, "1", ask=down)
        gate.close()

    both_loops(main)


@pytest.mark.parametrize(("raises", "kind"), [(True, AdapterFailed), (False, StepFailed)])
def test_what_an_adapter_raises_ends_the_run_or_the_step(
    raises: bool, kind: type[Exception]
) -> None:
    class Broken(Levels):
        def scored(self, batch: Any, candidate: Any, traces: bool) -> Any:
            raise StopIteration if traces else OSError("disk\nfull")

    async def main() -> None:
        gate = port(Broken(), raises=raises)
        with pytest.raises(kind, match="the adapter's evaluate raised OSError: disk full"):
            await asked(gate, "1")
        with pytest.raises(kind, match="the adapter's evaluate raised RuntimeError: StopIteration"):
            await asked(gate, "1", stage="rollout")
        gate.close()

    both_loops(main)


# -- the rest ----------------------------------------------------------------------------------


def test_a_minibatch_whose_traces_are_lost_is_evaluated_again() -> None:
    async def main() -> None:
        adapter = Levels()
        gate = port(adapter)
        batch = await gate.again(ARTIFACT, "train", ["train/1", "train/4"], None)
        assert batch.scores == [1.0, 0.0]
        assert len(batch.trajectories) == 2
        assert adapter.traced == [True]
        gate.close()

    both_loops(main)


def test_calls_that_must_be_alone_are_so_however_many_are_allowed() -> None:
    async def main() -> None:
        gate, inside, most = port(Levels(), n_calls=4), 0, 0

        def work() -> None:
            nonlocal inside, most
            inside += 1
            most = max(most, inside)
            threading.Event().wait(0.002)
            inside -= 1

        await asyncio.gather(*(gate.call(work, alone=True) for _ in range(8)))
        assert most == 1
        gate.close()

    both_loops(main)


def test_an_adapter_without_evaluate_is_named() -> None:
    with pytest.raises(ConfigError, match=r"expected a method evaluate.*, found none in object"):
        check_adapter(object())
    with pytest.raises(TaskError, match="expected the adapter to have scored"):
        no_score(None, None)
