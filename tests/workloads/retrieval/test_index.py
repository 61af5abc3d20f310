import asyncio
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashevolve.errors import ConfigError, DataError
from flashevolve.simulate.loop import run_virtual
from flashevolve.workloads.retrieval import index as module
from flashevolve.workloads.retrieval.index import Index, index_of
from flashevolve.workloads.retrieval.passages import Passage

PAGES = (
    Passage("Ravelin", "A film. It was directed by Anna Bolt."),
    Passage("Anna Bolt", "Anna Bolt was born in Tessel."),
    Passage("Tessel", "A town on the river Wey."),
)
words = st.lists(st.sampled_from(["film", "town", "river", "bolt", "wey"]), max_size=5)


def test_the_page_that_a_query_names_comes_first() -> None:
    index = Index(PAGES)
    assert index.search("where was ANNA bolt born", 2)[0] == PAGES[1]
    assert [p.title for p in index.search("the river in Tessel", 7)] == ["Tessel", "Anna Bolt"]


@pytest.mark.parametrize("query", ["", "?!", "zebra", "the of and", "a"])
def test_a_query_that_names_nothing_finds_nothing(query: str) -> None:
    assert Index(PAGES).search(query, 3) == []


@given(st.lists(words, min_size=1, max_size=8), words, st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_a_shorter_result_is_the_beginning_of_a_longer_one(
    texts: list[list[str]], query: list[str], k: int
) -> None:
    index = Index([Passage(f"t{n}", " ".join(text)) for n, text in enumerate(texts)])
    everything = index.search(" ".join(query), 100)
    assert index.search(" ".join(query), k) == everything[:k]
    assert len(everything) == len(set(everything))
    assert all(set(p.text.split()) & set(query) for p in everything)


def test_of_passages_that_match_alike_the_first_ones_are_taken() -> None:
    same = [Passage(f"t{n}", "a river") for n in range(50)]
    assert Index(same).search("river", 7) == same[:7]


def test_an_index_is_built_once_for_the_same_passages() -> None:
    assert index_of(PAGES) is index_of(tuple(PAGES))
    assert index_of(PAGES[:2]) is not index_of(PAGES)


@pytest.mark.parametrize("run", [asyncio.run, run_virtual])
def test_a_large_index_is_searched_in_a_thread_with_the_same_result(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index(PAGES)
    inline = run(index.find("Tessel", 3))
    monkeypatch.setattr(module, "INLINE_PASSAGES", 0)
    assert run(index.find("Tessel", 3)) == inline == index.search("Tessel", 3)


def test_a_missing_package_is_one_line_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(
        ConfigError, match=r"package bm25s .*In the clone: pip install '\.\[retrieval\]'$"
    ):
        Index(PAGES)


def test_building_an_index_says_nothing_even_where_all_loggers_are_heard() -> None:
    code = (
        "import logging; logging.basicConfig(level=logging.DEBUG)\n"
        "from flashevolve.workloads.retrieval import Index, Passage\n"
        "Index([Passage('a', 'river')])\n"
        "assert logging.getLogger().level == logging.DEBUG"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "bm25s" not in done.stderr


@pytest.mark.parametrize("passages", [(), (Passage("x", "the"), Passage("", ""))])
def test_passages_without_words_are_refused(passages: tuple[Passage, ...]) -> None:
    with pytest.raises(
        DataError, match=rf"^expected passages with words .*none in {len(passages)} p"
    ):
        Index(passages)


def test_passages_without_words_among_others_are_never_found() -> None:
    index = Index([Passage("", ""), *PAGES])
    assert index.search("Ravelin", 4) == [PAGES[0]]
    assert index.search("", 4) == []
