"""gepa's experiment tracker, fed from a run; what it writes is what gepa's own run writes."""

from pathlib import Path
from typing import Any

import gepa
import gepa.api
import pytest
from gepa.logging import experiment_tracker

from flashevolve.integrations.gepa import optimize
from tests.fakes.adapters import DATA, SEED, Levels, add_x


class Tracker:
    """Keeps what is logged; stands where gepa has W&B and MLflow."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.logged: list[tuple[str, Any]] = []
        self.n_open = 0
        self.steps: list[int] = []

    def __enter__(self) -> "Tracker":
        self.n_open += 1
        return self

    def __exit__(self, *error: Any) -> None:
        self.n_open -= 1

    def log_config(self, config: dict[str, Any]) -> None:
        self.logged.append(("config", set(config)))

    def log_metrics(self, metrics: dict[str, Any], step: int) -> None:
        assert self.n_open == 1
        self.steps.append(step)
        self.logged.append(("metrics", set(metrics)))

    def log_summary(self, summary: dict[str, Any]) -> None:
        self.logged.append(("summary", set(summary)))

    def log_table(self, table_name: str, columns: list[str], data: list[list[Any]]) -> None:
        assert all(len(row) == len(columns) for row in data)
        self.logged.append((table_name, tuple(columns)))

    def log_html(self, html_content: str, key: str) -> None:
        assert "<" in html_content
        self.logged.append((key, None))

    def seen(self, name: str) -> list[Any]:
        return [value for told, value in self.logged if told == name]


@pytest.fixture
def trackers(monkeypatch: pytest.MonkeyPatch) -> list[Tracker]:
    made: list[Tracker] = []

    def create(**options: Any) -> Tracker:
        made.append(Tracker(**options))
        return made[-1]

    monkeypatch.setattr(experiment_tracker, "create_experiment_tracker", create)
    monkeypatch.setattr(gepa.api, "create_experiment_tracker", create)
    return made


class Silent:
    def log(self, message: str) -> None:
        pass


def test_what_is_tracked_is_what_gepa_tracks(trackers: list[Tracker], tmp_path: Path) -> None:
    class ForGepa(Levels):
        propose_new_texts = None

    options: dict[str, Any] = {
        "reflection_lm": add_x,
        "max_metric_calls": 120,
        "use_mlflow": True,
        "tracking_key_prefix": "mine/",
        "logger": Silent(),
    }
    gepa.optimize(SEED, DATA, DATA, ForGepa(), **options)
    optimize(SEED, DATA, DATA, Levels(), run_dir=str(tmp_path), policy="full", **options)
    theirs, ours = trackers
    assert ours.n_open == 0
    assert ours.options["key_prefix"] == "mine/"
    for table in ("candidates", "valset_scores", "valset_pareto_front", "proposals"):
        assert set(ours.seen(table)) == set(theirs.seen(table)), table
    assert ours.seen("summary") == theirs.seen("summary")
    assert ours.seen("config")[0] >= theirs.seen("config")[0]
    assert ours.seen("candidate_tree")
    assert all(any(keys <= own for own in ours.seen("metrics")) for keys in theirs.seen("metrics"))
    assert ours.steps == sorted(ours.steps)


def test_nothing_is_tracked_unless_asked_for(trackers: list[Tracker], tmp_path: Path) -> None:
    optimize(
        SEED,
        DATA,
        DATA,
        Levels(),
        reflection_lm=add_x,
        max_metric_calls=60,
        logger=Silent(),
        run_dir=str(tmp_path),
        policy="full",
    )
    assert trackers == []
