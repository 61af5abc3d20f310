import random

from hypothesis import given
from hypothesis import strategies as st

from flashevolve.simulate.writing.lexicon import Limits, Picker, lexicon
from flashevolve.simulate.writing.sentences import Sentence, compose


@given(st.integers(1, 60), st.sampled_from(["", "Quietly"]), st.integers(0, 999))
def test_a_sentence_has_exactly_the_wanted_words(n: int, opener: str, seed: int) -> None:
    picker = Picker(lexicon(Limits()), random.Random(seed))
    made = compose(n, picker, opener=opener)
    assert len(made.text().split()) == n
    assert made.text()[0].isupper()
    assert made.text().endswith(".")
    assert all(place < n for place in made.nouns)
    assert not opener or made.words[0] == opener


def test_signs_stand_after_their_words() -> None:
    made = Sentence(["One", "two"], signs={0: ";"}, end="?")
    assert made.text() == "One; two?"
