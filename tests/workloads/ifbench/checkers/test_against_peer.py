"""Our checkers against the public ones of IFBench, on generated and on hand-made answers.

Where we differ on purpose, the last tests show both sides. NLTK's list of stop words is not at hand
where tests run offline: the peer is given ours, so that only the counting is compared.
"""

import csv
import importlib
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashevolve.workloads.ifbench.checkers import CHECKERS
from flashevolve.workloads.ifbench.checkers.data import STOP_WORDS
from flashevolve.workloads.ifbench.checkers.parts import sentences, tokens
from tests.workloads.ifbench.checkers import test_requests
from tests.workloads.ifbench.checkers.cases import Case
from tests.workloads.ifbench.checkers.degenerate import CASES
from tests.workloads.instructions.ifeval.peers import IFBENCH, Peer, peer

pytestmark = pytest.mark.peers

UNCHECKED = {"words:start_verb", "words:odd_even_syllables"}
WORD = st.sampled_from(["tea", "Tea", "one", "the"])
SMALL, COUNT, PERCENT = st.integers(1, 4), st.integers(0, 4), st.integers(0, 100)
VALUES: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "count:word_count_range": {"min_words": COUNT, "max_words": st.integers(4, 12)},
    "count:unique_word_count": {"N": st.integers(1, 9)},
    "count:conjunctions": {"small_n": COUNT},
    "count:person_names": {"N": st.integers(1, 2)},
    "count:numbers": {"N": COUNT},
    "count:words_japanese": {"N": SMALL},
    "count:pronouns": {"N": COUNT},
    "ratio:stop_words": {"percentage": PERCENT},
    "ratio:overlap": {
        "reference_text": st.just("the tea one and the tea"),
        "percentage": PERCENT,
    },
    "words:repeats": {"small_n": SMALL},
    "words:keywords_specific_position": {"keyword": WORD, "n": SMALL, "m": SMALL},
    "words:words_position": {"keyword": WORD},
    "sentence:keyword": {"word": WORD, "N": SMALL},
    "sentence:increment": {"small_n": COUNT},
    "format:list": {"sep": st.sampled_from(["...", "-", "!?!?", "SEP"])},
    "format:options": {
        "options": st.sampled_from(["yes/no/maybe", "yes or no", "yes, no", "a), b), c), d)"])
    },
    "repeat:repeat_change": {"prompt_to_repeat": st.just("one tea the")},
    "repeat:repeat_span": {
        "prompt_to_repeat": st.just("one tea the and but"),
        "n_start": st.integers(1, 2),
        "n_end": st.integers(3, 5),
    },
    "count:keywords_multiple": {
        f"keyword{n}": st.just(word)
        for n, word in enumerate(("Emma", "one", "tea", "the", "and"), start=1)
    },
}
PIECES = [
    *["the ", "The ", "Tea ", "tea, ", "tea.", "Tea. ", " ", "\n", "one ", "and ", "And, ", "but "],
    *["Emma ", "Leo", "U.S. ", "Dr. Who ", "3.5 ", "12", "1,000 ", "... ", "?! ", "! ", "? "],
    *["Is it? ", "It is. ", '"so" ', "it's ", "(", "[", "{", "}", "]", ")", '"', "'", "\t", ":"],
    *[
        "😀",
        "😀.",
        "😀 ",
        "本 ",
        "テスト ",
        "level ",
        "civic! ",
        "* ",
        "- ",
        "*a\n",
        "* b\n",
        " -c\n",
    ],
    *["<i>", "</i>", "yes", "no", "maybe", "Plan B went. ", "www.site.com ", "A cat ran. ", ";"],
    *["“q” ", ".” ", "My Answer:", "stone ", "I ", "you ", "mine/yours ", "7 ", "\n  ", "\n    "],
    *["one tea the", "tea the and", "well-known ", "Mr. ", "P.S. it ", "NASA ", "iPhone ", "a)"],
]
ANSWERS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=14).map("".join)
DIFFERENT = {"format:line_indent", "format:quote_unquote", "words:keywords_specific_position"}
"""Where generated answers meet what we do otherwise; cases compare these as well."""


RAISING = {
    ("format:quote_unquote", True),
    ("custom:csv_quotes", False),
    ("custom:csv_city", False),
    ("custom:csv_special_character", False),
}
"""Where the reference raises on some answer, and what we take that one for."""


@pytest.fixture(scope="module")
def other() -> Peer:
    found = peer(IFBENCH)
    util: Any = importlib.import_module("if_verifiable.ifbench.instructions_util")
    util.nltk.corpus.stopwords = type("Lists", (), {"words": lambda self, _: list(STOP_WORDS)})()
    return found


def test_they_know_two_instructions_more(other: Peer) -> None:
    assert other.ids - CHECKERS.keys() == UNCHECKED
    assert other.ids > CHECKERS.keys()


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_hand_made_answers_get_the_same_verdict(other: Peer, case: Case) -> None:
    for answer in (*case.met, *case.missed):
        ours = CHECKERS[case.id](answer, **case.values).passed
        try:
            assert other.passes(case.id, answer, dict(case.values)) is ours, answer
        except (IndexError, csv.Error):
            assert (case.id, ours) in RAISING, answer


@pytest.mark.parametrize("name", sorted(CHECKERS.keys() - DIFFERENT))
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_generated_answers_get_the_same_verdict(name: str, data: st.DataObject) -> None:
    answer = data.draw(ANSWERS.filter(str.strip), label="answer")
    values = {key: data.draw(drawn, label=key) for key, drawn in VALUES.get(name, {}).items()}
    # NLTK's tokens cut off only every second one of colons and commas in a row.
    answer = re.sub("[:,](?=[:,])", "", answer)
    assert peer(IFBENCH).passes(name, answer, values) is CHECKERS[name](answer, **values).passed


@settings(max_examples=1000, deadline=None)
@given(ANSWERS)
def test_sentences_are_the_same(answer: str) -> None:
    peer(IFBENCH)
    util: Any = importlib.import_module("if_verifiable.ifbench.instructions_util")
    assert sentences(answer) == util.split_into_sentences(answer)


@pytest.mark.parametrize("text", ["Snow, he said, isn't cold (or is it?).", "At 3:30 it's 1,000!"])
def test_tokens_are_the_same(text: str, other: Peer) -> None:
    nltk: Any = importlib.import_module("nltk")
    assert tokens(text) == nltk.word_tokenize(text)


@pytest.mark.parametrize(
    ("name", "answer", "ours"),
    [
        ("format:line_indent", "a\n\n\n b", True),
        ("format:thesis", "<em>Snow</em>", False),
        ("ratio:sentence_type", "It is Snow Inc. He sells. Is it?", True),
        ("custom:date_format_list", "1800-00-10", False),
        (
            "custom:csv_special_character",
            test_requests.table(test_requests.PRODUCTS, "1,2", 14).replace("1,2", '1,"&",2,3,4', 1),
            False,
        ),
    ],
)
def test_where_we_differ_on_purpose(other: Peer, name: str, answer: str, ours: bool) -> None:
    assert CHECKERS[name](answer).passed is ours
    assert other.passes(name, answer, {}) is not ours


def test_only_ours_has_a_verdict_on_a_text_without_letters(other: Peer) -> None:
    assert CHECKERS["format:quote_unquote"]("12").passed
    with pytest.raises(IndexError):
        other.passes("format:quote_unquote", "12", {})
