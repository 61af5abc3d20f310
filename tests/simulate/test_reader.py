"""The reader is honest: text helps by what it says, and by nothing else."""

import random
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.llm.messages import system, user
from flashevolve.simulate.model import Reader
from flashevolve.simulate.reader import TextReader
from flashevolve.simulate.simple_reader import SimpleReader
from flashevolve.workloads.instructions import generate, score
from tests.simulate.instructing import (
    DATA,
    ORACLE,
    READER,
    SEED,
    answer,
    fenced,
    mean,
    reflection_prompt,
)
from tests.simulate.usual import USUAL, reader_with


def test_a_prompt_that_states_the_house_rules_beats_the_bare_one_clearly() -> None:
    many = generate(1, 0, 0, 1000)["test"]
    assert 0.5 <= mean(SEED, many) <= 0.6
    assert 0.85 <= mean(ORACLE, many) <= 0.95


def test_the_order_of_statements_does_not_matter() -> None:
    backwards = "\n".join(reversed(ORACLE.splitlines()))
    assert abs(mean(backwards) - mean(ORACLE)) < 0.03


@pytest.mark.parametrize("advice", ["Think step by step.", "You are an expert.", "Do your best!"])
def test_advice_without_content_earns_nothing(advice: str) -> None:
    assert abs(mean(f"{SEED}\n{advice}") - mean(SEED)) < 0.03


def test_naming_the_parts_of_a_text_prevents_lapses_and_teaches_nothing() -> None:
    """A limit of the reader: words without content earn through `support`, and only so."""
    many = generate(1, 0, 0, 600)["test"]
    reminders = "Bullets. Titles. Postscripts. Paragraphs. Placeholders. Headings. Signatures."
    gain = mean(f"{SEED}\n{reminders}", many) - mean(SEED, many)
    assert 0 < gain < 0.2 * (mean(ORACLE, many) - mean(SEED, many))
    deaf = TextReader(reader_with(support=0))
    assert mean(f"{SEED}\n{reminders}", many, 0, deaf) < mean(SEED, many, 0, deaf) + 0.015


def test_training_answers_pasted_into_the_prompt_give_no_test_gain() -> None:
    pasted = "\n\n".join(f"{e['prompt']}\n{answer(ORACLE, e)}" for e in DATA["train"][:12])
    assert mean(f"{SEED}\n{pasted}") < mean(SEED) + 0.01


def test_a_pasted_answer_helps_on_its_own_example() -> None:
    # Paired by example, the difference has a standard error below 0.017.
    many = generate(1, 0, 0, 600)["test"]
    own = [score(e, answer(f"{SEED}\n{e['prompt']}\n{answer(ORACLE, e)}", e))[0] for e in many]
    assert fmean(own) > mean(SEED, many) + 0.05


def test_a_contradictory_prompt_hurts() -> None:
    opposite = (
        'Begin every bullet line with "+ ".\nPut any title between "[" and "]".\n'
        'A postscript begins with "PPS".\nBetween paragraphs put a separator line "---".\n'
        'Begin every heading line with "# ".\nA signature begins with "by ".\n'
        "Write every placeholder in round brackets."
    )
    assert mean(f"{ORACLE}\n{opposite}") < mean(ORACLE) - 0.08


def test_an_overlong_prompt_hurts() -> None:
    filler = "\n".join(
        f"The archive of year {1900 + k} holds maps of region {k}." for k in range(50)
    )
    assert mean(f"{ORACLE}\n{filler}") < mean(ORACLE) - 0.08


def test_a_rule_for_one_kind_of_request_hurts_where_it_is_said_to_hold_always() -> None:
    assert mean(f"{ORACLE}\nGive exactly 4 bullet points.") < mean(ORACLE) - 0.015


def test_the_same_draw_gives_the_same_answer_and_another_draw_sometimes_another() -> None:
    examples = DATA["test"][:40]
    assert [answer(SEED, e, 1) for e in examples] == [answer(SEED, e, 1) for e in examples]
    n_different = sum(answer(SEED, e, 1) != answer(SEED, e, 2) for e in examples)
    assert 0 < n_different < 40


def test_without_fickleness_every_draw_gives_the_same_answer() -> None:
    steady = TextReader(reader_with(fickleness=0, misread_rate=0))
    for example in DATA["test"][:40]:
        assert answer(SEED, example, 1, steady) == answer(SEED, example, 2, steady)


def test_repeated_answers_neither_improve_nor_decay() -> None:
    early = fmean(mean(SEED, DATA["test"][:100], draw) for draw in range(4))
    late = fmean(mean(SEED, DATA["test"][:100], draw) for draw in range(4, 8))
    assert abs(early - late) < 0.03


def test_an_unchanged_child_passes_a_strict_gate_rarely_and_fails_it_as_often() -> None:
    rng = random.Random(3)
    better = worse = 0
    for k in range(150):
        batch = rng.sample(DATA["train"], 3)
        one, other = mean(SEED, batch, f"a{k}"), mean(SEED, batch, f"b{k}")
        better, worse = better + (other > one), worse + (other < one)
    assert 0 < better < 0.3 * 150
    assert abs(better - worse) < 20


CONFUSED = TextReader(reader_with(misread_rate=1, wrong_rate=1))
CAREFUL = TextReader(reader_with(vague_rate=0, wrong_rate=0, overreach_rate=0))
"""A better reflector than the default one, so that what feedback gives shows in fewer samples."""


def _stranger(example: Any, rng: random.Random) -> Any:
    kinds = set(example["instruction_id_list"])
    others = [e for e in DATA["train"] if kinds.isdisjoint(e["instruction_id_list"])]
    return rng.choice(others)


def _mean_of_children(feedback_of: str, n: int = 40) -> float:
    """Mean test score of children of the bare prompt, reflected from true, other or no feedback."""
    rng = random.Random(11)
    means: list[float] = []
    for k in range(n):
        shown: list[tuple[Any, str, str]] = []
        for example in rng.sample(DATA["train"], 3):
            source = example if feedback_of == "own" else _stranger(example, rng)
            said = "" if feedback_of == "none" else score(source, answer(SEED, source, k))[1]
            shown.append((example, answer(SEED, example, k), said))
        reply = CAREFUL.answer([user(reflection_prompt(SEED, shown))], random.Random(k))
        means.append(mean(fenced(reply), DATA["test"][:60], k))
    return fmean(means)


def test_a_reflection_on_feedback_beats_a_blind_one() -> None:
    # Means of 40 children; the difference of two of them has a standard error of 0.007.
    assert _mean_of_children("own") > _mean_of_children("none") + 0.01


@pytest.mark.slow
def test_reflection_needs_feedback_that_belongs_to_the_examples() -> None:
    # Means of 160 children; the difference of two of them has a standard error of 0.0035.
    true, shuffled, blank = (_mean_of_children(kind, 160) for kind in ("own", "other", "none"))
    assert true > blank + 0.02
    assert abs(shuffled - blank) < 3 * 0.0035


def test_a_conversation_without_text_still_gets_an_answer() -> None:
    assert READER.answer([system(""), user("")], random.Random(1)).strip()


FRAGMENTS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            *('Meet me @5pm.', '@21savage', 'A@2', '@0', '"@3"', '\x001\x00', '\x00', '\ue0001'),
            *('9' * 5000, '9' * 5000 + 'th', 'Use 7777777777 bullets.', 'Do not use "* ".'),
            *('# Example 1\n## Inputs\n', '## Feedback\n', '```\n', '\n', '\ud800', '{"a": 1}'),
            *("Improve the instructions.", "Give a verdict as JSON: accept, patch or discard."),
        ]
    ),
)  # fmt: skip
"""Pieces of messages that are hard to read, and any text."""


@pytest.mark.parametrize(
    "reader", [READER, SimpleReader(USUAL), CONFUSED], ids=["reader", "simple", "confused"]
)
@given(st.lists(FRAGMENTS, max_size=6), st.lists(FRAGMENTS, max_size=6), st.integers(0, 99))
def test_any_message_gets_an_answer(
    reader: Reader, standing: list[str], asked: list[str], draw: int
) -> None:
    said = [system(" ".join(standing)), user(" ".join(asked))]
    assert isinstance(reader.answer(said, random.Random(draw)), str)


def test_a_rate_outside_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match="lapse_rate must be between 0 and 1, got 2"):
        reader_with(lapse_rate=2)
    with pytest.raises(ValueError, match="capacity_statements must be at least 1, got 0"):
        reader_with(capacity_statements=0)
