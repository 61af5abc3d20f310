"""The peer's own reflection prompts, from the installed package: no text of theirs stands here."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from gepa import optimize
from gepa.adapters.default_adapter.default_adapter import EvaluationResult
from gepa.optimize_anything import optimize_anything_reflection_prompt_template
from gepa.strategies.instruction_proposal import InstructionProposalSignature

from flashevolve.llm.messages import Message, user
from flashevolve.simulate.lessons import Trace
from flashevolve.simulate.prompt import take_apart
from flashevolve.simulate.reader import TextReader
from flashevolve.simulate.reflecting import reflect
from flashevolve.simulate.roles import current_text, infer_role
from flashevolve.workloads.instructions import score
from tests.simulate.instructing import DATA, FLAWLESS, SEED, mean
from tests.simulate.usual import reader_with

CERTAIN = TextReader(FLAWLESS)
OLD = "Answer the request.\nBe kind."
RULE = 'Each bullet line must begin with "* "; 0 such lines were found.'
REQUEST = "Describe a tram. Give exactly 3 bullet points."
NEW = reflect(OLD, [Trace(REQUEST, "", RULE)], random.Random(1), FLAWLESS).text
"""What a flawless reflection on such a failure gives."""


class Quiet:
    """A logger that keeps silent."""

    def log(self, message: str) -> None:
        pass


TEMPLATES = [None, optimize_anything_reflection_prompt_template]


def records(n: int, output: Any = "- The tram is old.") -> list[dict[str, Any]]:
    return [{"Inputs": REQUEST, "Generated Outputs": output, "Feedback": RULE}] * n


def prompt(shown: Sequence[Mapping[str, Any]], template: str | None = None, old: str = OLD) -> str:
    rendered = InstructionProposalSignature.prompt_renderer(
        {
            "current_instruction_doc": old,
            "dataset_with_feedback": shown,
            "prompt_template": template,
        }
    )
    assert isinstance(rendered, str)
    return rendered


def proposed(text: str, draw: int = 1) -> str:
    reply = CERTAIN.answer([user(text)], random.Random(draw))
    return str(InstructionProposalSignature.output_extractor(reply)["new_instruction"])


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("n", [1, 3])
def test_the_reflection_prompt_is_reflected_on(template: str | None, n: int) -> None:
    text = prompt(records(n), template)
    taken = take_apart([user(text)])
    assert infer_role(taken) == "reflect"
    assert current_text(taken) == OLD
    assert len(taken.traces) == n
    assert {trace.feedback.strip() for trace in taken.traces} == {RULE}
    assert proposed(text) == NEW


@pytest.mark.parametrize(
    "output",
    [
        'It reads:\n```json\n{"text": "old"}\n```\nThat is all.',
        "# My question\nInput: none.\n## The Answer of the Tram\nFeedback: fine.",
        {"reasoning": "It moves.", "answer": "- The tram is old."},
        ["- The tram", {"feedback": "none"}],
    ],
)
def test_what_stands_in_an_answer_is_no_part_of_the_prompt(output: Any) -> None:
    taken = take_apart([user(prompt(records(3, output)))])
    assert infer_role(taken) == "reflect"
    assert [trace.feedback.strip() for trace in taken.traces] == [RULE] * 3
    assert proposed(prompt(records(3, output))) == NEW


def test_inputs_of_several_fields_are_one_input() -> None:
    inputs = {"context": "Trams.", "answer": "Give bullets."}
    shown = [{"Inputs": inputs, "Generated Outputs": "a", "Feedback": RULE}]
    (trace,) = take_apart([user(prompt(shown))]).traces
    assert trace.inputs.split("\n") == ["", "Trams.", "Give bullets."]
    assert trace.output == "a"


def test_a_text_that_speaks_of_json_does_not_change_the_form_of_the_reply() -> None:
    old = 'Reply with a JSON object: {"answer": "..."}.'
    assert proposed(prompt(records(2), old=old)) == NEW.replace(OLD, old)


def test_the_new_text_holds_the_rule() -> None:
    assert NEW.startswith(f"{OLD}\n")
    assert '"* "' in NEW


def test_without_examples_nothing_is_learnt() -> None:
    assert proposed(prompt([])) == OLD


def test_the_peer_itself_finds_better_instructions_with_the_reader_as_its_models() -> None:
    careful = TextReader(reader_with(vague_rate=0, wrong_rate=0))
    by_request = {example["prompt"]: example for example in DATA["train"]}
    roles: Counter[str] = Counter()

    def said(asked: str | list[dict[str, Any]]) -> str:
        turns: list[dict[str, Any]]
        turns = [{"role": "user", "content": asked}] if isinstance(asked, str) else asked
        messages = [Message(role=turn["role"], content=turn["content"]) for turn in turns]
        roles[infer_role(take_apart(messages))] += 1
        return careful.answer(messages, random.Random(messages[-1].text))

    def evaluate(example: Any, response: str) -> EvaluationResult:
        points, feedback = score(by_request[example["input"]], response)
        return EvaluationResult(score=points, feedback=feedback)

    data = [{"input": one, "answer": "", "additional_context": {}} for one in by_request]
    result = optimize(
        seed_candidate={"system": SEED},
        trainset=data,
        valset=data[:20],
        task_lm=said,
        reflection_lm=said,
        evaluator=evaluate,
        max_metric_calls=200,
        logger=Quiet(),
        seed=1,
    )
    assert roles.keys() == {"answer", "reflect"}
    assert mean(result.best_candidate["system"]) > mean(SEED)
