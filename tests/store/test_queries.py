import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from flashevolve.errors import StoreError
from flashevolve.events import RunStarted
from flashevolve.store import StoreReader, StoreWriter
from flashevolve.store.queries import RECORDS
from tests.store.fixtures.make_schema_1 import LOG
from tests.store.made import life, outcome, reserved, settled, taken


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[StoreWriter]:
    with closing(StoreWriter.create(tmp_path, mode="inline")) as writer:
        yield writer


def test_records_of_the_three_tables_come_in_one_order(writer: StoreWriter) -> None:
    groups = life(30)
    for i, group in enumerate(groups):
        writer.append(group, i / 4)
    appended = [(i / 4, event) for i, group in enumerate(groups) for event in group]
    records = list(writer.records())
    assert [(r.t_s, r.event) for r in records] == appended
    assert [r.seq for r in records] == list(range(1, len(appended) + 1))
    assert writer.seq == len(appended)


def test_records_after_a_number_are_the_rest(writer: StoreWriter) -> None:
    for group in life(5):
        writer.append(group, 0.0)
    everything = list(writer.records())
    for after in range(writer.seq + 1):
        assert list(writer.records(after)) == everything[after:]


def test_the_merge_needs_no_sorting_so_memory_stays_bounded(writer: StoreWriter) -> None:
    with closing(sqlite3.connect(writer.path)) as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {RECORDS}", {"after": 0}).fetchall()
    assert "TEMP B-TREE" not in str(plan)
    assert str(plan).count("MERGE") == 3


def test_the_journal_of_an_item_has_its_calls_and_outcomes_only(writer: StoreWriter) -> None:
    writer.append([reserved(1), reserved(2, ticket=2), reserved(3), settled(3)], 0.0)
    writer.append([outcome("e1"), outcome("e1", ticket=2), outcome("e2")], 0.0)
    assert writer.journal_calls(1) == [(reserved(1), None), (reserved(3), settled(3))]
    assert writer.journal_outcomes(1) == [outcome("e1"), outcome("e2")]
    assert writer.journal_calls(3) == []
    assert writer.journal_outcomes(3) == []


def test_two_artifacts_may_be_evaluated_on_one_example_in_one_visit(writer: StoreWriter) -> None:
    both = [outcome(artifact="parent"), outcome(artifact="child")]
    writer.append(both, 0.0)
    assert writer.journal_outcomes(1) == both


def test_only_outcomes_that_are_not_fresh_are_shared(writer: StoreWriter) -> None:
    writer.append([outcome("e1", fresh=True, score=0.1), outcome("e2", 2, score=0.2)], 0.0)
    writer.append([outcome("e2", 3, score=0.3)], 0.0)
    key = ("val", "e2", 0)
    assert list(writer.shared_artifacts()) == ["a"]
    assert list(writer.shared_scores("a")) == [(key, (0.2, {})), (key, (0.3, {}))]
    assert list(writer.shared_scores("b")) == []


def test_the_latest_snapshot_replaces_earlier_ones(writer: StoreWriter) -> None:
    assert writer.latest_snapshot() is None
    writer.append([taken(1), taken(2)], 0.0)
    for seq in (1, 2):
        writer.snapshot(seq, {"seq": seq, "text": "t" * 300})
    assert writer.latest_snapshot() == (2, {"seq": 2, "text": "t" * 300})
    with closing(sqlite3.connect(writer.path)) as connection:
        assert connection.execute("SELECT seq FROM snapshots").fetchall() == [(2,)]


def test_a_text_is_stored_once_however_often_it_occurs(writer: StoreWriter) -> None:
    prompt, half_pair = "prompt " * 100, "\ud83d" * 201
    for call in (1, 2, 3):
        writer.append([reserved(call, request={"a": prompt, "b": [prompt, half_pair]})], 0.0)
    assert writer.journal_calls(1)[2][0].request == {"a": prompt, "b": [prompt, half_pair]}
    with closing(sqlite3.connect(writer.path)) as connection:
        stored = dict(connection.execute("SELECT text, hash FROM texts").fetchall())
    assert len(stored) == 2
    assert writer.text(stored[prompt]) == prompt


def test_the_run_id_is_stored_once_the_run_has_started(writer: StoreWriter) -> None:
    def meta() -> dict[str, str]:
        with closing(sqlite3.connect(writer.path)) as connection:
            return dict(connection.execute("SELECT key, value FROM meta").fetchall())

    assert meta() == {"schema_version": "1"}
    (started,) = LOG[0]
    assert isinstance(started, RunStarted)
    writer.append([started], 0.0)
    assert len(list(writer.records())) == 1  # commits, inline
    assert meta() == {"schema_version": "1", "run_id": "frozen"}


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("DELETE FROM texts", "refers to text [0-9a-f]{32}, which it does not hold"),
        ("UPDATE events SET event = '{'", "holds a row that cannot be read"),
        ('UPDATE events SET event = \'{"kind":"new"}\'', "holds a row that cannot be read"),
        ("DROP TABLE outcomes", "cannot read .*no such table"),
    ],
)
def test_a_damaged_store_says_so_in_one_line(tmp_path: Path, damage: str, says: str) -> None:
    with closing(StoreWriter.create(tmp_path, mode="inline")) as writer:
        writer.append([taken(1), reserved(1, request={"long": "x" * 300})], 0.0)
    with closing(sqlite3.connect(tmp_path / "run.sqlite", isolation_level=None)) as connection:
        connection.execute(damage)
    with StoreReader(tmp_path) as reader:
        with pytest.raises(StoreError, match=says) as refused:
            list(reader.records())
        assert str(tmp_path / "run.sqlite") in str(refused.value)
        assert "\n" not in str(refused.value)


def test_a_row_of_the_wrong_kind_is_refused(tmp_path: Path) -> None:
    with closing(StoreWriter.create(tmp_path, mode="inline")) as writer:
        writer.append([reserved(1), settled(1)], 0.0)
    with closing(sqlite3.connect(tmp_path / "run.sqlite", isolation_level=None)) as connection:
        connection.execute("UPDATE calls SET reserved = settled")
    wrong = pytest.raises(StoreError, match="holds call_settled where CallReserved belongs")
    with StoreReader(tmp_path) as reader, wrong:
        reader.journal_calls(1)
