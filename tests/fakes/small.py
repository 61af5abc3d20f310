"""A small evolution against a loopback endpoint that plays the task, reflect and repair models.

The endpoint's answers depend on nothing but the request's body, so that a run that is killed and
resumed meets the same world as one that is not.
"""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import flashevolve as fe
from flashevolve import events as ev
from flashevolve.llm.messages import Message
from flashevolve.simulate.reader import TextReader
from flashevolve.workloads.instructions import generate, score
from tests.fakes.endpoint import Endpoint, Received, Step, answer
from tests.simulate.usual import USUAL

LEARNABLE = ("detectable_format:title", "length_constraints:number_paragraphs", "layout:headings")
"""Kinds whose feedback teaches what few metric calls are enough to profit from."""
DATA: dict[str, Any] = dict(generate(seed=3, n_train=8, n_val=4, n_test=3, kinds=LEARNABLE))
READER = TextReader(USUAL)
PRICE = fe.Price(input_usd_per_mtok=1.0, output_usd_per_mtok=2.0)


def body_hash(body: Any) -> str:
    """Returns what tells two requests apart."""
    return sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:32]


def read_and_answer(received: Received, *, slowest_s: float = 0.004) -> Step:
    """Answers by the built-in reader; all chance comes from the request's body."""
    rng = Random(body_hash(received.body))
    messages = [Message(role=m["role"], content=m["content"]) for m in received.body["messages"]]
    latency_s = rng.uniform(0.0, slowest_s)
    text = READER.answer(messages, rng)
    n_in, n_out = sum(len(m.text) for m in messages) // 4, len(text) // 4
    usage = {"prompt_tokens": n_in, "completion_tokens": n_out, "total_tokens": n_in + n_out}
    return answer(text, latency_s=latency_s, usage=usage)


def lottery(example: Mapping[str, Any], output: str) -> tuple[float, str]:
    """Scores by a hash: half of all children beat their parent, so that much is admitted."""
    number = int(body_hash([example["key"], output])[:8], 16)
    return number % 11 / 10, f"The answer should have {number % 7} commas."


def role_of(received: Received) -> str:
    """Returns the role for which a request of GEPA's was sent."""
    asked = received.body["messages"][0]
    if asked["role"] == "system":
        return "task"
    return "repair" if "verdict" in asked["content"] else "reflect"


def model(endpoint: Endpoint | str, **options: Any) -> fe.Model:
    base_url = endpoint if isinstance(endpoint, str) else endpoint.base_url
    options = {"timeout_s": 5.0, "max_output_tokens": 256, "price": PRICE, **options}
    return fe.Model("fake-1", base_url=base_url, send_seed=True, **options)


def evolution(endpoint: Endpoint | str, run_dir: Path, **options: Any) -> dict[str, Any]:
    """Returns arguments for `optimize`, `aoptimize` or `start`."""
    return {
        "seed": {"system": "Follow the instructions."},
        **DATA,
        "score": score,
        "models": model(endpoint),
        "budget": fe.Budget(metric_calls=40),
        "concurrency": 8,
        "limits": {"retries": 5, "retry_wait_s": 0.001, "retry_total_s": 0.2},
        "id_field": "key",
        "input": "prompt",
        "run_dir": run_dir,
        **options,
    }


ANSWERED = ("ok", "refused", "truncated", "empty")


def asked_again(records: Iterable[ev.Record]) -> list[ev.CallReserved]:
    """Returns the calls that were sent although the log already held their answer."""
    reserved: dict[int, ev.CallReserved] = {}
    answered: set[tuple[object, ...]] = set()
    again: list[ev.CallReserved] = []
    for record in records:
        match record.event:
            case ev.CallReserved() as call:
                reserved[call.call] = call
                if _key(call) in answered:
                    again.append(call)
            case ev.CallSettled(call=number, status=status) if status in ANSWERED:
                answered.add(_key(reserved[number]))
    return again


def _key(call: ev.CallReserved) -> tuple[object, ...]:
    return (
        call.ticket,
        call.stage,
        call.visit,
        call.map_key,
        call.name,
        call.request_hash,
        call.occurrence,
    )
