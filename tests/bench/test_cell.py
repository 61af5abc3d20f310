from dataclasses import replace
from pathlib import Path

import pytest

from flashevolve.bench.cell import Arm, Cell, Job, append_row, one_world, read_rows
from flashevolve.errors import ConfigError, DataError
from tests.bench.made import JOB, a_row


def test_rows_survive_a_file(tmp_path: Path) -> None:
    rows = [a_row("sync", 0, test=0.5), a_row("full", 0, test=None)]
    for row in rows:
        append_row(tmp_path / "r.jsonl", row)
    assert read_rows(tmp_path / "r.jsonl") == rows


def test_a_line_that_is_no_row_is_named(tmp_path: Path) -> None:
    append_row(tmp_path / "r.jsonl", a_row("sync", 0))
    with (tmp_path / "r.jsonl").open("a") as file:
        file.write('{"arm": 1}\n')
    with pytest.raises(DataError, match=r"r\.jsonl, line 2: expected a row that"):
        read_rows(tmp_path / "r.jsonl")
    with pytest.raises(DataError, match="expected a file of rows"):
        read_rows(tmp_path / "none.jsonl")


def test_rows_of_two_worlds_never_meet() -> None:
    one, other, real = a_row("a", 0), a_row("a", 1, world="x"), a_row("a", 2, world="")
    assert one_world([one, one]) == "w"
    assert one_world([real]) == ""
    with pytest.raises(ConfigError, match="one simulated world, or all of real endpoints, found"):
        one_world([one, other])
    with pytest.raises(ConfigError, match="found a real endpoint, world w"):
        one_world([one, real])


def test_a_jobs_key_tells_all_settings_and_no_measures() -> None:
    others = [
        replace(JOB, seed=1),
        replace(JOB, group="g"),
        replace(JOB, arm=Arm(name="hand", settings={"policy": "full"})),
        replace(JOB, cell=Cell(minutes=10.0, concurrency=5)),
    ]
    assert len({job.key for job in [JOB, *others]}) == 5
    assert Job(**{**vars(JOB), "measures": (dict,)}).key == JOB.key
