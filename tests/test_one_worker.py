"""With one step in flight nothing is ever stale, so every policy does the same, byte for byte."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.test_determinism import evolve


def without_configuration(lines: list[str]) -> list[dict[str, Any]]:
    """Returns the events after the first, which alone holds the configuration."""
    return [json.loads(line) for line in lines[1:]]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    run_dir = tmp_path_factory.mktemp("alone") / "run"
    return without_configuration(evolve(run_dir, policy="full", limits={"in_flight": 1}))


@pytest.mark.parametrize(
    "options",
    [
        {"policy": "guarded", "limits": {"in_flight": 1}},
        {"policy": "guarded", "staleness": {"delta_max": 0}, "limits": {"in_flight": 1}},
        {"policy": "reflective", "limits": {"in_flight": 1}},
        {"policy": "regenerate", "limits": {"in_flight": 1}},
        {"staleness": {"repair_batch": 4, "history": "shuffled"}, "limits": {"in_flight": 1}},
        {"schedule": "sync"},
    ],
    ids=["guarded", "guarded-0", "reflective", "regenerate", "batch", "sync"],
)
def test_one_step_in_flight_makes_all_policies_the_same(
    alone: list[dict[str, Any]], options: dict[str, Any], tmp_path: Path
) -> None:
    assert len(alone) > 300
    assert without_configuration(evolve(tmp_path / "run", **options)) == alone
