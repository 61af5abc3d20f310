"""Runs that an older version made: what it could not record is no change of the user's."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import flashevolve as fe
from flashevolve import events as ev
from flashevolve.config.compare import ADDED_LATER
from flashevolve.data.loaders import load_splits
from flashevolve.launch import settings_from
from flashevolve.prepare import prepare
from flashevolve.rundir import read_records
from flashevolve.workloads.instructions import score
from tests.test_determinism import DATA, evolve

FIXED: dict[str, Any] = {"control": {"mode": "fixed"}}


def age(run_dir: Path) -> None:
    """Removes from a run's first event what an older version did not know."""
    with closing(sqlite3.connect(run_dir / "run.sqlite")) as db:
        ((text,),) = db.execute("select event from events where seq = 1").fetchall()
        event = json.loads(text)
        for table, key in ADDED_LATER:
            event["config"].get(table, {}).pop(key, None)
        for table in ("control", "speculation", "gateway"):
            assert event["config"].pop(table) == {}
        db.execute("update events set event = ? where seq = 1", (json.dumps(event),))
        db.commit()


def stop_early(run_dir: Path, **options: Any) -> None:
    """Makes a run that is stopped after a while."""
    settings = settings_from(
        has_run=False,
        run_dir=run_dir,
        seed={"system": "Follow the instructions."},
        budget=fe.Budget(metric_calls=150),
        models="sim/h100-qwen3-8b",
        concurrency=8,
        input="prompt",
        **options,
    )
    splits = load_splits(DATA["train"], DATA["val"], DATA["test"], id_field="key")
    run = fe.Run(prepare(settings, splits=splits, score=score))
    run.observe(lambda record: run.stop() if record.seq == 100 else None)
    assert run.result().resumable


def changes_of_resumes(run_dir: Path) -> list[dict[str, Any]]:
    events = [record.event for record in read_records(run_dir)]
    return [event.changes for event in events if isinstance(event, ev.RunResumed)]


def test_a_finished_run_of_an_older_version_is_reported_and_not_opened_again(
    tmp_path: Path,
) -> None:
    run_dir = tmp_path / "run"
    evolve(run_dir, **FIXED)
    age(run_dir)
    before = len(list(read_records(run_dir)))
    evolve(run_dir)
    assert len(list(read_records(run_dir))) == before


@pytest.mark.parametrize(
    ("control", "changed"),
    [
        ({}, None),
        ({"mode": "fixed"}, None),
        ({"tick_s": 60.0}, "fixed"),
        ({"mode": "adaptive"}, "adaptive"),
    ],
)
def test_an_older_run_keeps_its_fixed_workers_unless_another_mode_is_chosen(
    control: dict[str, Any], changed: str | None, tmp_path: Path
) -> None:
    run_dir = tmp_path / "run"
    stop_early(run_dir, **FIXED)
    age(run_dir)
    evolve(run_dir, control=control)
    (changes,) = changes_of_resumes(run_dir)
    assert list(changes) == ([] if changed is None else ["control"])
    assert changed is None or changes["control"]["mode"] == changed


def test_an_older_run_that_goes_on_ends_as_one_with_fixed_workers(tmp_path: Path) -> None:
    for name, aged in (("aged", True), ("new", False)):
        stop_early(tmp_path / name, **FIXED)
        if aged:
            age(tmp_path / name)
    aged_lines = evolve(tmp_path / "aged")
    assert aged_lines[1:] == evolve(tmp_path / "new", **FIXED)[1:]
