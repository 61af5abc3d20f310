"""Kill -9 anywhere; resume; nothing that was recorded is asked again, and nothing is lost.

Each case kills a process that evolves against a loopback endpoint: as its store is handed its n-th
transaction, at its n-th event of the repair stage, or while its n-th request is being answered. The
run is resumed and killed again a few times before it may finish.
"""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from flashevolve import events as ev
from flashevolve.errors import StoreError
from flashevolve.rundir import open_run, read_records
from tests.fakes.endpoint import Endpoint, Received, Step
from tests.fakes.small import asked_again, read_and_answer
from tests.source import ROOT, SRC

POLICIES = ("full", "guarded", "reflective")
CALLS: dict[str, Any] = {"metric_calls": 120}
TOKENS: dict[str, Any] = {"tokens": 30_000}
MAX_DEATHS = 3
FAST, ALL = range(3), range(1, 26)


@dataclass
class Killer:
    """The endpoint's script: kills the client as its `at`-th request arrives."""

    at: int = 0
    victim: "subprocess.Popen[str] | None" = None
    n_seen: int = 0

    def __call__(self, received: Received) -> Step:
        self.n_seen += 1
        if self.n_seen == self.at and self.victim is not None:
            os.kill(self.victim.pid, signal.SIGKILL)
        return read_and_answer(received)


@dataclass
class Case:
    """One run through all its deaths."""

    run_dir: Path
    policy: str = "reflective"
    schedule: str = "async"
    budget: Mapping[str, Any] = field(default_factory=lambda: CALLS)
    replicas: int = 1
    n_deaths: int = 0

    def live(self, endpoint: Endpoint, killer: Killer, death: tuple[str, int] | None) -> bool:
        """Runs one process, with or without a death; says whether the run has finished."""
        options = {
            "base_url": endpoint.base_url,
            "run_dir": str(self.run_dir),
            "policy": self.policy,
            "schedule": self.schedule,
            "budget": dict(self.budget),
            "replicas": self.replicas,
            "die_at": death if death and death[0] != "request" else None,
        }
        killer.at = killer.n_seen + death[1] if death and death[0] == "request" else 0
        with subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.fakes.doomed", json.dumps(options)],
            env={**os.environ, "PYTHONPATH": f"{SRC}:{ROOT}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as child:
            killer.victim = child
            out, err = child.communicate(timeout=100)
        if child.returncode == -signal.SIGKILL:
            self.n_deaths += 1
            return False
        assert child.returncode == 0, err
        assert out.startswith("finished")
        return True

    def check_after_death(self) -> None:
        """The store opens, and what it holds is whole."""
        if not holds_events(self.run_dir):
            return  # Killed before the first commit: nothing was sent, nothing is lost.
        state = open_run(self.run_dir).state
        counts = state.conservation()
        assert counts.pop("created") == sum(counts.values())

    def check_at_the_end(self, endpoint: Endpoint) -> None:
        records = list(read_records(self.run_dir))
        state = open_run(self.run_dir).state
        assert [r.seq for r in records] == list(range(1, len(records) + 1))
        assert asked_again(records) == []
        counts = state.conservation()
        assert counts["in_flight"] == 0
        assert counts.pop("created") == sum(counts.values()) > 3
        self._check_calls(records, endpoint)
        self._check_budget(records)

    def _check_calls(self, records: list[ev.Record], endpoint: Endpoint) -> None:
        """Every request was recorded before it was sent, and every record is settled once."""
        reserved = [r.event for r in records if isinstance(r.event, ev.CallReserved)]
        settled = [r.event for r in records if isinstance(r.event, ev.CallSettled)]
        assert Counter(c.call for c in reserved) == Counter(s.call for s in settled)
        assert {s.status for s in settled} <= {"ok", "orphaned", "transient"}
        recorded = Counter(_said(c.request["messages"]) for c in reserved)
        sent = Counter(_said(body["messages"]) for body in endpoint.bodies)
        assert sent <= recorded
        answered = sum(s.status == "ok" for s in settled)
        assert answered <= len(endpoint.received) <= len(reserved)
        if self.n_deaths == 0:
            assert answered == len(endpoint.received) == len(reserved)

    def _check_budget(self, records: list[ev.Record]) -> None:
        outcomes = [r.event for r in records if isinstance(r.event, ev.OutcomeRecorded)]
        keys = Counter(
            (o.ticket, o.stage, o.visit, o.artifact, o.example, o.replica) for o in outcomes
        )
        assert max(keys.values()) == 1
        if (limit := self.budget.get("metric_calls")) is not None:
            assert sum(o.split != "test" for o in outcomes) <= limit
        if (limit := self.budget.get("tokens")) is not None:
            settled = [r.event for r in records if isinstance(r.event, ev.CallSettled)]
            assert sum(s.usage.tokens for s in settled) <= limit


def holds_events(run_dir: Path) -> bool:
    try:
        return any(True for _ in read_records(run_dir))
    except StoreError:
        return False


def _said(messages: Any) -> str:
    return json.dumps([[m["role"], m["content"]] for m in messages])


def drawn_deaths(rng: Random, policy: str) -> list[tuple[str, int]]:
    """Draws how the run dies, again and again; a reflective one also inside the repair stage."""
    kinds = ["append", "append", "request"] + (["repair"] * 2 if policy == "reflective" else [])
    longest = {"append": 200, "request": 80, "repair": 12}
    deaths = []
    for _ in range(rng.randint(1, MAX_DEATHS)):
        kind = rng.choice(kinds)
        deaths.append((kind, rng.randint(1, longest[kind])))
    return deaths


def run_case(case: Case, deaths: list[tuple[str, int]]) -> None:
    killer = Killer()
    with Endpoint(killer) as endpoint:
        for death in [*deaths, None]:
            finished = case.live(endpoint, killer, death)
            if finished:
                break
            case.check_after_death()
        case.check_at_the_end(endpoint)


def kill_and_resume(policy: str, number: int, run_dir: Path) -> None:
    rng = Random(f"{policy} {number}")
    case = Case(run_dir, policy, budget=rng.choice([CALLS, TOKENS]))
    deaths = drawn_deaths(rng, policy)
    run_case(case, deaths)
    # A run may end with fewer repairs than were drawn; everything else must have killed it.
    assert case.n_deaths > 0 or deaths[0][0] == "repair"


@pytest.mark.parametrize("number", FAST)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_killed_run_repeats_no_recorded_call_and_loses_nothing(
    policy: str, number: int, tmp_path: Path
) -> None:
    kill_and_resume(policy, number, tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("number", ALL)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_run_killed_at_25_points_repeats_no_recorded_call_and_loses_nothing(
    policy: str, number: int, tmp_path: Path
) -> None:
    kill_and_resume(policy, number, tmp_path / "run")


def test_a_run_killed_inside_the_repair_stage_goes_on_there(tmp_path: Path) -> None:
    case = Case(tmp_path / "run")
    run_case(case, [("repair", 1), ("repair", 2), ("repair", 3)])
    assert case.n_deaths == 3
    repaired = [r for r in read_records(case.run_dir) if isinstance(r.event, ev.ItemRepaired)]
    assert repaired


# -- the sync schedule -------------------------------------------------------------------------


@cache
def undisturbed(replicas: int = 1) -> dict[str, Any]:
    """Returns what a run under the sync schedule comes to if nobody kills it."""
    with TemporaryDirectory() as directory:
        case = Case(Path(directory) / "run", schedule="sync", replicas=replicas)
        run_case(case, [])
        return essence(case.run_dir)


def essence(run_dir: Path) -> dict[str, Any]:
    """Returns what must not depend on where a run was killed."""
    state = open_run(run_dir).state
    best = state.pool.best()
    assert best is not None
    assert state.ended is not None
    return {
        "pool": state.pool.dump(),
        "best": best.artifact.to_json(),
        "counts": state.conservation(),
        "counters": dict(state.counters),
        "metric_calls": state.ledger.spent["metric_calls"],
        "tests": {which: test.mean for which, test in state.tests.items()},
        "reason": state.ended.reason,
    }


def kill_and_compare(number: int, run_dir: Path) -> None:
    case = Case(run_dir, schedule="sync")
    run_case(case, drawn_deaths(Random(f"sync {number}"), "full"))
    assert essence(run_dir) == undisturbed()


@pytest.mark.parametrize("number", FAST)
def test_under_the_sync_schedule_a_killed_run_ends_in_the_same_result(
    number: int, tmp_path: Path
) -> None:
    kill_and_compare(number, tmp_path / "run")


def test_a_run_killed_amid_the_replicas_of_its_sweeps_ends_in_the_same_result(
    tmp_path: Path,
) -> None:
    case = Case(tmp_path / "run", schedule="sync", replicas=3)
    run_case(case, [("outcome_recorded", n) for n in (5, 14, 9)])
    assert case.n_deaths == 3
    assert essence(case.run_dir) == undisturbed(3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        "run_started",
        "item_selected",
        "stage_taken",
        "outcome_recorded",
        "stage_ended",
        "pool_changed",
        "item_ended",
        "drain_started",
        "test_scored",
        "run_ended",
    ],
)
def test_under_the_sync_schedule_a_run_killed_at_any_kind_of_event_ends_in_the_same_result(
    kind: str, tmp_path: Path
) -> None:
    case = Case(tmp_path / "run", schedule="sync")
    run_case(case, [(kind, 1), (kind, 1)])
    assert case.n_deaths > 0
    assert essence(case.run_dir) == undisturbed()


@pytest.mark.slow
@pytest.mark.parametrize("number", ALL)
def test_under_the_sync_schedule_a_run_killed_at_25_points_ends_in_the_same_result(
    number: int, tmp_path: Path
) -> None:
    kill_and_compare(number, tmp_path / "run")
