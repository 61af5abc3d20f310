import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from flashevolve.errors import StoreError
from flashevolve.store.group import Group
from flashevolve.store.schema import connect, create_tables, use_wal
from tests.store.made import outcome, reserved, settled, taken


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    path = tmp_path / "run.sqlite"
    with closing(connect(path)) as connection:
        create_tables(connection, path)
        use_wal(connection, path)
        yield connection


def n_rows(connection: sqlite3.Connection) -> int:
    tables = ("events", "calls", "outcomes", "texts", "snapshots")
    return sum(connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in tables)


def test_a_group_that_meets_a_full_disk_leaves_nothing(connection: sqlite3.Connection) -> None:
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count={pages + 20}")
    small, large = Group(), Group()
    small.add_event(taken(1), 1, 0.0)
    large.add_event(reserved(1), 1, 0.0)
    for seq in range(2, 200):
        large.add_event(outcome(str(seq), output=f"{seq} " * 500), seq, 0.0)
    with pytest.raises(sqlite3.OperationalError, match="database or disk is full"):
        large.write(connection)
    assert n_rows(connection) == 0
    small.write(connection)
    assert n_rows(connection) == 1


def test_a_call_may_be_reserved_and_settled_in_one_group(connection: sqlite3.Connection) -> None:
    group = Group()
    group.add_event(reserved(1), 1, 0.0)
    group.add_event(settled(1), 2, 0.5)
    group.write(connection)
    row = connection.execute("SELECT reserved_seq, settled_seq, settled_t_s FROM calls").fetchone()
    assert row == (1, 2, 0.5)


def test_a_settlement_without_a_reservation_leaves_nothing(connection: sqlite3.Connection) -> None:
    group = Group()
    group.add_event(taken(1), 1, 0.0)
    group.add_event(settled(7), 2, 0.0)
    with pytest.raises(StoreError, match=r"expected 1 unsettled calls to settle, found 0, .*\[7\]"):
        group.write(connection)
    assert n_rows(connection) == 0


def test_an_extended_group_keeps_the_order_of_its_parts(connection: sqlite3.Connection) -> None:
    whole, part = Group(), Group()
    whole.add_event(taken(1), 1, 0.0)
    part.add_event(taken(2), 2, 0.0)
    part.add_snapshot(2, {"n": 2})
    whole.extend(part)
    assert whole.n_rows == 3
    whole.write(connection)
    assert connection.execute("SELECT seq, ticket FROM events").fetchall() == [(1, 1), (2, 2)]


def test_the_size_of_a_snapshot_counts_its_texts() -> None:
    group = Group()
    assert group.add_snapshot(1, {"text": "t" * 5000}) > 5000
