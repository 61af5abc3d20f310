import random
import re

import pytest

from flashevolve.workloads.instructions.drawing import Deck, draw
from flashevolve.workloads.instructions.registry import CHECKERS
from flashevolve.workloads.instructions.vocabulary import SPLITS
from flashevolve.workloads.instructions.wording import (
    FORMS,
    QUESTIONS,
    USUAL,
    WORDINGS,
    enumeration,
    ways,
)

MARKS = ("***", "* ", "[", "P.S.", "<<", "Section", "## ", "**", "```", "-- ", "> ", "---", "|")
"""Details of form that a terse wording leaves to feedback."""


def sentences_about(kind: str, *, full: bool) -> list[tuple[str, dict[str, object]]]:
    found = []
    for split, words in SPLITS.items():
        if kind == "letters:acrostic" and split != "test":
            continue
        rng = random.Random(split)
        kwargs = draw(kind, rng, Deck(words, rng), "Describe a bridge.")
        found += [(way, kwargs) for way in ways(kind, kwargs, full=full)]
    return found


def test_every_kind_can_be_asked_for_in_two_ways_one_of_them_full() -> None:
    assert set(WORDINGS) == set(CHECKERS)
    for kind, wording in WORDINGS.items():
        assert wording.full, kind
        assert len(set(wording.terse + wording.full)) >= 2, kind


@pytest.mark.parametrize("kind", WORDINGS)
@pytest.mark.parametrize("full", [False, True])
def test_a_wording_is_a_sentence_and_names_what_is_drawn(kind: str, full: bool) -> None:
    for way, kwargs in sentences_about(kind, full=full):
        assert re.fullmatch(r"[A-Z].*[.]", way)
        assert "{" not in way
        for key, value in kwargs.items():
            shown = value if isinstance(value, list) else [value]
            if full and key not in ("language", "nth_paragraph", "mark") and value != "less than":
                assert all(str(one) in way for one in shown), (way, kwargs)


@pytest.mark.parametrize("kind", [kind for kind, wording in WORDINGS.items() if wording.terse])
def test_a_terse_wording_leaves_marks_and_brackets_out(kind: str) -> None:
    for way in WORDINGS[kind].terse:
        assert not any(mark in way for mark in MARKS), way


@pytest.mark.parametrize("kind", USUAL)
def test_an_unusual_detail_is_never_left_out(kind: str) -> None:
    unusual = dict.fromkeys(USUAL[kind], "Part")
    kwargs = {"num_sections": 3, **USUAL[kind]}
    assert ways(kind, kwargs, full=False) != ways(kind, kwargs, full=True)
    for way in ways(kind, {**kwargs, **unusual}, full=False):
        assert "Part" in way


@pytest.mark.parametrize(
    ("kind", "kwargs", "shown"),
    [
        (
            "length_constraints:number_words",
            {"num_words": 9, "relation": "less than"},
            "fewer than 9",
        ),
        ("language:response_language", {"language": "pt"}, "Portuguese"),
        ("signs:forbidden", {"sign": ";"}, "semicolon"),
        ("signs:end_mark", {"mark": "!"}, "an exclamation mark"),
        ("keywords:existence", {"keywords": ["a", "b", "c"]}, '"a", "b" and "c"'),
    ],
)
def test_parameters_are_put_into_words(kind: str, kwargs: dict[str, object], shown: str) -> None:
    assert shown in ways(kind, kwargs, full=False)[0]


def test_one_word_is_listed_alone() -> None:
    assert enumeration(["oak"]) == '"oak"'


def test_topics_hold_no_word_that_may_be_forbidden() -> None:
    for words in SPLITS.values():
        said = " ".join((*FORMS, *QUESTIONS, *words.subjects, *words.phrases, *words.closings))
        assert not set(words.common) & set(re.findall(r"\w+", said.lower()))


def test_questions_are_asked_and_other_topics_stated() -> None:
    assert all(form.endswith("?") for form in QUESTIONS)
    assert all(form.endswith(".") for form in FORMS)
