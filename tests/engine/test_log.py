from collections.abc import Mapping
from typing import Any

import pytest

from flashevolve import events as ev
from flashevolve.engine import log
from flashevolve.engine.log import SNAPSHOT_CHARS_PER_EVENT, SNAPSHOT_EVERY, EventLog
from flashevolve.engine.state import RunState
from flashevolve.pools.head import HeadPool
from tests.fakes.writer import MemoryStore


class Scales(MemoryStore):
    """Says that every snapshot has the given size."""

    def __init__(self, n_chars: int) -> None:
        super().__init__()
        self.n_chars = n_chars

    def snapshot(self, seq: int, state: Mapping[str, Any]) -> int:
        super().snapshot(seq, state)
        return self.n_chars


def snapshots_at(n_chars: int, n_events: int) -> list[int]:
    store = Scales(n_chars)
    state = RunState(HeadPool(), {}, lambda payload: payload)
    written = EventLog(store, state, lambda: 0.0, lambda payload: payload)
    for n in range(n_events):
        written.append(ev.LimitChanged(account="a", limit=n, reason=""))
    return [seq for seq, _ in store.snapshots]


def test_a_small_state_is_stored_every_so_many_events() -> None:
    at = snapshots_at(1, 3 * SNAPSHOT_EVERY)
    assert at == [SNAPSHOT_EVERY, 2 * SNAPSHOT_EVERY, 3 * SNAPSHOT_EVERY]


def test_a_large_state_waits_for_more_events() -> None:
    at = snapshots_at(2 * SNAPSHOT_EVERY * SNAPSHOT_CHARS_PER_EVENT, 4 * SNAPSHOT_EVERY)
    assert at == [SNAPSHOT_EVERY, 3 * SNAPSHOT_EVERY]


def test_no_state_is_so_large_that_opening_it_would_fold_without_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log, "SNAPSHOT_EVERY_AT_MOST", 2 * SNAPSHOT_EVERY)
    at = snapshots_at(9 * SNAPSHOT_EVERY * SNAPSHOT_CHARS_PER_EVENT, 5 * SNAPSHOT_EVERY)
    assert at == [SNAPSHOT_EVERY, 3 * SNAPSHOT_EVERY, 5 * SNAPSHOT_EVERY]
