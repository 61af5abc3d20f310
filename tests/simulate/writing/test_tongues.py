import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.simulate.terms import LANGUAGES
from flashevolve.simulate.writing.tongues import foreign_words
from flashevolve.workloads.instructions.language import language
from tests.simulate.writing.written import written

CODES = {
    "german": "de", "french": "fr", "spanish": "es", "italian": "it", "portuguese": "pt",
    "dutch": "nl",
}  # fmt: skip


def test_every_language_that_is_understood_can_be_written() -> None:
    assert set(CODES) | {"english"} == LANGUAGES


@pytest.mark.parametrize("name", CODES)
def test_a_detector_knows_the_language(name: str) -> None:
    texts = [written(f"Answer in {name.capitalize()}.", draw=draw) for draw in range(30)]
    assert [language(text) for text in texts] == [CODES[name]] * 30


@given(st.sampled_from(sorted(CODES)), st.integers(1, 30), st.integers(0, 99))
def test_a_sentence_has_about_the_wanted_words(name: str, n: int, seed: int) -> None:
    words = foreign_words(name, n, random.Random(seed)) or []
    assert len(words) == n if n > 5 else len(words) >= n


def test_other_languages_are_not_known() -> None:
    assert foreign_words("klingon", 8, random.Random(1)) is None
