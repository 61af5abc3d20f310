import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.events import Event, Record
from flashevolve.store.codec import (
    INTERN_ABOVE_CHARS,
    decode,
    encode,
    intern_json,
    record_from_json,
    record_to_json,
    restore_json,
    text_hash,
)
from tests.store.made import (
    KINDS,
    any_event,
    brief,
    events_of,
    json_values,
    outcome,
    settled,
    taken,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_event_comes_back_equal(kind: type[Event]) -> None:
    @brief
    @given(events_of(kind))
    def comes_back(event: Event) -> None:
        body, texts = encode(event)
        assert decode(body, texts.__getitem__) == event

    comes_back()


@brief
@given(any_event)
def test_the_decoded_event_has_the_same_bytes(event: Event) -> None:
    body, texts = encode(event)
    assert encode(decode(body, texts.__getitem__)) == (body, texts)


def test_the_order_of_keys_does_not_show() -> None:
    one, other = outcome(output={"a": 1, "b": 2}), outcome(output={"b": 2, "a": 1})
    assert encode(one) == encode(other)


@brief
@given(json_values)
def test_no_plain_data_is_mistaken_for_a_reference(value: object) -> None:
    body, texts = intern_json(value)
    assert restore_json(body, texts.__getitem__) == value


@brief
@given(json_values)
def test_no_long_string_stays_in_the_body(value: object) -> None:
    body, texts = intern_json(value)
    assert all(len(text) > INTERN_ABOVE_CHARS for text in texts.values())
    assert all(text_hash(text) == key for key, text in texts.items())
    pieces = [json.loads(body)]
    while pieces:
        piece = pieces.pop()
        if isinstance(piece, str):
            assert len(piece) <= INTERN_ABOVE_CHARS
        pieces += piece.values() if isinstance(piece, dict) else ()
        pieces += piece if isinstance(piece, list) else ()


def test_only_strings_above_the_threshold_are_interned() -> None:
    assert encode(settled(1, reply="x" * 200))[1] == {}
    body, texts = encode(settled(1, reply="x" * 201))
    assert texts == {text_hash("x" * 201): "x" * 201}
    assert json.loads(body)["reply"] == {"text": {"$text": text_hash("x" * 201)}}


def test_a_score_that_is_not_a_number_survives() -> None:
    back = decode(encode(outcome(score=float("nan")))[0], str)
    assert str(getattr(back, "score", None)) == "nan"


def test_what_json_does_not_know_is_refused() -> None:
    with pytest.raises(TypeError, match="set is not JSON serializable"):
        encode(outcome(output={1, 2}))


@pytest.mark.parametrize("body", ['{"kind":"unheard_of"}', '{"kind":"stage_taken"}', "{"])
def test_what_is_not_an_event_is_refused(body: str) -> None:
    with pytest.raises(ValueError, match=r"kind|ticket|Expecting"):
        decode(body, str)


def test_an_event_written_before_a_field_had_a_default_opens() -> None:
    assert decode('{"kind":"stage_taken","ticket":1,"stage":"s","visit":1}', str) == taken(1)


@brief
@given(any_event, st.integers(min_value=1), st.floats(min_value=0, allow_infinity=False))
def test_a_record_is_one_self_contained_line(event: Event, seq: int, t_s: float) -> None:
    record = Record(seq=seq, t_s=t_s, event=event)
    line = record_to_json(record)
    assert "\n" not in line
    assert record_from_json(line) == record


def test_the_store_imports_without_pydantic() -> None:
    code = "import sys, flashevolve.store; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
