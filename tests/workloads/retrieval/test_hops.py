import asyncio
from typing import Any

import pytest

from flashevolve.llm.messages import Reply
from flashevolve.workloads.retrieval.hops import Walker, found_of, search_feedback, shown, titles_of
from flashevolve.workloads.retrieval.index import Index
from flashevolve.workloads.retrieval.passages import Passage
from tests.fakes.searching import GOOD, Searcher

PAGES = (
    Passage("Ravel Inn", "It was directed by Anna Bolt."),
    Passage("Anna Bolt", "Anna Bolt is a person. The town of birth was Tessel."),
    Passage("Tessel", "Tessel is a town. The town is known for its lace."),
)
QUESTION = "What is the town known for in which the director of Ravel Inn was born?"
NAME = GOOD["second_query"]


def walk(artifact: dict[str, str], **more: Any) -> tuple[Any, Searcher]:
    walker = Walker(Index(PAGES), "Question", ("query", "second_query", "third_query"), **more)
    searcher = Searcher()
    return asyncio.run(walker.walk(artifact, QUESTION, searcher)), searcher


def test_each_query_is_asked_with_what_the_searches_before_it_found() -> None:
    artifact = dict.fromkeys(("query", "second_query", "third_query"), NAME)
    made, searcher = walk(artifact, n_passages=1)
    assert [hop.query for hop in made.hops] == ["Ravel Inn", "Anna Bolt", "Tessel"]
    assert [hop.titles for hop in made.hops] == [["Ravel Inn"], ["Anna Bolt"], ["Tessel"]]
    assert searcher.asked == [
        f"Question: {QUESTION}",
        f"Passages:\n[1] {PAGES[0]}\n\nQuestion: {QUESTION}",
        f"Passages:\n[1] {PAGES[0]}\n[2] {PAGES[1]}\n\nQuestion: {QUESTION}",
    ]


@pytest.mark.parametrize(
    ("components", "steps"),
    [
        ((), [""]),
        (("query",), ["query"]),
        (("second_query",), ["", "second_query"]),
        (("third_query",), [""]),
        (("query", "third_query"), ["query"]),
        (("query", "second_query", "third_query"), ["query", "second_query", "third_query"]),
    ],
)
def test_a_query_component_that_is_missing_ends_the_searches(
    components: tuple[str, ...], steps: list[str]
) -> None:
    made, searcher = walk(dict.fromkeys(components, NAME))
    assert [hop["step"] for hop in made.output()["hops"]] == steps
    assert len(searcher.asked) == len([step for step in steps if step])
    assert steps[0] or made.hops[0].query == QUESTION


def test_notes_take_the_place_of_passages() -> None:
    artifact = {"second_query": NAME, "summarize": "Write down what to keep."}
    made, searcher = walk(artifact, n_passages=1)
    assert made.found == f"Notes:\n{made.notes}"
    assert made.output()["notes"] == made.notes
    assert searcher.asked[-1].startswith("Notes:\n")
    without_last, asked = walk(artifact, summarize_last=False)
    assert without_last.hops[-1].step == "second_query"
    assert len(asked.asked) == len(searcher.asked) - 1


def test_thinking_text_is_no_part_of_a_query_nor_of_notes() -> None:
    class Thinker(Searcher):
        async def chat(self, role: str, messages: Any) -> Reply:
            reply = await super().chat(role, messages)
            return Reply(text=f"<thinking>Zebra?</thinking>{reply.text}")

    walker = Walker(Index(PAGES), "Question", ("query", "second_query"))
    made = asyncio.run(walker.walk({"query": NAME, "summarize": "Note."}, QUESTION, Thinker()))
    assert made.hops[0].query == "Ravel Inn"
    assert "Zebra" not in made.notes


def test_a_search_that_finds_nothing_is_told_so() -> None:
    walker = Walker(Index(PAGES), "Question", ("query", "second_query"))
    searcher = Searcher()
    made = asyncio.run(walker.walk({"second_query": "Ask."}, "Zebra?", searcher))
    assert searcher.asked == ["Passages: none was found.\n\nQuestion: Zebra?"]
    assert made.output()["hops"][1] == {"step": "second_query", "query": "Zebra?", "titles": []}


def test_feedback_names_the_pages_that_were_found_and_those_that_were_not() -> None:
    output = {"hops": [{"titles": ["A", "B"]}, {"titles": ["B", "C"]}]}
    assert titles_of(output) == ["A", "B", "C"]
    assert search_feedback(["B", "A"], output) == (
        'The searches found all 2 supporting pages: "B", "A".'
    )
    assert search_feedback(["B", "X"], output) == (
        'The searches found 1 of 2 supporting pages: "B". No search found "X".'
    )
    assert search_feedback(["X"], None) == (
        'The searches found 0 of 1 supporting pages. No search found "X".'
    )


def test_titles_are_the_same_in_any_case_and_composition() -> None:
    output = {"hops": [{"titles": ["Zo\u0065\u0308  kravitz"]}]}
    assert found_of(["Zo\u00eb Kravitz", "Zoe Kravitz"], output) == ["Zo\u00eb Kravitz"]


@pytest.mark.parametrize("output", [None, "text", 3, {"hops": "x"}, {"hops": [3]}, {"hops": [{}]}])
def test_an_output_of_any_form_has_titles_or_none(output: Any) -> None:
    assert titles_of(output) == []


def test_a_long_query_is_cut_visibly_where_it_is_shown() -> None:
    assert shown("a\n b") == "a b"
    assert len(shown("word " * 200)) == 300
    assert shown("word " * 200).endswith("...")
