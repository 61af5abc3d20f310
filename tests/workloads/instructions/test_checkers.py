import json
import re
from typing import Any

import pytest

from flashevolve.workloads.instructions.checkers import CHECKERS, check

CASES: list[tuple[str, dict[str, Any], str, str, str]] = [
    ("minimum_words", {"n": 4}, "one two three four", "one two three", "at least 4 words"),
    ("maximum_words", {"n": 3}, "one two three", "one two three four", "at most 3 words"),
    ("no_commas", {}, "a calm day.", "a day, a night", "no commas and no semicolons"),
    ("lowercase", {}, "all small", "Not all small", "must be lowercase"),
    ("keywords", {"words": ["oak"]}, "An oak, an OAK.", "An oak, oaken.", "at least twice"),
    ("forbidden_word", {"word": "nice"}, "a nicer day", "a Nice day", '"nice" must not appear'),
    ("bullets", {"n": 2}, "* a\n* b", "- a\n- b", 'exactly 2 bullet lines.*"\\* "'),
    ("sentences", {"n": 2}, "One is. Two is!", "One is.", "exactly 2 sentences"),
    ("paragraphs", {"n": 2}, "a\n***\nb", "a\n\nb", 'exactly 2 paragraphs.*"\\*\\*\\*"'),
    ("title", {}, "<<A day>>\nText.", "# A day\nText.", 'between "<<" and ">>"'),
    ("quoted", {}, '"All of it."', '"All" of it.', "double quotation marks"),
    ("starts_with", {"phrase": "In short"}, "In short it is.", "It is.", "start with the phrase"),
    ("ends_with", {"phrase": "The end"}, "Text.\nThe end", "Text. The end", "very last line"),
    ("postscript", {}, "Text.\nP.S. More.", "Text.\nPS: More.", 'begin with "P.S."'),
    ("json_object", {}, '{"answer": "a"}', '{"text": "a"}', 'under the key "answer"'),
]


@pytest.mark.parametrize(
    ("kind", "parameters", "good", "bad", "rule"), CASES, ids=[c[0] for c in CASES]
)
def test_a_checker_passes_good_answers_and_states_its_rule_on_bad_ones(
    kind: str, parameters: dict[str, Any], good: str, bad: str, rule: str
) -> None:
    constraint = {"kind": kind, **parameters}
    assert check(good, constraint).passed
    verdict = check(bad, constraint)
    assert not verdict.passed
    assert re.search(rule, verdict.feedback)


def test_every_checker_has_a_case() -> None:
    assert {case[0] for case in CASES} == set(CHECKERS)


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
def test_an_empty_answer_meets_no_constraint(
    case: tuple[str, dict[str, Any], str, str, str],
) -> None:
    assert not check("", {"kind": case[0], **case[1]}).passed


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
def test_praise_does_not_give_the_rule_away(
    case: tuple[str, dict[str, Any], str, str, str],
) -> None:
    praise = check(case[2], {"kind": case[0], **case[1]}).feedback
    assert "must" not in praise
    assert '"' not in praise


def test_title_and_postscript_do_not_count_as_words() -> None:
    constraint = {"kind": "minimum_words", "n": 4}
    assert not check("<<A title>>\none two three\nP.S. four five", constraint).passed
    assert check("<<A title>>\none two three four\nP.S. five", constraint).passed


def test_nothing_may_follow_the_closing_phrase() -> None:
    constraint = {"kind": "ends_with", "phrase": "The end"}
    assert not check("Text.\nThe end\nReally.", constraint).passed
    assert not check("Text.\nThe end.", constraint).passed


def test_a_semicolon_counts_as_a_comma() -> None:
    assert not check("a day; a night", {"kind": "no_commas"}).passed


@pytest.mark.parametrize("answer", ["[1]", "text", json.dumps({"answer": 3}), '{"answer": " "}'])
def test_only_an_object_with_text_is_a_json_answer(answer: str) -> None:
    assert not check(answer, {"kind": "json_object"}).passed
