from collections.abc import Mapping
from typing import Any

from flashevolve import events as ev
from flashevolve.engine.log import SNAPSHOT_BYTES_PER_EVENT, SNAPSHOT_EVERY, EventLog
from flashevolve.engine.state import RunState
from flashevolve.pools.head import HeadPool
from tests.fakes.writer import MemoryStore


class Scales(MemoryStore):
    """Says that every snapshot has the given size."""

    def __init__(self, n_bytes: int) -> None:
        super().__init__()
        self.n_bytes = n_bytes

    def snapshot(self, seq: int, state: Mapping[str, Any]) -> int:
        super().snapshot(seq, state)
        return self.n_bytes


def snapshots_at(n_bytes: int, n_events: int) -> list[int]:
    store = Scales(n_bytes)
    state = RunState(HeadPool(), {}, lambda payload: payload)
    log = EventLog(store, state, lambda: 0.0, lambda payload: payload)
    for n in range(n_events):
        log.append(ev.LimitChanged(account="a", limit=n, reason=""))
    return [seq for seq, _ in store.snapshots]


def test_a_small_state_is_stored_every_so_many_events() -> None:
    at = snapshots_at(1, 3 * SNAPSHOT_EVERY)
    assert at == [SNAPSHOT_EVERY, 2 * SNAPSHOT_EVERY, 3 * SNAPSHOT_EVERY]


def test_a_large_state_waits_for_more_events() -> None:
    at = snapshots_at(2 * SNAPSHOT_EVERY * SNAPSHOT_BYTES_PER_EVENT, 4 * SNAPSHOT_EVERY)
    assert at == [SNAPSHOT_EVERY, 3 * SNAPSHOT_EVERY]
