import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.simulate.writing.sizes import Bounds, bounds, lengths, n_sentences, wanted
from tests.simulate.writing.written import habits, planned, written

RNG = random.Random(1)


@given(
    st.none() | st.integers(1, 90),
    st.none() | st.integers(91, 150),
    st.integers(1, 9),
    st.integers(0, 99),
)
def test_a_target_keeps_its_bounds(low: int | None, high: int | None, k: int, seed: int) -> None:
    wanted = Bounds(low, high, k, 1)
    target = wanted.target(random.Random(seed))
    if target is None:
        assert low is high is None
        assert k == 1
    elif k < 3 or high is None:
        assert wanted.hold(target)


def test_contradictory_bounds_keep_one_of_the_two() -> None:
    targets = {Bounds(90, 3, 1, 1).target(random.Random(k)) for k in range(20)}
    assert {t is not None and t >= 90 for t in targets} == {True, False}


def test_many_different_words_need_a_longer_text() -> None:
    assert (bounds(planned("Use at least 40 different words.")).low or 0) > 50


def test_at_most_is_met_without_going_to_the_limit() -> None:
    plan = planned("Use fewer than 4 exclamations. Use at least 3 questions.")
    assert wanted(plan, "exclamation", RNG) == 1
    assert wanted(plan, "question", RNG) in (3, 4)


def test_sentences_are_as_many_as_their_parts() -> None:
    assert n_sentences(planned("Describe a tram."), 0, habits(), RNG) is None
    assert n_sentences(planned("Ask 6 questions."), 0, habits(), RNG) == 6
    assert n_sentences(planned("Write at least 8 sentences."), 0, habits(), RNG) == 8


@given(st.integers(1, 12), st.integers(1, 200), st.integers(0, 99))
def test_lengths_add_up_where_there_are_words_enough(n: int, n_words: int, seed: int) -> None:
    plan = planned("Describe a tram.")
    each = lengths(plan, n, 0, n_words, habits(), random.Random(seed))
    assert len(each) == n
    assert sum(each) == max(n, n_words)


def test_growing_sentences_grow_within_the_number_of_words() -> None:
    plan = planned("Let the sentences grow longer and longer.")
    each = lengths(plan, 4, 0, 50, habits(), RNG)
    assert each == sorted(set(each))
    assert sum(each) == 50


def test_no_sentence_exceeds_the_bound() -> None:
    plan = planned("Use at most 7 words in every sentence.")
    assert max(lengths(plan, None, 0, 80, habits(), RNG)) <= 7


@pytest.mark.parametrize(
    "request_text",
    [
        "Include at least 1000000 questions.",
        "Write at least 99999999999999999999 words.",
        "Add a table of 3000000 rows.",
        "Use 5000000 bullets and 5000000 paragraphs.",
        "Write 900000 lines. Every line must start with 3 more spaces than the line above.",
        "Write exactly 900000 sentences. Each sentence has more words than the one before.",
        "Every sentence has at least 90000 words. Write 90000 sentences.",
        'Start paragraph 70000000 with "So".',
        'Use the word "fox" 900000 times.',
    ],
)
def test_no_number_makes_an_answer_longer_than_can_be_served(request_text: str) -> None:
    assert 200 < len(written(request_text)) < 500_000
