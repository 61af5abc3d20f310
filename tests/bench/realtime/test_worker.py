"""Every client, on a tiny cell: what the suite asks of each of them."""

from dataclasses import replace

import pytest

from flashevolve.bench.cell import Arm, Row
from flashevolve.bench.realtime.execute import execute
from flashevolve.bench.realtime.worker import CLIENTS, OWN, cpu_s, peak_mb
from flashevolve.bench.suite import Options, suite


def ran(client: str) -> Row:
    (job, *_) = suite("gepa").jobs(Options(seeds=1, quick=True))
    settings = {"client": client, "parents": 2, "proposals": 2}
    return execute(replace(job, arm=Arm(name=client, settings=settings)))


@pytest.mark.parametrize(
    "client", [pytest.param(c, marks=() if c == OWN else pytest.mark.slow) for c in CLIENTS]
)
def test_every_client_spends_its_budget_and_finds_candidates(client: str) -> None:
    row = ran(client)
    made = row.figures["metric_calls"] or 0.0
    assert made >= 48  # of 72; what is left may not meet a whole sweep
    assert row.figures["reflections"]
    assert row.figures["left"] == 0
    assert len(row.curves["bests"]) >= 1
    assert row.curves["bests"][0][0] <= made
    assert 0 < (row.figures["seed_test"] or 0) <= 1


def test_a_process_tells_its_time_and_its_memory() -> None:
    assert cpu_s() > 0
    peak = peak_mb()
    assert peak is None or 10 < peak < 100_000
