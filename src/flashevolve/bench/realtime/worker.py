"""One client in a process of its own: `python -m flashevolve.bench.realtime.worker RESULT`.

It reads its brief from standard input and writes what it found to the file RESULT, so that what the
client prints is in nobody's way. Only the optimizer's own call is timed: what it imports, and
scoring on test, stand outside.
"""

import gc
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from flashevolve.bench.realtime.brief import Brief, Found
from flashevolve.bench.realtime.data import Data, data_of
from flashevolve.bench.realtime.evolved import Evolved

GEPA, DROP_IN, OWN = "gepa", "drop-in", "own"
DSPY, DROP_IN_DSPY = "dspy", "drop-in-dspy"
CLIENTS = (GEPA, DROP_IN, OWN, DSPY, DROP_IN_DSPY)
MEGA = 1024.0 * 1024.0


def ready(brief: Brief, data: Data) -> Callable[[], Evolved]:
    """Returns the brief's client with all that it needs imported."""
    if brief.client in (DSPY, DROP_IN_DSPY):
        from flashevolve.bench.realtime import dspy_clients

        peer = brief.client == DSPY
        client = dspy_clients.dspy_client if peer else dspy_clients.drop_in_dspy_client
        return client(brief, data)
    if brief.client == OWN:
        from flashevolve.bench.realtime.own_client import own_client

        return own_client(brief, data)
    from flashevolve.bench.realtime import gepa_clients

    peer = brief.client == GEPA
    return (gepa_clients.gepa_client if peer else gepa_clients.drop_in_client)(brief, data)


def scored(brief: Brief, data: Data, found: Evolved) -> tuple[float, float]:
    """Returns the means on test of what was found and of the seed."""
    if found.program is not None:
        from flashevolve.bench.realtime.dspy_clients import dspy_test_scores

        return dspy_test_scores(brief, data, found.program)
    from flashevolve.bench.realtime.gepa_clients import test_scores

    return test_scores(brief, data, dict(found.best))


def work(brief: Brief) -> Found:
    """Runs the client, measures it and scores what it made."""
    data = data_of(brief)
    run = ready(brief, data)
    imports_mb = peak_mb()
    forget_peak()
    loaded_mb = peak_mb()
    before_cpu_s, began_s = cpu_s(), time.monotonic()
    found = run()
    ended_s, after_cpu_s = time.monotonic(), cpu_s()
    peak = peak_mb()
    largest_mb = None if peak is None else max(peak, imports_mb or 0.0)
    test, seed_test = scored(brief, data, found)
    return Found(
        began_s=began_s,
        ended_s=ended_s,
        cpu_s=after_cpu_s - before_cpu_s,
        peak_mb=largest_mb,
        loaded_mb=loaded_mb,
        client_peak_mb=peak,
        candidates=found.candidates,
        best=dict(found.best),
        test=test,
        seed_test=seed_test,
    )


def cpu_s() -> float:
    """Returns the processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])


def peak_mb() -> float | None:
    """Returns the largest resident memory so far; None where the system does not tell."""
    # Linux's `ru_maxrss` is never below that of the process that started this one.
    with suppress(OSError):
        for line in Path("/proc/self/status").read_bytes().splitlines():
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) / 1024.0
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MEGA if sys.platform == "darwin" else peak / 1024.0


def forget_peak() -> None:
    """Makes `peak_mb` begin again at what is resident now, where the system can do that.

    Elsewhere what it tells stays that of the imports, and a growth is told too small.
    """
    gc.collect()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def main() -> None:
    """Does what standard input asks for."""
    found = work(Brief.from_json(sys.stdin.read()))
    Path(sys.argv[1]).write_text(found.to_json(), encoding="utf-8")


if __name__ == "__main__":
    main()
