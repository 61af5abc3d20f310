from pathlib import Path

import pytest

from flashevolve.cli.main import invoke
from tests.cli.made import simulated


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a finished simulated run, to be read only; run.toml stands beside it."""
    folder = tmp_path_factory.mktemp("finished")
    config = simulated(folder)
    assert invoke(["run", str(config), "--run-dir", str(folder / "run")]) == 0
    return folder / "run"
