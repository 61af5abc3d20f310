"""Fields in words of our own: only the shape counts. The peer's words are in test_dspy_prompts."""

import json
import random

import pytest

from flashevolve.llm.messages import Message, assistant, system, user
from flashevolve.simulate.fields import Field, Fields, read_fields

STRUCTURE = """\
Given:
1. `question` (str): what is asked
Wanted:
1. `reasoning` (str):
2. `answer` (str): in full
The shape is

[[ ## question ## ]]
{question}
"""
MARKED = "\n[[ ## reasoning ## ]]\n{reasoning}\n\n[[ ## answer ## ]]\n{answer}\n"
AS_JSON = '\n{\n  "reasoning": "{reasoning}",\n  "answer": "{answer}"\n}\n'
RULES = "Do this:\n        Be kind.\n        \n        Use [[ ## marks ## ]] never."
ASKED = "[[ ## question ## ]]\nDescribe a tram.\n\nGive 3 bullets."


def conversation(shape: str, *turns: Message) -> Fields:
    ending = user(f"{ASKED}\n\nNow fill in `reasoning` and `answer`.")
    found = read_fields([system(STRUCTURE + shape + RULES), *turns, ending])
    assert found is not None
    return found


@pytest.mark.parametrize("shape", [MARKED, AS_JSON])
def test_what_the_last_turn_fills_in_is_given_and_the_rest_is_wanted(shape: str) -> None:
    found = conversation(shape)
    assert found.objective == "Be kind.\n\nUse [[ ## marks ## ]] never."
    assert found.inputs == {"question": "Describe a tram.\n\nGive 3 bullets."}
    assert found.wanted == (Field("reasoning", "str"), Field("answer", "str"))
    assert found.hints == ("what is asked", "in full")


def test_earlier_turns_give_nothing() -> None:
    demo = [user("[[ ## question ## ]]\nOld?"), assistant("[[ ## answer ## ]]\nOld.")]
    assert conversation(MARKED, *demo) == conversation(MARKED)


def test_a_reply_fills_in_every_wanted_field() -> None:
    marked = conversation(MARKED).render("A tram.", "Because.", random.Random(1))
    assert marked == (
        "[[ ## reasoning ## ]]\nBecause.\n\n[[ ## answer ## ]]\nA tram.\n\n[[ ## completed ## ]]"
    )
    said = conversation(AS_JSON).render('A "tram".', "Because.", random.Random(1))
    assert json.loads(said) == {"reasoning": "Because.", "answer": 'A "tram".'}


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("str", "7 trams", "7 trams"),
        ("int", "7 trams", 7),
        ("list[str]", "a\nb", ["a", "b"]),
        ("Literal['low', 'high']", "It is high.", "high"),
    ],
)
def test_typed_fields_get_values_of_their_type(kind: str, text: str, value: object) -> None:
    fields = Fields("", (), {}, (Field("answer", kind),), "json")
    assert json.loads(fields.render(text, "", random.Random(1))) == {"answer": value}


@pytest.mark.parametrize("kind", ["int", "bool", "Literal['low', 'high']"])
def test_where_no_text_fits_the_value_is_a_guess(kind: str) -> None:
    fields = Fields("", (), {}, (Field("answer", kind),), "json")
    guesses = {fields.render("A tram.", "", random.Random(k)) for k in range(30)}
    assert len(guesses) > 1


@pytest.mark.parametrize(
    "turns",
    [
        [],
        [user("[[ ## question ## ]]\nDescribe a tram.")],
        [system("Begin with [[ ## x ## ]]."), user("Describe a tram.")],
        [system("[[ ## x ## ]]\nBe kind."), user("Describe a tram.")],
        [system(STRUCTURE + MARKED), user("Describe a tram.")],
        [system(STRUCTURE + MARKED), user(ASKED), assistant("A tram.")],
    ],
)
def test_other_conversations_have_no_fields(turns: list[Message]) -> None:
    assert read_fields(turns) is None
