"""A run whose model is an object of the user's, given from Python."""

from pathlib import Path

import pytest

import flashevolve as fe
from flashevolve.errors import ConfigError
from flashevolve.launch import resume
from flashevolve.llm.messages import Reply, Request

TRAIN = [{"id": f"t{i}", "input": f"question {i}"} for i in range(6)]
VAL = [{"id": f"v{i}", "input": f"other question {i}"} for i in range(4)]


class Counting:
    """Answers with as many words as it was asked before, and counts what it said."""

    def __init__(self) -> None:
        self.n_asked = 0
        self.n_closed = 0

    async def complete(self, request: Request) -> Reply:
        self.n_asked += 1
        return Reply(text="word " * self.n_asked, tokens_in=7, tokens_out=3)

    async def close(self) -> None:
        self.n_closed += 1


def test_a_client_from_python_answers_under_the_runs_ledger(tmp_path: Path) -> None:
    client = Counting()
    result = fe.optimize(
        seed={"system": "Answer."},
        train=TRAIN,
        val=VAL,
        score=lambda example, output: min(len(output) / 500, 0.9),
        models=fe.Model("mine", client=client),
        budget=fe.Budget(metric_calls=30),
        concurrency=2,
        run_dir=tmp_path / "run",
    )
    assert result.usage.calls == client.n_asked > 30
    assert result.usage.tokens_in == 7 * client.n_asked
    assert client.n_closed >= 1
    with pytest.raises(ConfigError, match=r"started from Python .* call optimize again"):
        resume(tmp_path / "run")


def test_a_budget_in_dollars_needs_a_price_for_a_client(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"budget\.usd: expected a known price .*'gpt-4o-mini'"):
        fe.optimize(
            seed={"system": "Answer."},
            train=TRAIN,
            val=VAL,
            score=lambda example, output: 0.5,
            models=fe.Model("gpt-4o-mini", client=Counting()),
            budget=fe.Budget(metric_calls=30, usd=1),
            run_dir=tmp_path / "run",
        )
