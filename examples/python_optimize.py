"""Evolves a prompt from Python, offline: a built-in simulated model answers.

    python examples/python_optimize.py

The task is `instructions`: follow what a request asks for, where some of what counts is not said
in the request and has to be learned from feedback. Scores are predictions about a simulated world.
"""

import tempfile
from pathlib import Path

import flashevolve as fe
from flashevolve.workloads.instructions import score

DATA = Path(__file__).parent / "instructions"


def main(run_dir: str | None = None, metric_calls: int = 1200) -> fe.Result:
    """Runs once; returns the result."""
    result = fe.optimize(
        seed={"system": "Answer the request."},
        train=DATA / "train.jsonl",
        val=DATA / "val.jsonl",
        test=DATA / "test.jsonl",
        id_field="key",
        input="prompt",  # no `run`: one chat call, the artifact as system prompt
        score=score,
        algorithm=fe.GEPA(minibatch=3),
        policy="reflective",
        models="sim/h100-qwen3-8b",
        budget=fe.Budget(metric_calls=metric_calls),
        run_dir=run_dir,
    )
    print(f"validation {result.seed_score:.3f} -> {result.best_score:.3f}")
    print(f"test       {result.seed_test_score:.3f} -> {result.test_score:.3f} (simulated)")
    print(result.best["system"])
    return result


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(f"{folder}/run")
