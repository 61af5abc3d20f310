from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flashevolve.llm.messages import Reply
from flashevolve.llm.served import error_body
from flashevolve.llm.wire import read_reply
from flashevolve.simulate.completions import (
    Head,
    completion,
    first_chunk,
    later_chunks,
    until_stop,
)

HEAD = Head(id="c-1", created_s=5, model="m", fingerprint="simulated-0")


def reply(text: str, **fields: Any) -> Reply:
    return Reply(**{"text": text, "tokens_in": 30, "tokens_out": 100, "model": "m", **fields})


def test_our_own_client_reads_a_whole_answer_as_it_was() -> None:
    assert read_reply(completion(HEAD, reply("Tea."), 16)) == reply("Tea.")


def test_what_the_text_does_not_show_is_told_as_reasoning() -> None:
    usage = completion(HEAD, reply("x" * 40), 16)["usage"]
    assert usage == {
        "prompt_tokens": 30,
        "completion_tokens": 100,
        "total_tokens": 130,
        "prompt_tokens_details": {"cached_tokens": 16},
        "completion_tokens_details": {"reasoning_tokens": 90},
    }


@given(st.text())
def test_the_chunks_of_a_stream_add_up_to_the_answer(text: str) -> None:
    chunks = [first_chunk(HEAD), *later_chunks(HEAD, reply(text), None)]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert "".join(delta.get("content", "") for delta in deltas) == text
    reasons = [chunk["choices"][0]["finish_reason"] for chunk in chunks]
    assert reasons == [None] * (len(chunks) - 1) + ["stop"]
    assert {(chunk["id"], chunk["object"]) for chunk in chunks} == {
        ("c-1", "chat.completion.chunk")
    }


def test_usage_comes_in_a_last_chunk_without_choices() -> None:
    *_, last = later_chunks(HEAD, reply("Tea."), 16)
    assert last["choices"] == []
    assert last["usage"] == completion(HEAD, reply("Tea."), 16)["usage"]


def test_a_text_ends_before_the_earliest_stop() -> None:
    assert until_stop("one two three", ["three", "two", "four"]) == "one "
    assert until_stop("one", ["two"]) == "one"
    assert until_stop("one", []) == "one"


def test_an_error_has_openais_shape() -> None:
    assert error_body("no", "server_error") == {
        "error": {"message": "no", "type": "server_error", "param": None, "code": None}
    }
