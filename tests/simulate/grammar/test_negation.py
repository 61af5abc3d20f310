import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.simulate.grammar.negation import forbids
from flashevolve.simulate.statements import statement
from tests.simulate.grammar.asked import slots


@pytest.mark.parametrize(
    ("text", "forbidden"),
    [
        ('Use "x".', False),
        ('Never use "x".', True),
        ('Never go without "x".', False),
        ('"x" is wrong.', True),
        ('"x" must not stand there.', True),
        ('Use "x" without blanks.', False),
        ('Do not fail to use "x".', False),
        ('Do not, whatever happens, use "x".', True),
        ('Use neither "y" nor "x".', True),
    ],
)
def test_negations_are_counted(text: str, forbidden: bool) -> None:
    said = statement(text)
    at = said.normal.index(f"@{[one.strip() for one in said.literals].index('x')}")
    assert forbids(said.normal, at) is forbidden


@given(st.integers(min_value=0, max_value=7))
def test_an_even_number_of_negations_asks_and_an_odd_one_forbids(n: int) -> None:
    text = "use " + "avoid " * n + "@0"
    assert forbids(text, text.index("@")) is (n % 2 == 1)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Do not answer in JSON.", {}),
        ("It is wrong to return a JSON object.", {}),
        ("Answer in plain text instead of JSON.", {}),
        ("Put nothing before the JSON object.", {"format": "json", "json style": "bare"}),
        ("Do not use exactly 3 bullets.", {}),
        ("Exactly 3 bullets are not allowed.", {}),
        ("Do not write at least 4 paragraphs.", {"atmost paragraph": 3}),
        ("Do not write more than 4 paragraphs.", {"atmost paragraph": 4}),
        ("Without commas, write 3 sentences.", {"exactly sentence": 3, "ban": ","}),
        ("Do not repeat the request.", {}),
        ("Do not answer in German.", {}),
        ('Never end with "Bye".', {}),
        ('Do not begin every sentence with "So".', {}),
        ('Do not begin every line with "> ".', {}),
        ("Do not write in lower case.", {}),
        ("Do not answer with yes or no.", {}),
        ("Answer with yes, no or maybe.", {"choice": "asked"}),
    ],
)
def test_what_is_forbidden_is_not_asked_for(text: str, wanted: dict[str, object]) -> None:
    assert slots(text) == wanted
