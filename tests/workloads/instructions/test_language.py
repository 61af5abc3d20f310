import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashevolve.workloads.instructions.language import LANGUAGES, language

OF_IFEVAL = (
    "en es pt ar hi fr ru de ja it bn uk th ur ta te bg ko pl he fa vi ne sw kn mr gu pa ml fi"
)


def test_all_languages_of_the_benchmark_can_be_asked_for() -> None:
    assert set(OF_IFEVAL.split()) <= set(LANGUAGES)


@settings(deadline=None)  # the first call loads a library
@given(st.text(max_size=60))
def test_any_text_has_a_known_language_or_none_and_always_the_same(text: str) -> None:
    found = language(text)
    assert found is None or found in LANGUAGES
    assert language(text) == found


@pytest.mark.parametrize("text", ["", " \n", "12 + 30 = 42", "***", "😀"])
def test_without_letters_there_is_no_language(text: str) -> None:
    assert language(text) is None


def test_capitals_change_no_language() -> None:
    text = "the children like the old trains most of all"
    assert language(text) == language(text.upper()) == "en"
