"""Stages of a compile that end a step, and when they end the run."""

from pathlib import Path
from typing import Any

import dspy
import pytest

from flashevolve.errors import FlashEvolveError
from flashevolve.rundir import open_run
from tests.fakes.endpoint import Endpoint
from tests.integrations.dspy.fakes import Failing, compiled


class Tiring(Failing):
    """Answers the validation set alone."""

    def __init__(self) -> None:
        super().__init__("^question")


def test_rollouts_that_always_fail_stop_the_compile_and_say_why(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    with pytest.raises(FlashEvolveError, match=r"improved by: ValueError: cannot answer question"):
        compiled(endpoint, tmp_path / "run", Tiring(), max_metric_calls=5000)
    spent = open_run(tmp_path / "run").state.ledger.spent["metric_calls"]
    assert spent < 500


class Forking(dspy.Module):  # type: ignore[misc]
    """Has a predictor that no example needs."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = dspy.Predict("question -> answer")
        self.spare = dspy.Predict("question -> other")

    def forward(self, question: str) -> Any:
        return self.answer(question=question)


def test_a_predictor_that_no_example_reaches_does_not_stop_the_compile(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    def spare(*_: Any, **__: Any) -> list[str]:
        return ["spare"]

    optimizer, _ = compiled(
        endpoint, tmp_path / "run", Forking(), component_selector=spare, max_metric_calls=150
    )
    assert optimizer.result.reason == "metric_calls"
    assert optimizer.result.counters["skipped"] > 20
