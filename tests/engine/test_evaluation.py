import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from flashevolve import events as ev
from flashevolve.artifact import Artifact
from flashevolve.engine.evaluation import PROBES, EvaluationService, Place
from flashevolve.engine.funds import BudgetExhausted
from flashevolve.engine.log import EventLog
from flashevolve.engine.shared import SharedScores
from flashevolve.engine.state import RunState
from flashevolve.engine.usercode import AsyncContext, SyncContext, UserCode
from flashevolve.errors import ConfigError, DataError, TaskError
from flashevolve.llm.errors import Empty, LLMError, RateLimited, Refused, Truncated
from flashevolve.llm.messages import Message, Reply
from flashevolve.outcome import Outcome, Usage
from flashevolve.pools.head import HeadPool
from flashevolve.simulate.loop import run_virtual
from flashevolve.store.codec import record_from_json, record_to_json
from flashevolve.task import Task
from tests.fakes.runs import examples
from tests.fakes.writer import MemoryStore

ARTIFACT = Artifact({"text": "be brief"})
VAL = [f"val-{i}" for i in range(10)]


class Rig:
    """An evaluation service and places to ask it from."""

    def __init__(
        self, run: Any = None, score: Any = None, max_parallel: int = 4, replicas: int = 1
    ) -> None:
        self.store = MemoryStore()
        self.spent: list[int] = []
        self.asked: list[str] = []
        self.answer: Callable[[str], str | Exception] = lambda asked: f"re: {asked}"
        state = RunState(HeadPool(), {}, lambda payload: payload)
        log = EventLog(self.store, state, lambda: 0.0, lambda payload: payload)
        self.task = Task(
            train=(),
            val=examples("val", 10),
            run=run,
            score=score or (lambda e, o: 1.0),
            replicas=replicas,
        )
        shared = SharedScores(log.durable, self.store)
        self.service = EvaluationService(self.task, UserCode(2), log, max_parallel, shared)

    def place(self, ticket: int = 1, visit: int = 1, journal: Any = None) -> Place:
        def way(map_key: str, sample: tuple[object, ...]) -> Any:
            async def ask(role: str, messages: Sequence[Message], **parameters: Any) -> Reply:
                self.asked.append(messages[-1].text)
                await asyncio.sleep(1.0)
                answer = self.answer(messages[-1].text)
                if isinstance(answer, Exception):
                    raise answer
                return Reply(text=answer)

            return ask

        return Place(
            ticket=ticket,
            stage="s",
            visit=visit,
            journal={} if journal is None else journal,
            ask=way,
            spend=lambda: self.spent.append(ticket),
        )

    async def __call__(
        self, ids: Sequence[str] = ("val-0",), place: Place | None = None, fresh: bool = True
    ) -> dict[str, Outcome]:
        place = place or self.place()
        return await self.service.evaluate(place, ARTIFACT, "val", ids, fresh=fresh)

    def recorded(self) -> list[ev.OutcomeRecorded]:
        return self.store.events(ev.OutcomeRecorded)


def virtual(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return run_virtual(main())


def only(outcomes: dict[str, Outcome]) -> Outcome:
    (outcome,) = outcomes.values()
    return outcome


def test_without_an_agent_the_artifact_is_the_system_prompt() -> None:
    rig = Rig()
    outcome = only(virtual(rig))
    assert outcome.output == "re: question 0"
    assert rig.asked == ["question 0"]


def test_outcomes_come_in_the_order_of_the_ids_and_each_id_once() -> None:
    rig = Rig()
    outcomes = virtual(lambda: rig(["val-3", "val-1", "val-3"]))
    assert list(outcomes) == ["val-3", "val-1"]
    assert len(rig.recorded()) == len(rig.spent) == 2


def test_a_shared_score_asked_for_twice_at_once_is_computed_once() -> None:
    rig = Rig()

    async def both() -> list[dict[str, Outcome]]:
        wishes = [rig(VAL, rig.place(ticket), fresh=False) for ticket in (1, 2)]
        return await asyncio.gather(*wishes)

    first, second = virtual(both)
    assert len(rig.recorded()) == len(rig.spent) == 10
    assert {k: o.score for k, o in first.items()} == {k: o.score for k, o in second.items()}


def test_a_known_shared_score_costs_nothing_and_a_fresh_one_is_run_again() -> None:
    rig = Rig()

    async def main() -> None:
        await rig(fresh=False)
        await rig(place=rig.place(2), fresh=False)
        assert len(rig.spent) == 1
        await rig(place=rig.place(2), fresh=True)
        assert len(rig.spent) == 2

    virtual(main)
    assert [e.replica for e in rig.recorded()] == [0, 2]


def test_the_same_evaluation_asked_for_twice_in_one_visit_is_recorded_once() -> None:
    """The store keys outcomes by visit, artifact, example and replica."""
    rig = Rig()

    async def main() -> list[dict[str, Outcome]]:
        place = rig.place()
        both = await asyncio.gather(rig(place=place), rig(place=place))
        return [*both, await rig(place=place)]

    found = [only(outcomes) for outcomes in virtual(main)]
    assert found[0] == found[1] == found[2]
    assert len(rig.recorded()) == len(rig.spent) == 1


def test_when_the_owner_is_cancelled_the_waiter_takes_over() -> None:
    rig = Rig()

    async def main() -> Outcome:
        owner = asyncio.create_task(rig(place=rig.place(1), fresh=False))
        await asyncio.sleep(0.5)
        waiter = asyncio.create_task(rig(place=rig.place(2), fresh=False))
        await asyncio.sleep(0.1)
        owner.cancel()
        return only(await waiter)

    assert virtual(main).score == 1.0
    assert [e.ticket for e in rig.recorded()] == [2]
    assert rig.spent == [1, 2]


def test_when_the_owner_fails_the_waiter_takes_over() -> None:
    rig = Rig()
    answers = iter((RateLimited("429"), "fine"))
    rig.answer = lambda asked: next(answers)

    async def main() -> Outcome:
        owner = asyncio.create_task(rig(place=rig.place(1), fresh=False))
        waiter = asyncio.create_task(rig(place=rig.place(2), fresh=False))
        with pytest.raises(RateLimited, match="429"):
            await owner
        return only(await waiter)

    assert virtual(main).output == "fine"


def test_what_the_journal_holds_is_given_back_whole_and_costs_nothing() -> None:
    rig = Rig()
    journal: dict[Any, Any] = {}

    async def main() -> None:
        first = only(await rig(place=rig.place(journal=journal), fresh=False))
        again = only(await rig(place=rig.place(journal=journal), fresh=False))
        assert first == again
        assert again.output == "re: question 0"

    virtual(main)
    assert len(rig.spent) == 1


@pytest.mark.parametrize("error", [Refused("filtered"), Truncated("cut"), Empty("nothing")])
def test_an_unusable_answer_is_an_outcome_with_the_failure_score(error: LLMError) -> None:
    rig = Rig()
    rig.answer = lambda asked: error
    outcome = only(virtual(rig))
    assert outcome.score == 0.0
    assert outcome.error == f"the model's answer is unusable ({error.kind}): {error}"
    assert outcome.feedback == outcome.error


def test_an_exception_of_the_agent_is_an_outcome() -> None:
    def agent(artifact: Any, example: Any) -> str:
        raise ValueError("no tool")

    assert only(virtual(Rig(agent))).error == "run raised ValueError: no tool"


def test_a_cancellation_that_the_agent_made_itself_is_an_outcome() -> None:
    async def agent(artifact: Any, example: Any) -> str:
        raise asyncio.CancelledError

    rig = Rig(agent)
    assert only(virtual(rig)).error == "run raised CancelledError"


def test_a_transient_error_is_raised_and_never_a_score() -> None:
    rig = Rig()
    rig.answer = lambda asked: RateLimited("429")
    with pytest.raises(RateLimited, match="429"):
        virtual(rig)
    assert not rig.recorded()


@pytest.mark.parametrize("error", [BudgetExhausted("usd"), RateLimited("429")])
def test_what_an_agent_must_not_swallow_is_raised_again(error: Exception) -> None:
    async def agent(artifact: Any, example: Any, ctx: AsyncContext) -> str:
        try:
            return (await ctx.chat("task", "hi")).text
        except Exception:
            return "never mind"

    rig = Rig(agent)
    rig.answer = lambda asked: error
    with pytest.raises(type(error)):
        virtual(rig)
    assert not rig.recorded()


def test_an_agent_may_handle_a_refusal() -> None:
    async def agent(artifact: Any, example: Any, ctx: AsyncContext) -> str:
        try:
            return (await ctx.chat("task", "hi")).text
        except Refused:
            return "handled"

    rig = Rig(agent)
    rig.answer = lambda asked: Refused("no")
    assert only(virtual(rig)).output == "handled"


def test_an_agent_that_fails_on_the_first_examples_stops_before_a_sweep_is_paid() -> None:
    n_runs = 0

    async def agent(artifact: Any, example: Any) -> str:
        nonlocal n_runs
        n_runs += 1
        raise AttributeError("typo")

    expected = rf"failed on the first {PROBES} examples: run raised AttributeError: typo\. Call run"
    with pytest.raises(TaskError, match=expected):
        virtual(lambda: Rig(agent)(VAL))
    assert n_runs == PROBES


def test_after_one_success_evaluations_run_side_by_side() -> None:
    running = peak = 0

    async def agent(artifact: Any, example: Any) -> str:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(1.0)
        running -= 1
        return "x"

    rig = Rig(agent, max_parallel=4)

    async def main() -> int:
        await rig(["val-9"])
        assert peak == 1
        await rig(VAL, rig.place(2))
        return peak

    assert virtual(main) == 4


def test_an_unusable_first_answer_does_not_keep_evaluations_one_at_a_time() -> None:
    rig = Rig()
    rig.answer = lambda asked: Truncated("cut")

    async def main() -> float:
        loop = asyncio.get_running_loop()
        await rig(VAL[:8])
        return loop.time()

    # One probe, then the other seven by four at once.
    assert virtual(main) == 3.0


def test_a_metric_that_fails_on_its_first_output_stops_with_example_and_output() -> None:
    def score(example: Any, output: Any) -> float:
        raise KeyError("gold")

    expected = r"metric failed on its first output: score raised KeyError: 'gold' \(example 'val-0'"
    with pytest.raises(TaskError, match=expected):
        virtual(Rig(score=score))


@pytest.mark.parametrize("error", [ConfigError("get py3langid"), DataError("v.jsonl, line 3: no")])
def test_what_a_metric_says_about_the_set_up_is_raised_and_never_a_score(error: Exception) -> None:
    def score(example: Any, output: Any) -> float:
        if example.id == "val-0":
            return 1.0
        raise error

    rig = Rig(score=score)
    virtual(rig)
    with pytest.raises(type(error), match=f"^{error}$"):
        virtual(lambda: rig(["val-1", "val-2"]))
    assert [recorded.example for recorded in rig.recorded()] == ["val-0"]


def test_a_metric_that_fails_five_times_in_a_row_stops() -> None:
    def score(example: Any, output: Any) -> float:
        if example.id == "val-0":
            return 1.0
        raise KeyError("gold")

    rig = Rig(score=score, max_parallel=1)
    with pytest.raises(TaskError, match=r"failed 5 times in a row: .*last example 'val-5'.*resume"):
        virtual(lambda: rig(VAL))
    assert [e.error for e in rig.recorded()] == [None] + ["score raised KeyError: 'gold'"] * 4


def after_a_good_one(score: Callable[[], Any], run: Any = None) -> Outcome:
    """The outcome of an example whose metric says `score()`, after one that was fine."""
    rig = Rig(run, lambda example, output: 1.0 if example.id == "val-0" else score())

    async def main() -> Outcome:
        await rig(["val-0"])
        return only(await rig(["val-1"]))

    outcome: Outcome = virtual(main)
    return outcome


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), (float("nan"), "why"), Outcome(score=float("nan"))]
)
def test_a_score_that_is_not_finite_is_a_failure_of_the_metric(value: Any) -> None:
    outcome = after_a_good_one(lambda: value)
    assert outcome.score == 0.0
    assert outcome.error is not None
    assert "expected a finite number" in outcome.error


@pytest.mark.parametrize("value", [(1.0, 2.0), (1.0,), None, "high"])
def test_what_is_no_score_is_a_failure_of_the_metric(value: Any) -> None:
    assert str(after_a_good_one(lambda: value).error).startswith("score raised ")


def test_a_score_may_come_with_feedback_or_as_a_whole_outcome() -> None:
    plain = after_a_good_one(lambda: (0.5, "half right"))
    assert (plain.score, plain.feedback, plain.output) == (0.5, "half right", "re: question 1")
    whole = after_a_good_one(lambda: Outcome(score=0.25, trace=["a"], usage=Usage(tokens_in=3)))
    assert (whole.score, whole.trace, whole.output) == (0.25, ["a"], "re: question 1")


def test_an_agent_that_scores_itself_needs_no_metric() -> None:
    async def agent(artifact: Any, example: Any) -> Outcome:
        return Outcome(score=0.75, output={"kind": object}, trace=(1, 2))

    def score(example: Any, output: Any) -> float:
        raise AssertionError("not asked")

    rig = Rig(agent, score)
    outcome = only(virtual(rig))
    assert outcome.score == 0.75
    assert outcome.output == "{'kind': <class 'object'>}"
    assert rig.recorded()[0].trace == [1, 2]


def after_one(scored: Any) -> ev.OutcomeRecorded:
    """Returns what is recorded of a metric's answer, after a first good one."""
    answers = iter([1.0, scored])
    rig = Rig(score=lambda e, o: next(answers))
    virtual(lambda: rig(["val-0"]))
    virtual(lambda: rig(["val-1"], rig.place(2)))
    recorded = rig.recorded()[1]
    record = ev.Record(seq=1, t_s=0.0, event=recorded)
    assert record_from_json(record_to_json(record)) == record
    return recorded


def test_an_outcome_without_feedback_and_usage_has_empty_ones() -> None:
    loose: Any = {"feedback": None, "usage": None}
    recorded = after_one(Outcome(score=0.5, **loose))
    assert (recorded.score, recorded.feedback, recorded.usage) == (0.5, "", Usage())


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("feedback", 3, "expected Outcome.feedback to be text, got 3"),
        ("error", ["x"], "expected Outcome.error to be text, got ['x']"),
        ("usage", {"calls": 1}, "expected Outcome.usage to be a Usage, got {'calls': 1}"),
        ("usage", Usage(tokens_in=-1), "expected Outcome.usage of finite numbers from 0 up"),
        ("usage", Usage(usd=float("nan")), "expected Outcome.usage of finite numbers from 0 up"),
    ],
)
def test_a_malformed_outcome_is_a_failure_of_the_metric(field: str, value: Any, named: str) -> None:
    recorded = after_one(Outcome(**{"score": 1.0, field: value}))
    assert recorded.score == 0.0
    assert recorded.error is not None
    assert named in recorded.error


def test_an_error_may_be_given_as_the_exception() -> None:
    given: Any = ValueError("two\nlines")
    assert after_one(Outcome(score=0.0, error=given)).error == "ValueError: two lines"


def test_nan_and_infinity_in_outputs_and_traces_are_kept_by_name() -> None:
    nan, inf = float("nan"), float("inf")
    recorded = after_one(Outcome(score=1.0, output=nan, trace=[1.5, {"a": -inf}]))
    assert recorded.output == "nan"
    assert recorded.trace == [1.5, {"a": "-inf"}]


def test_half_a_surrogate_pair_is_replaced_wherever_user_code_puts_it() -> None:
    half = "a\ud83d"
    given = Outcome(score=1.0, output=half, feedback=half, trace={half: [half]}, error=half)
    recorded = after_one(given)
    assert (recorded.output, recorded.feedback, recorded.error) == ("a?", "a?", "a?")
    assert recorded.trace == {"a?": ["a?"]}


def test_an_output_whose_repr_raises_is_kept_by_its_type() -> None:
    class Shy:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    assert "Shy object at" in after_one(Outcome(score=1.0, output=Shy())).output


def test_a_metric_may_ask_a_judge_and_what_it_says_is_metered() -> None:
    def judged(example: Any, output: Any, ctx: SyncContext) -> float:
        return float(ctx.chat("judge", "how good?").text == "re: how good?")

    rig = Rig(score=judged)
    assert only(virtual(rig)).score == 1.0
    assert rig.asked == ["question 0", "how good?"]


def test_a_judge_that_refuses_is_no_failure_of_the_metric_and_keeps_the_output() -> None:
    async def judged(example: Any, output: Any, ctx: AsyncContext) -> float:
        return float((await ctx.chat("judge", "how good?")).text)

    rig = Rig(score=judged)
    rig.answer = lambda asked: Refused("no") if asked == "how good?" else "fine"
    outcome = only(virtual(rig))
    assert (outcome.score, outcome.output) == (0.0, "fine")
    assert outcome.error == "the judging model's answer is unusable (refused): no"


def test_a_budget_that_ends_in_the_judge_is_not_swallowed_by_the_metric() -> None:
    async def judged(example: Any, output: Any, ctx: AsyncContext) -> float:
        try:
            await ctx.chat("judge", "how good?")
        except Exception:
            return 0.5
        return 1.0

    rig = Rig(score=judged)
    rig.answer = lambda asked: BudgetExhausted("usd") if asked == "how good?" else "fine"
    with pytest.raises(BudgetExhausted):
        virtual(rig)
    assert rig.recorded() == []


def test_objectives_are_recorded_and_come_back_with_shared_scores_after_a_resume() -> None:
    def score(example: Any, output: Any) -> Outcome:
        return Outcome(score=0.5, objectives={"cost": 1, "right": 0.25})

    rig = Rig(run=lambda artifact, example: "out", score=score)
    first = only(virtual(lambda: rig(fresh=False)))
    assert first.objectives == {"cost": 1.0, "right": 0.25}
    assert rig.recorded()[0].objectives == first.objectives
    again = Rig(run=lambda artifact, example: "out", score=score)
    for record in rig.store.records:
        again.store.append([record.event], 0.0)
    again.service.resume()
    known = only(virtual(lambda: again(place=again.place(2), fresh=False)))
    assert (known.score, known.objectives) == (0.5, first.objectives)
    assert not again.spent


def test_objectives_are_means_over_replicas() -> None:
    values = iter([0.0, 1.0])

    def score(example: Any, output: Any) -> Outcome:
        return Outcome(score=0.0, objectives={"cost": next(values)})

    rig = Rig(run=lambda artifact, example: "out", score=score, replicas=2)
    assert only(virtual(lambda: rig(fresh=False))).objectives == {"cost": 0.5}


def test_an_outcome_without_objectives_leaves_them_out_of_the_log() -> None:
    rig = Rig(run=lambda artifact, example: "out")
    virtual(rig)
    (line,) = (record_to_json(r) for r in rig.store.records)
    assert "objectives" not in line
    assert record_from_json(line).event == rig.recorded()[0]
