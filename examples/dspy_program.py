"""Compiles a DSPy program of two predictors: `dspy.GEPA`'s arguments, one changed import.

    python examples/dspy_program.py

It needs the extra `dspy`. The models are simulated, so the scores say nothing about a real one: for
real ones leave out `models` and give `dspy.LM`s of your own, as with `dspy.GEPA`.
"""

import tempfile
from typing import Any

import dspy

import flashevolve as fe
from flashevolve.integrations.dspy import GEPA  # instead of dspy.GEPA

TOPICS = ("the night market", "a mountain hut", "the harbor", "a bee farm", "a tram ride")


class Writer(dspy.Module):  # type: ignore[misc]
    """Drafts a text and then revises it."""

    def __init__(self) -> None:
        super().__init__()
        self.draft = dspy.Predict("request -> draft")
        self.revise = dspy.ChainOfThought("request, draft -> answer")

    def forward(self, request: str) -> Any:
        """Answers a request."""
        draft = self.draft(request=request).draft
        return self.revise(request=request, draft=draft)


def examples(split: str, n: int) -> list[Any]:
    """Returns requests."""
    requests = [f"Describe {TOPICS[i % 5]}, version {split} {i}." for i in range(n)]
    return [dspy.Example(request=request).with_inputs("request") for request in requests]


def metric(
    gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
) -> Any:
    """Scores an answer and says why: the reflecting model reads the words, not the number."""
    n_words = len(str(pred.answer).split())
    if n_words <= 25:
        return dspy.Prediction(score=1.0, feedback=f"Right: {n_words} words.")
    feedback = f"The answer may have at most 25 words; it has {n_words}."
    return dspy.Prediction(score=25 / n_words, feedback=feedback)


def main(run_dir: str, metric_calls: int = 300) -> fe.Result:
    """Compiles once; returns the result."""
    lm = dspy.LM("openai/gpt-4o-mini", max_tokens=16_000)
    optimizer = GEPA(
        metric=metric,
        max_metric_calls=metric_calls,
        reflection_lm=lm,
        log_dir=run_dir,
        models={"task": "sim/h100-qwen3-8b", "reflect": "sim/h100-qwen3-8b"},
    )
    with dspy.context(lm=lm):
        best = optimizer.compile(
            Writer(), trainset=examples("train", 10), valset=examples("val", 10)
        )
    result = optimizer.result
    assert result is not None, "a compile that ends has a result"
    print(f"validation {result.seed_score:.3f} -> {result.best_score:.3f} (simulated)")
    for name, predictor in best.named_predictors():
        print(f"[{name}] {predictor.signature.instructions}")
    return result


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(f"{folder}/run")
