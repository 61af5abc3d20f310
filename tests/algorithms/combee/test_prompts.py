import random

import pytest

from flashevolve.algorithms.combee.prompts import reduce
from flashevolve.llm.messages import user
from flashevolve.replies.fences import fenced_text
from flashevolve.simulate.prompt import take_apart
from flashevolve.simulate.reader import TextReader
from flashevolve.simulate.roles import infer_role, shown_texts
from tests.simulate.instructing import FLAWLESS, SEED

FACTS = [
    'Start each bullet line with "* ".',
    "Write the title in double angular brackets.",
    "Say the word twice if the feedback asks for examples of it.",
]


def test_the_request_shows_the_current_text_and_the_proposals_in_order_and_no_records() -> None:
    text = reduce("system", "now", ["one", "```\ntwo\n```"])
    places = [text.index(f"```\n{shown}\n```") for shown in ("now", "one")]
    assert places == sorted(places)
    assert "````\n```\ntwo\n```\n````" in text
    assert "`system`" in text
    assert "more specific" in text
    assert "# Example" not in text
    assert "{{" not in text


@pytest.mark.parametrize("n", [2, 3, 6])
def test_a_simulated_reader_sees_that_several_texts_are_to_be_made_one(n: int) -> None:
    proposals = [f"{SEED}\n{FACTS[place % len(FACTS)]}" for place in range(n)]
    messages = [user(reduce("system", SEED, proposals))]
    prompt = take_apart(messages)
    assert infer_role(prompt) == "merge"
    assert list(shown_texts(prompt).values()) == [SEED, *proposals]
    reply = TextReader(FLAWLESS).answer(messages, random.Random(1))
    assert fenced_text(reply).splitlines() == [SEED, *FACTS[:n]]
