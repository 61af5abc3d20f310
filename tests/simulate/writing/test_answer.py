import json
import random
import re

from hypothesis import given
from hypothesis import strategies as st

from flashevolve.simulate.attention import Dice, ReaderParameters
from flashevolve.simulate.planning import Plan, make_plan
from flashevolve.simulate.statements import read
from flashevolve.simulate.writing import write


def written(request: str, advice: str = "", draw: int = 1) -> str:
    dice = Dice(random.Random(draw), request, 1.0)
    return write(make_plan(read(advice), read(request), dice, ReaderParameters()), dice)


@given(st.integers(1, 200), st.integers(0, 10_000))
def test_an_exact_number_of_words_is_met(n: int, draw: int) -> None:
    text = written(f"Write exactly {n} words.", draw=draw)
    assert abs(len(re.findall(r"\w+", text)) - n) <= 2


@given(st.integers(1, 12), st.integers(0, 10_000))
def test_an_exact_number_of_sentences_is_met(n: int, draw: int) -> None:
    assert written(f"Write exactly {n} sentences.", draw=draw).count(".") == n


def test_parts_stand_in_their_places() -> None:
    text = written('Give 2 bullets marked "~". Add a title. Add a postscript. Write in lowercase.')
    lines = text.splitlines()
    assert len(lines) == 4
    assert lines[1].startswith("~ ")
    assert lines[3].startswith("p")
    assert text == text.lower()


def test_json_holds_the_text_under_the_wanted_key() -> None:
    text = written("Return a JSON object.", 'In JSON, the key is "note".')
    assert list(json.loads(text)) == ["note"]


def test_a_condition_that_the_request_does_not_meet_leaves_advice_unused() -> None:
    advice = "When the request asks for a poem, avoid commas."
    assert any("," in written("Describe a tram.", advice, draw) for draw in range(5))


def test_advice_about_a_part_does_not_create_the_part() -> None:
    assert "<<" not in written("Describe a tram.", 'A title stands between "<<" and ">>".')


def test_advice_that_orders_a_part_creates_it() -> None:
    advice = 'Add a title.\nA title stands between "<<" and ">>".'
    assert written("Describe a tram.", advice).startswith("<<")


def test_an_impossible_plan_still_gives_an_answer() -> None:
    values: dict[str, str | int | tuple[str, str]] = {
        "atleast word": 90, "atmost word": 3, "exactly bullet": 0, "exactly paragraph": 0,
    }  # fmt: skip
    plan = Plan((), values, {"ban": ("the", ",", ";"), "include": ("the",)})
    assert write(plan, Dice(random.Random(1), "key", 1.0))
