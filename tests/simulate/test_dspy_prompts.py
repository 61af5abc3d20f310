"""DSPy's own prompts, rendered by the installed package: no text of theirs stands here."""

import random
import warnings
from collections.abc import Sequence
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import pytest

from flashevolve.llm.messages import Message
from flashevolve.simulate.prompt import take_apart
from flashevolve.simulate.reader import TextReader
from flashevolve.simulate.roles import infer_role
from flashevolve.workloads.instructions import score
from tests.simulate.instructing import DATA, ORACLE, SEED, mean
from tests.simulate.test_gepa_prompts import CERTAIN, NEW, OLD, records
from tests.simulate.usual import USUAL, reader_with

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    dspy: Any = pytest.importorskip("dspy")
    proposals: Any = pytest.importorskip("dspy.teleprompt.gepa.instruction_proposal")

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]


class ReaderLM(dspy.BaseLM):  # type: ignore[misc]  # dspy is not installed where types are checked
    """A language model of DSPy's whose answers a reader writes."""

    def __init__(self, reader: TextReader, draw: object = 0) -> None:
        super().__init__(model="reader", cache=False)
        self.reader = reader
        self.draw = draw
        self.seen: list[list[Message]] = []

    def forward(self, prompt: Any = None, messages: Any = None, **_: Any) -> Any:
        asked = [Message(role=one["role"], content=one["content"]) for one in messages]
        self.seen.append(asked)
        text = self.reader.answer(asked, random.Random(f"{self.draw}/{asked[-1].text}"))
        said = SimpleNamespace(content=text, tool_calls=None)
        choice = SimpleNamespace(message=said, finish_reason="stop", logprobs=None)
        return SimpleNamespace(choices=[choice], usage={}, model="reader")


class Answering(dspy.Signature):  # type: ignore[misc]
    request: str = dspy.InputField()
    answer: str = dspy.OutputField(desc="the full text")


class Judging(dspy.Signature):  # type: ignore[misc]
    """Judge the request."""

    request: str = dspy.InputField()
    topics: list[str] = dspy.OutputField()
    n_words: int = dspy.OutputField()
    harmless: bool = dspy.OutputField()


ADAPTERS = [dspy.ChatAdapter, dspy.JSONAdapter]


def answers(
    adapter: Any, instructions: str, examples: Sequence[Any], reader: TextReader, demos: Any = ()
) -> list[str]:
    program = dspy.ChainOfThought(Answering.with_instructions(instructions))
    program.predict.demos = list(demos)
    with dspy.context(lm=ReaderLM(reader), adapter=adapter()):
        return [program(request=one["prompt"]).answer for one in examples]


def mean_of(adapter: Any, instructions: str, demos: Any = ()) -> float:
    examples = DATA["test"]
    found = answers(adapter, instructions, examples, TextReader(USUAL), demos)
    return fmean(score(e, text)[0] for e, text in zip(examples, found, strict=True))


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_task_is_answered_in_the_fields_that_the_adapter_asks_for(adapter: Any) -> None:
    lm = ReaderLM(CERTAIN)
    with dspy.context(lm=lm, adapter=adapter()):
        said = dspy.ChainOfThought(Answering.with_instructions(ORACLE))(
            request="Describe a tram. Give exactly 3 bullet points."
        )
    assert said.answer.count("* ") == 3
    assert said.reasoning
    (asked,) = lm.seen
    taken = take_apart(asked)
    assert infer_role(taken) == "answer"
    assert taken.request == "Describe a tram. Give exactly 3 bullet points."
    assert taken.standing.splitlines() == [*ORACLE.splitlines(), "the full text"]


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("instructions", [SEED, ORACLE])
def test_fields_earn_the_same_as_plain_messages(adapter: Any, instructions: str) -> None:
    # Two samples of 200 answers with a standard deviation of about 0.25 each: 2 s.e. = 0.05.
    assert abs(mean_of(adapter, instructions) - mean(instructions)) < 0.05


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_demonstrations_are_no_part_of_the_request(adapter: Any) -> None:
    demos = [
        dspy.Example(request="Describe a cat.", reasoning="It purrs.", answer="A cat sleeps."),
        dspy.Example(request="Describe a dog.", answer="A dog runs."),
    ]
    lm = ReaderLM(CERTAIN)
    program = dspy.ChainOfThought(Answering.with_instructions(SEED))
    program.predict.demos = demos
    with dspy.context(lm=lm, adapter=adapter()):
        assert program(request="Describe a tram.").answer
    taken = take_apart(lm.seen[0])
    assert taken.request == "Describe a tram."
    assert "[[" not in taken.standing
    assert "A cat sleeps." in taken.standing
    assert mean_of(adapter, SEED, demos) < mean(SEED) + 0.05


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_fields_of_other_types_can_be_parsed(adapter: Any) -> None:
    with dspy.context(lm=ReaderLM(CERTAIN), adapter=adapter()):
        said = dspy.Predict(Judging)(request="Describe a tram.")
    assert said.topics
    assert isinstance(said.n_words, int)
    assert isinstance(said.harmless, bool)


@pytest.mark.parametrize("adapter", [None, *ADAPTERS])
@pytest.mark.parametrize(
    "options", [{}, {"max_chars": 900, "additional_instructions": "Be brief."}]
)
def test_the_proposer_gets_a_new_instruction(adapter: Any, options: Any) -> None:
    lm = ReaderLM(CERTAIN)
    propose = proposals.InstructionProposer(adapter=adapter and adapter(), **options)
    with dspy.context(lm=lm):
        new = propose({"system": OLD}, {"system": records(3)}, ["system"])
    assert infer_role(take_apart(lm.seen[0])) == "reflect"
    assert len(take_apart(lm.seen[0]).traces) == 3
    assert new == {"system": NEW}


def test_gepa_of_dspy_runs_and_finds_better_instructions() -> None:
    careful = TextReader(reader_with(vague_rate=0, wrong_rate=0))
    train = [
        dspy.Example(request=e["prompt"], whole=e).with_inputs("request") for e in DATA["train"]
    ]

    def metric(gold: Any, pred: Any, *_: Any, **__: Any) -> Any:
        points, feedback = score(gold.whole, pred.answer)
        return dspy.Prediction(score=points, feedback=feedback)

    lm = ReaderLM(careful)
    with dspy.context(lm=lm):
        optimiser = dspy.GEPA(metric=metric, max_metric_calls=150, reflection_lm=lm, seed=1)
        best = optimiser.compile(
            dspy.Predict(Answering.with_instructions(SEED)), trainset=train, valset=train[:20]
        )
    assert any(infer_role(take_apart(asked)) == "reflect" for asked in lm.seen)
    assert mean(best.signature.instructions) > mean(SEED)
