import random
import string

import pytest

from flashevolve.simulate.writing.lexicon import OPENERS, RICH, Limits, Picker, lexicon


@pytest.mark.parametrize("letter", string.ascii_lowercase)
def test_a_banned_letter_leaves_words_of_every_kind(letter: str) -> None:
    limits = Limits(letters=frozenset({letter}))
    for pool in vars(lexicon(limits)).values():
        assert pool
        assert all(letter not in word for word in pool), pool


@pytest.mark.parametrize("n", [4, 5, 8])
def test_short_words_are_found(n: int) -> None:
    for pool in vars(lexicon(Limits(n_letters=n))).values():
        assert max(map(len, pool)) <= n


def test_banned_words_are_left_out() -> None:
    words = lexicon(Limits(banned=frozenset({"the", "house"})))
    assert "the" not in words.determiners
    assert "house" not in words.nouns


def test_with_fresh_words_none_comes_twice_while_there_are_others() -> None:
    nouns = lexicon(Limits()).nouns
    picker = Picker(lexicon(Limits()), random.Random(1), fresh=True)
    picked = [picker.pick(nouns) for _ in nouns]
    assert sorted(picked) == sorted(nouns)


def test_there_is_a_rich_word_and_an_opener_for_every_letter() -> None:
    assert sorted(OPENERS) == sorted(RICH) == list(string.ascii_lowercase)
    assert all(letter in word for letter, word in RICH.items())
