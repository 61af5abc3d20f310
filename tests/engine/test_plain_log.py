"""Without fractions, control or batches, the log is that of the engine before it had any.

The digests are those of small logs that the engine wrote before it could speculate, but that the
seed is a candidate from the start (its commit confirms it and bumps no version), and that no more
steps begin than the metric calls that are left can finish. What events have
learnt to say since is left out where it says nothing.
"""

import hashlib
import json
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from flashevolve.algorithms.gepa import GEPA
from flashevolve.llm.messages import Request
from flashevolve.policies.staleness import Policy
from flashevolve.store.codec import record_to_json
from tests.fakes.runs import Bench

SINCE: Mapping[str, Any] = {
    "n_sweeps": None,
    "tail": None,
    "tainted": False,
    "speculation": None,
    "missed": None,
    "n_counted": 1,
    "ops": [],
}
"""Fields that events did not have then, each with what it says where nothing is speculative."""

WRITTEN_BEFORE: Mapping[tuple[Policy, int], str] = {
    ("full", 1): "bf23691aabda387f",
    ("full", 8): "6780c5c7ec359192",
    ("guarded", 1): "bf23691aabda387f",
    ("guarded", 8): "f60fb9b34b70faec",
    ("reflective", 1): "bf23691aabda387f",
    ("reflective", 8): "abf897ae03c0ff0e",
}


def answer(request: Request, rng: Random) -> str:
    """Every role of GEPA's, always the same to the same question and draw."""
    asked = request.messages[-1].text
    if "Choose one verdict" in asked:
        kind = rng.choice(["accept", "discard", "patch"])
        patch = f'"components": {{"text": "patched {rng.randrange(10**6)}"}}'
        return f'{{"verdict": "{kind}", "reason": "so", {patch}}}'
    if request.messages[0].role == "system":
        return f"{asked} {request.messages[0].text}"
    return f"```\ntext {rng.randrange(10**9)}\n```"


async def coin(example: Mapping[str, Any], output: Any) -> float:
    return float(Random(str(output)).random() > 0.5)


def plain(value: Any) -> Any:
    """Returns a record's JSON without the fields that say nothing."""
    if not isinstance(value, dict):
        return value
    kept = {k: v for k, v in value.items() if k not in SINCE or v not in (SINCE[k], [])}
    return {k: plain(v) for k, v in kept.items()}


def digest(bench: Bench) -> str:
    whole = hashlib.sha256()
    for record in bench.store.records[1:]:  # The first holds the fakes' own configuration.
        line = json.dumps(plain(json.loads(record_to_json(record))), sort_keys=True)
        whole.update(line.encode() + b"\n")
    return whole.hexdigest()[:16]


@pytest.mark.parametrize(("policy", "in_flight"), WRITTEN_BEFORE)
def test_the_plain_log_is_what_it_was_before_there_was_speculation(
    policy: Policy, in_flight: int
) -> None:
    bench = Bench(
        lambda setup: GEPA(merge=False, skip_perfect=False).workflow(setup),
        policy=policy,
        in_flight=in_flight,
        workers=4,
        n_val=8,
        n_test=2,
        delta_max=1,
        answer=answer,
        score=coin,
        latency_s=lambda rng: 1.0 + rng.random(),
        budget={"metric_calls": 120},
        run_seed=3,
    )
    bench.run()
    assert digest(bench) == WRITTEN_BEFORE[policy, in_flight]
