import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.simulate.demands import Value
from flashevolve.simulate.planning import Plan
from flashevolve.simulate.writing import write
from tests.simulate.writing.written import dice, written

N_WORDS = re.compile(r"\w+")


@given(st.integers(1, 200), st.integers(0, 10_000))
def test_an_exact_number_of_words_is_met(n: int, draw: int) -> None:
    assert len(N_WORDS.findall(written(f"Write exactly {n} words.", draw=draw))) == n


@pytest.mark.parametrize(
    "part", ["Add a title.", "Add a postscript.", "Use 3 headings.", "Give a table of 3 columns."]
)
def test_all_words_count_whatever_part_they_stand_in(part: str) -> None:
    for draw in range(10):
        text = written(f"Write between 60 and 65 words. {part}", draw=draw)
        assert 60 <= len(re.findall(r"\w+(?:[-'’]\w+)*", text)) <= 65


def test_what_advice_leaves_out_of_the_count_is_left_out() -> None:
    text = written("Use exactly 40 words. Add a title.", "Do not count the title.")
    assert len(N_WORDS.findall(text.partition("\n")[2])) == 40


@given(st.integers(2, 9), st.integers(0, 1000))
def test_a_multiple_is_met(k: int, draw: int) -> None:
    assert len(N_WORDS.findall(written(f"Write a multiple of {k} words.", draw=draw))) % k == 0


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
    text = written("Return only a JSON object.", 'In JSON, the key is "note".')
    assert list(json.loads(text)) == ["note"]


def test_a_condition_that_the_request_does_not_meet_leaves_advice_unused() -> None:
    advice = "When the request asks for a poem, avoid commas."
    assert any("," in written("Describe a tram.", advice, draw) for draw in range(5))


def test_advice_about_a_part_does_not_create_the_part() -> None:
    assert "<<" not in written("Describe a tram.", 'A title stands between "<<" and ">>".')


def test_advice_that_orders_a_part_creates_it() -> None:
    advice = 'Add a title.\nA title stands between "<<" and ">>".'
    assert written("Describe a tram.", advice).startswith("<<")


def test_the_task_is_repeated_before_the_answer() -> None:
    text = written("Describe a tram. First repeat the task word for word, then answer it.")
    assert text.startswith("Describe a tram.\n")


def test_one_of_the_named_phrases_is_the_whole_answer() -> None:
    request = 'Is it late? Answer with one of "Ay, it is." and "Nay, it is not.".'
    assert written(request) in ("Ay, it is.", "Nay, it is not.")


@pytest.mark.parametrize(
    ("request_", "pattern"),
    [
        ('Put the answer in double quotation marks.', r'".*"'),
        ('Put it between "<note>" and "</note>".', r"<note>\n.*\n</note>"),
        ("Put it in a code block between lines of three backticks.", r"```\n.*\n```"),
        ('Sign on the last line, which must be "-- Ann".', r".*\n-- Ann"),
        ('Start and end with the phrase "So it is".', r"So it is.*So it is\.?"),
        ("Write everything in capitals.", r"[A-Z .,\n]+"),
        ("Every word must start with a capital letter.", r"(?:[A-Z]\w*[ .,]*)+"),
        ("Write every second word in capitals.", r"[a-z]+ [A-Z]+ .*"),
        ("Write exactly 3 hashtags, and nothing else, on the last line.", r".*\n#\w+ #\w+ #\w+"),
    ],
)  # fmt: skip
def test_what_stands_around_or_below_a_text(request_: str, pattern: str) -> None:
    for draw in range(10):
        assert re.fullmatch(pattern, written(request_, draw=draw), flags=re.DOTALL)


def test_what_is_left_open_differs_from_writer_to_writer() -> None:
    firsts = {written("Add a title.", draw=draw).partition(" ")[0] for draw in range(40)}
    assert len(firsts) > 3


def test_an_impossible_plan_still_gives_an_answer() -> None:
    values: dict[str, Value] = {
        "atleast word": 90, "atmost word": 3, "exactly bullet": 0, "exactly paragraph": 0,
    }  # fmt: skip
    plan = Plan((), values, {"ban": ("the", ",", ";"), "include": ("the",)})
    assert write(plan, dice())


SLOTS = (
    [f"{r} {u}" for r in ("exactly", "atleast", "atmost", "multiple")
     for u in ("word", "sentence", "line", "bullet", "paragraph", "section", "unique", "number")]
    + ["variants", "atmost letter in word", "atmost word in sentence", "indent step"]
)  # fmt: skip
TEXTS = [
    "acrostic", "growth", "indent", "sentence lines", "sentence letter", "sentence word", "table",
    "last word", "start", "end", "case", "format", "repeat", "signature", "line look", "language",
]  # fmt: skip


@given(
    st.dictionaries(st.sampled_from(SLOTS), st.integers(0, 50), max_size=5),
    st.dictionaries(st.sampled_from(TEXTS), st.sampled_from(["lamp", "q", "upper"]), max_size=3),
)
def test_any_plan_can_be_written(numbers: dict[str, Value], texts: dict[str, Value]) -> None:
    plan = Plan(("tram",), {**numbers, **texts}, {"ban letter": ("e",), "option": ()})
    assert write(plan, dice(random.Random(str(numbers)).randrange(99))) is not None
