import json
from dataclasses import replace
from random import Random
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.errors import ConfigError
from flashevolve.llm.messages import Reply, Request, assistant, system, user
from flashevolve.replies.fences import fenced_text
from flashevolve.simulate.lengths import draw_tokens
from flashevolve.simulate.loop import run_virtual
from flashevolve.simulate.model import SimulatedModel
from flashevolve.simulate.prefix import count_tokens
from flashevolve.simulate.shapes import ShapeReader, ShapeSettings, is_success, pass_rate
from flashevolve.simulate.world import load_world

SHAPES = load_world().shapes
IFBENCH = SHAPES["ifbench"]
PRESET = "h100-qwen3-8b"
REPAIR = 'Reply with one JSON object: {"verdict": "accept" | "patch", "components": {}}.'


def ask(shape: str, *texts: str, seed: int = 0) -> list[Reply]:
    async def main() -> list[Reply]:
        model = SimulatedModel.from_preset(f"{PRESET}/{shape}", {})
        return [
            await model.complete(
                Request(messages=(user(text),), seed=seed, max_output_tokens=32_768)
            )
            for text in texts
        ]

    return run_virtual(main())


def test_the_world_has_the_four_published_workloads() -> None:
    assert list(SHAPES) == ["ifbench", "hotpotqa", "hover", "aime"]


@given(st.floats(0.0001, 0.34), st.integers(1, 10))
def test_the_success_rate_gives_the_gate_rate_that_was_asked_for(rate: float, n: int) -> None:
    if rate > pass_rate(0.5, n):
        return
    shape = replace(IFBENCH, minibatch=n, gate_rate=rate)
    assert 0 < shape.success_rate <= 0.5
    assert pass_rate(shape.success_rate, n) == pytest.approx(rate, rel=1e-6)


def test_the_pass_rate_of_one_example_is_a_success_against_a_failure() -> None:
    assert pass_rate(0.1, 1) == pytest.approx(0.1 * 0.9)


@pytest.mark.parametrize("name", SHAPES)
def test_hashes_of_outputs_pass_the_gate_as_often_as_the_shape_says(name: str) -> None:
    shape, rng, n = SHAPES[name], Random(0), 10_000
    success_rate = shape.success_rate

    def successes() -> int:
        texts = (f"{rng.getrandbits(64):016x}" for _ in range(shape.minibatch))
        return sum(is_success(text, success_rate) for text in texts)

    passed = fmean(successes() < successes() for _ in range(n))
    noise = (shape.gate_rate * (1 - shape.gate_rate) / n) ** 0.5
    assert abs(passed - shape.gate_rate) < 4 * noise


@pytest.mark.parametrize("name", SHAPES)
def test_calls_are_as_long_on_average_as_the_shape_says(name: str) -> None:
    shape = SHAPES[name]
    questions = [shape.question(name, f"train {k}") for k in range(800)]
    mean = fmean(reply.tokens_out or 0 for reply in ask(name, *questions))
    assert mean * shape.calls_per_evaluation == pytest.approx(shape.tokens_per_evaluation, rel=0.12)
    reflections = [f"Rewrite text {k}." for k in range(800)]
    mean = fmean(reply.tokens_out or 0 for reply in ask(name, *reflections))
    assert mean == pytest.approx(shape.reflection_tokens, rel=0.12)


def test_a_question_has_the_shapes_size_and_tells_itself_from_others() -> None:
    for name, shape in SHAPES.items():
        one, other = shape.question(name, "train 1"), shape.question(name, "train 2")
        assert one != other
        assert count_tokens(one.encode()) == pytest.approx(shape.input_tokens, abs=15)


def test_a_long_example_is_long_in_each_of_its_calls() -> None:
    def tokens(k: int, call: int) -> int:
        lengths = IFBENCH.lengths([user(IFBENCH.question("ifbench", f"{k}"))], 32_768)
        messages = [system(f"Call {call}."), user(IFBENCH.question("ifbench", f"{k}"))]
        return draw_tokens(lengths, messages, "sample")

    firsts = [tokens(k, 1) for k in range(400)]
    seconds = [tokens(k, 2) for k in range(400)]
    median = sorted(firsts)[200]
    long = fmean(s for f, s in zip(firsts, seconds, strict=True) if f > median)
    short = fmean(s for f, s in zip(firsts, seconds, strict=True) if f <= median)
    assert long > 1.5 * short


def test_the_same_message_and_seed_give_the_same_reply_and_others_another() -> None:
    first, again = (ask("aime", "Rewrite.", seed=s)[0] for s in (1, 1))
    other = ask("aime", "Rewrite.", seed=2)[0]
    assert (first.text, first.tokens_out) == (again.text, again.tokens_out)
    assert other.text != first.text


def test_a_reply_is_a_new_text_in_a_fence() -> None:
    texts = {fenced_text(reply.text) for reply in ask("hover", *(f"Rewrite {k}" for k in "abc"))}
    assert len(texts) == 3


@pytest.mark.parametrize(("rate", "verdict"), [(1.0, "accept"), (0.0, "patch")])
def test_a_verdict_is_given_where_one_is_asked_for(rate: float, verdict: str) -> None:
    reader = ShapeReader(replace(IFBENCH, accept_rate=rate))
    corrected = [user(REPAIR), assistant("?"), user("That was unreadable.")]
    for messages in ([user(REPAIR)], corrected):
        answer = json.loads(reader.answer(messages, Random(0)))
        assert answer["verdict"] == verdict
        assert answer["components"]["system"].startswith("text ")


def test_each_of_several_texts_gets_a_verdict_of_its_own() -> None:
    question = '## Stale text 3\nA\n## Stale text 12\nB\nReply: {"verdicts": {"components": 1}}'
    answer = json.loads(ShapeReader(IFBENCH).answer([user(question)], Random(0)))
    assert answer["verdicts"].keys() == {"3", "12"}
    assert answer["verdicts"]["3"]["components"] != answer["verdicts"]["12"]["components"]


def test_an_unknown_shape_is_refused_in_one_line() -> None:
    with pytest.raises(
        ConfigError,
        match=r"^expected a shape among ifbench, hotpotqa, hover, aime, found 'hotpot'\. "
        r"Did you mean 'hotpotqa'\?$",
    ):
        SimulatedModel.from_preset(f"{PRESET}/hotpot", {})


def test_shapes_of_one_preset_share_its_machine() -> None:
    shared: dict[str, Any] = {}
    SimulatedModel.from_preset(f"{PRESET}/aime", shared)
    SimulatedModel.from_preset(PRESET, shared)
    assert list(shared) == [PRESET]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"calls_per_evaluation": 0}, "calls_per_evaluation must be at least 1, got 0"),
        ({"reflection_tokens": 0.5}, "reflection_tokens must be at least 1, got 0.5"),
        ({"sigma_sample": -1.0}, "sigma_sample must not be negative, got -1"),
        ({"sigma_example": 6.0}, "sigma_example must be at most 5, got 6"),
        ({"accept_rate": 1.5}, "accept_rate must be from 0 to 1, got 1.5"),
        ({"gate_rate": 0.0}, "gate_rate must be above 0 and at most 0.34375, .* got 0"),
        ({"gate_rate": 0.35}, "which coins reach on 3 examples, got 0.35"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(IFBENCH, **changes)


def test_what_a_proposal_costs_is_two_minibatches_a_reflection_and_its_share_of_sweeps() -> None:
    shape = ShapeSettings(
        calls_per_evaluation=2,
        tokens_per_evaluation=100.0,
        reflection_tokens=50.0,
        sigma_example=0.0,
        sigma_sample=0.0,
        input_tokens=0,
        n_train=3,
        n_val=10,
        minibatch=3,
        gate_rate=0.1,
        accept_rate=1.0,
        baseline_in_flight=1,
    )
    assert shape.tokens_per_step == pytest.approx(100 * (6 + 1) + 50)
