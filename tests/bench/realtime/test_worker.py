"""Every client, on a tiny cell: what the suite asks of each of them."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from flashevolve.bench.cell import Arm, Row
from flashevolve.bench.realtime.endpoint import Seen
from flashevolve.bench.realtime.execute import brief_of, environment, execute, run_client
from flashevolve.bench.realtime.gepa_clients import evolved
from flashevolve.bench.realtime.worker import CLIENTS, OWN, cpu_s, peak_mb
from flashevolve.bench.suite import Options, suite
from flashevolve.errors import ConfigError


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
    assert row.curves["bests"][0][0] >= 8  # the seed's validation
    assert row.curves["bests"][0][0] <= made
    peak_mb, grown_mb = row.figures["peak_mb"], row.figures["grown_mb"]
    assert peak_mb is None or (grown_mb is not None and 0 <= grown_mb < peak_mb)
    assert 0 < (row.figures["seed_test"] or 0) <= 1


def test_a_client_that_does_not_end_is_one_line(tmp_path: Path) -> None:
    (job, *_) = suite("gepa").jobs(Options(seeds=1, quick=True))
    brief = brief_of(job, Seen(urls={}), tmp_path)
    with pytest.raises(ConfigError, match=r"seed 0: expected the client to end within 0\.01 s"):
        run_client(job, brief, limit_s=0.01)


def test_no_proxy_stands_between_a_client_and_its_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://10.0.0.1:3128")
    monkeypatch.setenv("NO_PROXY", "example.org")
    for name in ("NO_PROXY", "no_proxy"):
        assert "127.0.0.1" in environment()[name].split(",")


def test_a_discovery_counts_the_candidates_own_validation() -> None:
    result = SimpleNamespace(
        discovery_eval_counts=[0, 26], val_aggregate_scores=[0.5, 0.75], best_candidate={"a": "b"}
    )
    assert evolved(result, 20).candidates == ((20, 0.5), (46, 0.75))


def test_a_process_tells_its_time_and_its_memory() -> None:
    assert cpu_s() > 0
    peak = peak_mb()
    assert peak is None or 10 < peak < 100_000


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak cannot be reset")
def test_what_imports_took_at_most_is_no_growth_of_the_client() -> None:
    code = (
        "from flashevolve.bench.realtime.worker import forget_peak, peak_mb\n"
        "big = bytearray(200 << 20)\n"
        "del big\n"
        "before = peak_mb()\n"
        "forget_peak()\n"
        "loaded = peak_mb()\n"
        "big = bytearray(50 << 20)\n"
        "print(before > 200, loaded < 150, 45 < peak_mb() - loaded < 55)"
    )
    # What the process that starts it takes is no part of it either.
    own = bytearray(300 << 20)
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True
    )
    del own
    assert told.stdout.split() == ["True", "True", "True"]
