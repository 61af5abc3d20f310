import asyncio
import shutil
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import gettempdir

import pytest

from flashevolve.errors import StoreError
from flashevolve.events import Event
from flashevolve.store import StoreReader, StoreWriter, reader
from tests.store.made import life, taken

N_TRANSACTIONS = 40


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run as a kill leaves it: everything still in the write-ahead log, many commits."""
    live, copy = tmp_path_factory.mktemp("live"), tmp_path_factory.mktemp("runs") / "crashed"

    async def write(writer: StoreWriter) -> None:
        for i, group in enumerate(life(N_TRANSACTIONS)):
            writer.append(group, float(i))
            await writer.durable()

    with closing(StoreWriter.create(live)) as writer:
        asyncio.run(write(writer))
        shutil.copytree(live, copy)
    assert (copy / "run.sqlite-wal").stat().st_size > 100_000
    return copy


def events(run_dir: Path) -> list[Event]:
    with StoreReader(run_dir) as store:
        return [record.event for record in store.records()]


def prefixes() -> dict[int, list[Event]]:
    """All prefixes of the log that end between two transactions, by their length."""
    log: list[Event] = []
    found = {0: log}
    for group in life(N_TRANSACTIONS):
        log = [*log, *group]
        found[len(log)] = log
    return found


def test_a_crashed_run_is_read_in_full(crashed: Path) -> None:
    assert events(crashed) == [event for group in life(N_TRANSACTIONS) for event in group]


def test_reading_leaves_the_directory_as_it_was(crashed: Path) -> None:
    before = {path.name: path.read_bytes() for path in crashed.iterdir()}
    events(crashed)
    assert {path.name: path.read_bytes() for path in crashed.iterdir()} == before


def test_reading_leaves_no_copy_behind(
    crashed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert gettempdir() == str(tmp_path)
    with StoreReader(crashed) as store:
        assert len(list(tmp_path.iterdir())) == 1
    store.close()
    (crashed.parent / "empty").mkdir()
    (crashed.parent / "empty" / "run.sqlite").touch()
    with pytest.raises(StoreError, match="is not a run's store"):
        StoreReader(crashed.parent / "empty")
    assert list(tmp_path.iterdir()) == []


def test_a_torn_log_gives_a_prefix_of_whole_transactions(crashed: Path, tmp_path: Path) -> None:
    size = (crashed / "run.sqlite-wal").stat().st_size
    whole = prefixes()
    draw = Random(1)
    lengths = set()
    for offset in [0, 1, 31, 32, 33, size - 1, *(draw.randrange(size) for _ in range(30))]:
        torn = tmp_path / str(offset)
        shutil.copytree(crashed, torn)
        with (torn / "run.sqlite-wal").open("r+b") as file:
            file.truncate(offset)
        found = events(torn)
        assert found == whole[len(found)]
        lengths.add(len(found))
        with closing(StoreWriter.open(torn)) as writer:
            assert writer.append([taken(999)], 0.0) == len(found) + 1
        assert events(torn) == [*found, taken(999)]
        shutil.rmtree(torn)
    assert len(lengths) > 10


def test_garbage_at_the_end_of_the_log_is_dropped(crashed: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn"
    shutil.copytree(crashed, torn)
    with (torn / "run.sqlite-wal").open("r+b") as file:
        file.seek(-5000, 2)
        file.write(b"\xde\xad" * 2500)
    found = events(torn)
    assert 0 < len(found) < len(events(crashed))
    assert found == prefixes()[len(found)]


def test_a_torn_database_is_refused_in_one_line(tmp_path: Path) -> None:
    with closing(StoreWriter.create(tmp_path, mode="inline")) as writer:
        for group in life(200):
            writer.append(group, 0.0)
    path = tmp_path / "run.sqlite"
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    with pytest.raises(StoreError, match=r"run\.sqlite: .*malformed\. The file is damaged") as said:
        events(tmp_path)
    assert "\n" not in str(said.value)


def test_a_reader_beside_a_writer_sees_a_prefix_and_stays_with_it(tmp_path: Path) -> None:
    async def write_and_read() -> None:
        with closing(StoreWriter.create(tmp_path)) as writer:
            writer.append([taken(1)], 0.0)
            await writer.durable()
            with StoreReader(tmp_path) as store:
                writer.append([taken(2)], 0.0)
                await writer.durable()
                assert [r.event for r in store.records()] == [taken(1)]
            assert events(tmp_path) == [taken(1), taken(2)]

    asyncio.run(write_and_read())


def test_a_log_started_over_during_the_copy_is_copied_again(
    crashed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = tmp_path / "live"
    shutil.copytree(crashed, live)
    copies: list[str] = []
    copyfile = shutil.copyfile

    def copy_with_interruption(source: Path, target: Path) -> None:
        copies.append(Path(source).name)
        copyfile(source, target)
        if len(copies) == 1:  # opening and closing moves the whole log into the database
            StoreWriter.open(live).close()

    monkeypatch.setattr("flashevolve.store.reader.shutil.copyfile", copy_with_interruption)
    assert len(events(live)) == max(prefixes())
    assert copies.count("run.sqlite") == 2


def test_a_run_written_and_closed_during_the_copy_is_copied_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    StoreWriter.create(tmp_path).close()
    copies: list[str] = []
    copyfile = shutil.copyfile

    def copy_with_interruption(source: Path, target: Path) -> None:
        copies.append(Path(source).name)
        if len(copies) == 1:
            half = Path(source).read_bytes()[:4096]
            with closing(StoreWriter.open(tmp_path)) as writer:
                for group in life(20):
                    writer.append(group, 0.0)
            Path(target).write_bytes(half)
        else:
            copyfile(source, target)

    monkeypatch.setattr("flashevolve.store.reader.shutil.copyfile", copy_with_interruption)
    assert events(tmp_path) == [event for group in life(20) for event in group]
    assert copies.count("run.sqlite") == 2


def test_a_log_that_never_holds_still_is_given_up(
    crashed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = iter(range(10**6))
    monkeypatch.setattr(reader, "_generation", lambda source, wal: (next(changes), 0))
    with pytest.raises(StoreError, match="changes faster than it can be copied"):
        StoreReader(crashed)
