import pytest

from flashevolve.simulate.grammar.clauses import clauses, condition_of
from flashevolve.simulate.statements import statement
from tests.simulate.grammar.asked import slots


def texts(text: str) -> list[str]:
    said = statement(text)
    return [clause.text for clause in clauses(said.normal, said.literals)]


def test_a_report_after_a_semicolon_asks_for_nothing() -> None:
    assert slots("There must be exactly 4 bullets; 7 bullets were found.") == {"exactly bullet": 4}
    assert slots("The answer needs 40 words; it has 12 words.") == {"exactly word": 40}


def test_an_order_after_a_semicolon_asks_for_something() -> None:
    assert slots("Use 40 words; avoid commas.") == {"exactly word": 40, "ban": ","}


def test_what_explains_a_rule_is_no_rule() -> None:
    assert slots("Use at least 3 sentences, where a sentence of one word counts.") == {
        "atleast sentence": 3
    }


def test_a_clause_without_a_subject_speaks_about_the_one_before() -> None:
    text = 'There must be 3 bullets and each must begin with "~ ".'
    assert slots(text) == {"exactly bullet": 3, "marker": "~ "}
    assert len(texts(text)) == 2


def test_a_clause_may_speak_about_what_the_condition_names() -> None:
    assert slots('If there is a postscript, let it begin with "PPS".') == {
        "postscript mark": "PPS",
        "postscript": "yes",
    }


def test_the_same_phrase_is_the_one_that_was_named() -> None:
    assert slots('Start with the phrase "So it is" and end with the same phrase.') == {
        "start": "So it is",
        "end": "So it is",
    }


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("When commas are banned, use dashes.", "comma are avoid"),
        ("In a text of 4 paragraphs, begin the first with a name.", ""),
        ("In every sentence, name the town.", ""),
        ("Use commas, if any.", ""),
    ],
)
def test_a_condition_is_what_an_opening_clause_says(text: str, condition: str) -> None:
    assert condition_of(statement(text).normal)[0].removeprefix("when ").strip() == condition


@pytest.mark.parametrize(
    ("text", "forbids"),
    [("Use no commas.", True), ("Write in French and in no other language.", False)],
)
def test_no_other_is_no_ban(text: str, forbids: bool) -> None:
    said = statement(text)
    assert any(c.negative for c in clauses(said.normal, said.literals)) is forbids
