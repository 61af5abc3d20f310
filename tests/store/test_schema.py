import sqlite3
from contextlib import closing
from pathlib import Path
from shutil import copytree

import pytest

from flashevolve.errors import StoreError
from flashevolve.events import SCHEMA_VERSION
from flashevolve.store import StoreReader, StoreWriter, schema
from tests.store.fixtures.make_schema_1 import LOG, STATE
from tests.store.made import taken

FROZEN = Path(__file__).parent / "fixtures" / "schema_1"


def test_a_store_written_with_schema_1_opens(tmp_path: Path) -> None:
    with StoreReader(FROZEN) as reader:
        assert [r.event for r in reader.records()] == [event for group in LOG for event in group]
        assert reader.latest_snapshot() == (3, STATE)


def test_a_store_written_with_schema_1_is_continued(tmp_path: Path) -> None:
    copytree(FROZEN, tmp_path / "run")
    with closing(StoreWriter.open(tmp_path / "run")) as writer:
        assert writer.append([taken(9)], 2.0) == sum(map(len, LOG)) + 1
    assert not list(FROZEN.glob("*-wal")), "reading must not touch the run"


def test_a_newer_schema_is_refused_naming_both_versions(tmp_path: Path) -> None:
    StoreWriter.create(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "run.sqlite")) as connection:
        connection.execute("PRAGMA user_version=7")
    for opens in (StoreWriter.open, StoreReader):
        with pytest.raises(StoreError, match=rf"version 7, .* up to {SCHEMA_VERSION}\. Upgrade"):
            opens(tmp_path)


def test_an_older_schema_is_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    StoreWriter.create(tmp_path).close()
    monkeypatch.setattr(schema, "SCHEMA_VERSION", 3)
    to_2, to_3 = ("ALTER TABLE meta ADD COLUMN a",), ("ALTER TABLE meta RENAME COLUMN a TO b",)
    monkeypatch.setattr(schema, "MIGRATIONS", (to_2, to_3))
    with StoreReader(tmp_path) as reader:
        assert dict(reader._rows("SELECT key, value FROM meta"))["schema_version"] == "3"
    for _ in range(2):  # the second time there is nothing left to do
        StoreWriter.open(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "run.sqlite")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (3,)
        assert connection.execute("SELECT b FROM meta").fetchall() == [(None,)]


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "run.sqlite")) as connection:
        connection.execute("CREATE TABLE bookmarks (url)")
    for opens in (StoreWriter.open, StoreReader):
        with pytest.raises(StoreError, match="is not a run's store"):
            opens(tmp_path)
    with pytest.raises(StoreError, match="already holds"):
        StoreWriter.create(tmp_path)


def test_a_file_that_is_not_a_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.sqlite").write_bytes(b"It was a dark and stormy night. " * 64)
    for opens in (StoreWriter.open, StoreWriter.create, StoreReader):
        with pytest.raises(StoreError, match=r"run\.sqlite: file is not a database\. The file"):
            opens(tmp_path)


def test_a_missing_run_is_refused(tmp_path: Path) -> None:
    for opens in (StoreWriter.open, StoreReader):
        with pytest.raises(StoreError, match=r"no run in .*absent: run\.sqlite not found"):
            opens(tmp_path / "absent")


def test_a_file_system_without_shared_memory_is_refused() -> None:
    # An in-memory database offers no write-ahead log either.
    refused = pytest.raises(StoreError, match=r"cannot use a write-ahead log for here: .*'memory'")
    with closing(sqlite3.connect(":memory:")) as connection, refused:
        schema.use_wal(connection, Path("here"))
