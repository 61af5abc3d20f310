"""Evolves the two prompts of an agent of one's own: plain Python, sync, with feedback.

    python examples/own_agent.py

The agent drafts an answer and then revises it, two model calls by way of `ctx.chat`. They are
recorded, limited and budgeted like all others, and a resumed run does not repeat them. The model is
simulated, so the scores say nothing about a real one.
"""

import tempfile
from typing import Any

import flashevolve as fe

REQUESTS = ("the night market", "a mountain hut", "the harbor", "a bee farm", "a tram ride")
SEED = {"draft": "Answer the request.", "revise": "Improve the draft."}


def examples(split: str, n: int) -> list[dict[str, Any]]:
    """Returns examples; ids are unique over all splits."""
    return [
        {"id": f"{split}-{i}", "request": f"Describe {REQUESTS[i % 5]}, version {split} {i}."}
        for i in range(n)
    ]


def agent(artifact: fe.Artifact, example: Any, ctx: Any) -> str:
    """Runs one artifact on one example. `artifact` and `example` read like dicts."""
    asked = {"role": "user", "content": example["request"]}
    draft = ctx.chat("task", [{"role": "system", "content": artifact["draft"]}, asked]).text
    revise = {"role": "system", "content": f"{artifact['revise']}\n\nThe draft:\n{draft}"}
    answer: str = ctx.chat("task", [revise, asked]).text
    return answer


def score(example: Any, output: str) -> tuple[float, str]:
    """Scores an output and says why: the reflecting model reads the words, not the number."""
    n_words = len(output.split())
    if n_words <= 25:
        return 1.0, f"Right: {n_words} words."
    return 25 / n_words, f"The answer may have at most 25 words; it has {n_words}."


def main(run_dir: str, metric_calls: int = 300) -> fe.Result:
    """Runs once; returns the result."""
    result = fe.optimize(
        seed=SEED,
        train=examples("train", 10),
        val=examples("val", 10),
        test=examples("test", 10),
        run=agent,
        score=score,
        metered=True,  # all its calls go through ctx.chat, so token and money budgets see them
        models={"task": "sim/h100-qwen3-8b", "reflect": "sim/h100-qwen3-8b"},
        budget=fe.Budget(metric_calls=metric_calls, tokens=5_000_000),
        run_dir=run_dir,
    )
    print(f"validation {result.seed_score:.3f} -> {result.best_score:.3f} (simulated)")
    for name, text in result.best.items():
        print(f"[{name}] {text}")
    return result


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(f"{folder}/run")
