from pathlib import Path

import pytest

import flashevolve as fe
from flashevolve.cli.main import invoke
from tests.cli.made import simulated
from tests.fakes.small import DATA


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a finished simulated run, to be read only; run.toml stands beside it."""
    folder = tmp_path_factory.mktemp("finished")
    config = simulated(folder)
    assert invoke(["run", str(config), "--run-dir", str(folder / "run")]) == 0
    return folder / "run"


@pytest.fixture(scope="session")
def evolved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose best is not its seed, whatever the reader writes: longer prompts score more."""
    seed = {"system": "Follow the instructions."}
    result = fe.optimize(
        seed=seed,
        **DATA,
        run=lambda artifact, example: artifact["system"],
        score=lambda example, output: (min(1.0, len(output) / 1000), "The title is missing."),
        models="sim/h100-qwen3-8b",
        budget=fe.Budget(metric_calls=150),
        concurrency=4,
        id_field="key",
        run_dir=tmp_path_factory.mktemp("evolved") / "run",
    )
    assert result.best.to_json() != seed
    return result.run_dir
