"""A process that runs a small evolution and may kill itself, as `kill -9` would, at a chosen point.

`python -m tests.fakes.doomed OPTIONS` with OPTIONS as JSON: what `evolution` takes, and `die_at`:
`["append", n]` = as the store is handed its n-th transaction, `[x, n]` = its n-th with an event of
kind or stage x; null = never. Says `finished` when the run has ended.
"""

import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import flashevolve as fe
from flashevolve.events import Event
from flashevolve.store.writer import StoreWriter
from tests.fakes.small import evolution, lottery


def die_at(kind: str, number: int) -> None:
    """Makes this process kill itself at its `number`-th append of a kind."""
    append = StoreWriter.append
    seen = 0

    def fatal(self: StoreWriter, events: Sequence[Event], t_s: float) -> int:
        nonlocal seen
        last = append(self, events, t_s)
        seen += kind == "append" or any(kind in (e.kind, getattr(e, "stage", "")) for e in events)
        if seen == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return last

    StoreWriter.append = fatal  # type: ignore[method-assign]


def main() -> None:
    given = json.loads(sys.argv[1])
    if (death := given.pop("die_at", None)) is not None:
        die_at(*death)
    budget = fe.Budget(**given.pop("budget"))
    base_url, run_dir = given.pop("base_url"), Path(given.pop("run_dir"))
    options = evolution(base_url, run_dir, budget=budget, score=lottery, **given)
    try:
        sys.stdout.write(f"finished: {fe.optimize(**options).reason}\n")
    except fe.FlashEvolveError as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
