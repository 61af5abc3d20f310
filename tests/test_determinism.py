"""In virtual time the same config and seed give the same event log, byte for byte."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import flashevolve as fe
from flashevolve.policies.staleness import ASKING
from flashevolve.rundir import read_records
from flashevolve.simulate.world import WORLD_FILE
from flashevolve.store.codec import record_to_json
from flashevolve.workloads.instructions import generate, score
from tests.source import ROOT, SRC

POLICIES = ("full", "guarded", "reflective", "regenerate")
DATA: dict[str, Any] = dict(generate(seed=3, n_train=12, n_val=6, n_test=4))


def sync_agent(artifact: Mapping[str, str], example: Mapping[str, Any], ctx: Any) -> str:
    """A user's function that blocks its thread while the simulated model answers."""
    draft = ctx.chat("task", [{"role": "user", "content": example["prompt"]}]).text
    asked = f"{example['prompt']}\nDraft: {draft[:100]}"
    messages = [
        {"role": "system", "content": artifact["system"]},
        {"role": "user", "content": asked},
    ]
    return str(ctx.chat("task", messages).text)


def evolve(run_dir: Path, **options: Any) -> list[str]:
    """Runs in virtual time into a real store; returns the log's lines, but for the run's name."""
    settings: dict[str, Any] = {
        "seed": {"system": "Follow the instructions."},
        "budget": fe.Budget(metric_calls=150),
        "models": "sim/h100-qwen3-8b",
        "concurrency": 8,
        "id_field": "key",
        "input": "prompt",
        **options,
    }
    fe.optimize(**DATA, score=score, run_dir=run_dir, **settings)
    return log_lines(run_dir)


def log_lines(run_dir: Path) -> list[str]:
    lines = [record_to_json(record) for record in read_records(run_dir)]
    first = json.loads(lines[0])
    # The one thing that differs: the directory, which is part of the config.
    first["event"]["run_id"] = first["event"]["config"]["run"] = ""
    return [json.dumps(first, sort_keys=True), *lines[1:]]


@pytest.mark.parametrize("policy", POLICIES)
def test_the_same_seed_gives_the_same_log_under_each_policy(policy: str, tmp_path: Path) -> None:
    first = evolve(tmp_path / "a", policy=policy)
    assert len(first) > 300
    assert any('"item_repaired"' in line for line in first) == (policy in ASKING)
    assert first == evolve(tmp_path / "b", policy=policy)


@pytest.mark.parametrize(
    "staleness",
    [{"repair_batch": 3, "history": "none"}, {"history": "shuffled", "when": "always"}],
    ids=["batch", "always"],
)
def test_the_same_seed_gives_the_same_log_with_controls_and_batches(
    staleness: dict[str, Any], tmp_path: Path
) -> None:
    first = evolve(tmp_path / "a", staleness=staleness)
    assert any('"item_repaired"' in line for line in first)
    assert first == evolve(tmp_path / "b", staleness=staleness)


def test_the_same_seed_gives_the_same_log_however_much_is_believed_early(tmp_path: Path) -> None:
    speculation = {"rollout": 0.5, "evaluate": 0.34, "confirm": "mean", "reorder": "literal"}
    first = evolve(tmp_path / "a", speculation=speculation)
    assert any('"inserted"' in line for line in first)
    assert any('"tail_ended"' in line for line in first)
    assert first == evolve(tmp_path / "b", speculation=speculation)


def test_the_sync_schedule_gives_the_same_log_too(tmp_path: Path) -> None:
    assert evolve(tmp_path / "a", schedule="sync") == evolve(tmp_path / "b", schedule="sync")


def test_a_hosted_preset_that_says_429_gives_the_same_log_too(tmp_path: Path) -> None:
    world = tmp_path / "world.toml"
    text = WORLD_FILE.read_text(encoding="utf-8")
    world.write_text(text.replace("tokens_per_min = 2000000", "tokens_per_min = 30000"))
    options: dict[str, Any] = {"models": "sim/hosted-api", "world": world}
    first = evolve(tmp_path / "a", **options)
    assert any('"rate_limited"' in line for line in first)
    assert first == evolve(tmp_path / "b", **options)


def test_another_seed_gives_another_log(tmp_path: Path) -> None:
    assert evolve(tmp_path / "a")[1:] != evolve(tmp_path / "b", rng_seed=1)[1:]


def test_a_sync_function_that_calls_the_simulated_model_gives_the_same_log(tmp_path: Path) -> None:
    options: dict[str, Any] = {"run": sync_agent, "budget": fe.Budget(metric_calls=60)}
    first = evolve(tmp_path / "a", **options)
    assert sum('"call_settled"' in line for line in first) > 100
    assert first == evolve(tmp_path / "b", **options)


def test_the_log_does_not_depend_on_the_hash_seed_or_the_process(tmp_path: Path) -> None:
    logs = [evolve(tmp_path / "here")]
    for hash_seed in ("1", "4242"):
        run_dir = tmp_path / hash_seed
        code = f"from tests.test_determinism import *; evolve(Path({str(run_dir)!r}))"
        subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{SRC}:{ROOT}", "PATH": ""},
            check=True,
            timeout=100,
        )
        logs.append(log_lines(run_dir))
    assert logs[0] == logs[1] == logs[2]
