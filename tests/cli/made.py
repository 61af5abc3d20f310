"""Small projects for the command line, and a model that answers them over HTTP."""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from flashevolve.workloads.instructions import write
from tests.fakes.endpoint import Received, Step, answer
from tests.fakes.small import LEARNABLE

CANARY = "sk-canary-0123456789"


def rows(split: str, n: int) -> list[dict[str, Any]]:
    return [{"id": f"{split}-{i}", "input": f"{split} {i}", "answer": "yes"} for i in range(n)]


def jsonl(path: Path, found: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    return path


BASE: Mapping[str, str] = {
    "artifact": '[artifact]\nsystem = "Say yes."',
    "task": '[task]\nmetric = "exact"',
    "data": '[data]\ntrain = "train.jsonl"\nval = "val.jsonl"\ntest = "test.jsonl"',
    "model": '[model]\nname = "m"\nbase_url = "http://127.0.0.1:9/v1"',
    "budget": "[budget]\nmetric_calls = 100",
    "limits": "[limits]\nconcurrency = 4",
}


def project(folder: Path, base_url: str = "http://127.0.0.1:9/v1", **tables: str) -> Path:
    """Writes data and run.toml; `tables` replace whole tables by text."""
    folder.mkdir(exist_ok=True)
    for split, n in (("train", 6), ("val", 4), ("test", 3)):
        jsonl(folder / f"{split}.jsonl", rows(split, n))
    model = f'[model]\nname = "m"\nbase_url = "{base_url}"'
    texts = {**BASE, "model": model, **tables}
    config = folder / "run.toml"
    config.write_text("\n\n".join(texts.values()) + "\n", encoding="utf-8")
    return config


def simulated(folder: Path) -> Path:
    """Writes a project that the built-in simulated model answers."""
    write(folder, n_train=6, n_val=4, n_test=3, kinds=LEARNABLE)
    config = folder / "run.toml"
    config.write_text(
        '[artifact]\nsystem = "Answer the request."\n[task]\nworkload = "instructions"\n'
        '[data]\ntrain = "train.jsonl"\nval = "val.jsonl"\ntest = "test.jsonl"\n'
        '[model]\nname = "sim/h100-qwen3-8b"\n[budget]\nmetric_calls = 120\n'
        "[limits]\nconcurrency = 4\n",
        encoding="utf-8",
    )
    return config


def reply(received: Received, *, latency_s: float = 0.0) -> Step:
    """Plays all roles: the prompt decides on which questions the task is answered rightly."""
    messages = received.body["messages"]
    asked = messages[-1]["content"]
    if "Choose one verdict" in asked:
        return answer('{"verdict": "accept", "reason": "fine"}', latency_s=latency_s)
    if messages[0]["role"] != "system":
        digest = sha256(asked.encode()).hexdigest()[:8]
        return answer(f"```\nSay yes, {digest}.\n```", latency_s=latency_s)
    seen = sha256(f"{messages[0]['content']} {asked}".encode()).digest()
    return answer("yes" if seen[0] % 2 else "no", latency_s=latency_s)
