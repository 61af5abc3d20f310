from flashevolve.bench.memory import MemoryLog
from flashevolve.events import DrainStarted


def test_records_are_numbered_without_holes() -> None:
    log = MemoryLog()
    assert log.append([DrainStarted(reason="stop"), DrainStarted(reason="stop")], 1.5) == 2
    assert log.append([DrainStarted(reason="stop")], 2.0) == 3
    assert [record.seq for record in log.records] == [1, 2, 3]
    assert [record.t_s for record in log.records] == [1.5, 1.5, 2.0]
