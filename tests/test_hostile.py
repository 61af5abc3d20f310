"""Against a hostile endpoint a run finishes, or stops with one line; and no key gets anywhere."""

import asyncio
import itertools
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import flashevolve as fe
from flashevolve import events as ev
from flashevolve.rundir import open_run, read_records
from tests.fakes.endpoint import (
    CUT,
    HANG_UP,
    SILENCE,
    Endpoint,
    Received,
    Step,
    answer,
    garbage,
    rate_limited,
    status,
)
from tests.fakes.small import evolution, model, read_and_answer, role_of

CANARY = "sk-canary-3f9a1c77d2e84b60"
KEY_ENV = "FLASHEVOLVE_CANARY_KEY"
Answers = Callable[[Received], Step]


def now_and_then(trouble: Step, every: int = 5) -> Answers:
    """Answers well, but for every n-th request."""
    numbers = itertools.count(1)

    def script(received: Received) -> Step:
        return trouble if next(numbers) % every == 0 else read_and_answer(received)

    return script


def for_role(role: str, trouble: Step) -> Answers:
    """Answers well, but never as one role."""

    def script(received: Received) -> Step:
        return trouble if role_of(received) == role else read_and_answer(received)

    return script


def settled(run_dir: Path) -> list[ev.CallSettled]:
    return [r.event for r in read_records(run_dir) if isinstance(r.event, ev.CallSettled)]


def assert_one_line(error: BaseException) -> None:
    assert isinstance(error, fe.FlashEvolveError)
    assert len(str(error)) > 20
    assert "\n" not in str(error)


# -- trouble that passes -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trouble", "told"),
    [
        (rate_limited("0.02"), "rate_limited"),
        (status(500), "transient"),
        (status(503, retry_after="0.02"), "transient"),
        (CUT, "transient"),
        (HANG_UP, "transient"),
        (garbage(), "transient"),
        (garbage(b"<html>bad gateway</html>"), "transient"),
        (garbage(b'{"object": "list"}'), "transient"),
        (answer(""), "empty"),
        (answer(None), "empty"),
        (answer("half of", finish="length"), "truncated"),
        (answer(None, refusal="I cannot"), "refused"),
    ],
    ids=[
        "429 with Retry-After",
        "500",
        "503 with Retry-After",
        "cut body",
        "hang up",
        "invalid JSON",
        "HTML",
        "another object",
        "empty",
        "null",
        "truncated",
        "refused",
    ],
)
def test_a_run_finishes_whatever_every_fifth_answer_is(
    trouble: Step, told: str, tmp_path: Path
) -> None:
    with Endpoint(now_and_then(trouble)) as endpoint:
        result = fe.optimize(**evolution(endpoint, tmp_path / "run"))
    assert result.reason == "metric_calls"
    statuses = [s.status for s in settled(tmp_path / "run")]
    assert told in statuses
    assert set(statuses) == {"ok", told}
    counts = open_run(tmp_path / "run").state.conservation()
    assert counts.pop("created") == sum(counts.values())
    assert counts["in_flight"] == counts["failed"] == 0


def test_a_429_without_a_hint_pauses_the_account_and_the_run_finishes(tmp_path: Path) -> None:
    numbers = itertools.count(1)

    def script(received: Received) -> Step:
        # Once: each pause takes real time, and how they grow is tested in virtual time.
        return rate_limited() if next(numbers) == 7 else read_and_answer(received)

    limits = {"retries": 5, "retry_wait_s": 0.001, "retry_total_s": 30.0}
    with Endpoint(script) as endpoint:
        result = fe.optimize(**evolution(endpoint, tmp_path / "run", limits=limits))
    assert result.reason == "metric_calls"
    assert [s.status for s in settled(tmp_path / "run")].count("rate_limited") == 1
    assert result.counters["failed"] == 0


def test_a_run_finishes_although_some_requests_are_never_answered(tmp_path: Path) -> None:
    with Endpoint(now_and_then(SILENCE, every=12)) as endpoint:
        models = model(endpoint, timeout_s=0.2)
        result = fe.optimize(**evolution(endpoint, tmp_path / "run", models=models))
    assert result.reason == "metric_calls"
    lost = [s for s in settled(tmp_path / "run") if s.status == "transient"]
    assert lost
    # Nobody knows what a request without an answer cost.
    assert not any(s.usage_known for s in lost)


def test_a_budget_in_dollars_holds_against_an_endpoint_that_never_tells_its_usage(
    tmp_path: Path,
) -> None:
    def script(received: Received) -> Step:
        return answer("one two three", usage=None)

    with Endpoint(script) as endpoint:
        budget = fe.Budget(usd=0.05)
        result = fe.optimize(**evolution(endpoint, tmp_path / "run", budget=budget))
    assert 0.02 < result.usage.usd <= 0.05


def test_unusable_answers_score_as_failures_with_feedback(tmp_path: Path) -> None:
    with Endpoint(for_role("task", answer(None, refusal="I cannot"))) as endpoint:
        result = fe.optimize(**evolution(endpoint, tmp_path / "run", failure_score=-1.0))
    assert result.seed_score == -1.0
    outcomes = [
        r.event for r in read_records(result.run_dir) if isinstance(r.event, ev.OutcomeRecorded)
    ]
    assert all("refused" in o.feedback for o in outcomes)


# -- trouble that stays ------------------------------------------------------------------------


def test_a_wrong_key_stops_the_run_at_once_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_ENV, "sk-wrong")
    with Endpoint(read_and_answer, key=CANARY) as endpoint:
        models = model(endpoint, key_env=KEY_ENV)
        with pytest.raises(fe.FlashEvolveError, match=f"401.*{KEY_ENV}") as caught:
            fe.optimize(**evolution(endpoint, tmp_path / "run", models=models))
    assert_one_line(caught.value)
    assert len(endpoint.received) <= 8
    assert "sk-wrong" not in str(caught.value)


def test_a_missing_key_is_named_before_anything_is_written(tmp_path: Path) -> None:
    with Endpoint(read_and_answer) as endpoint:
        models = model(endpoint, key_env="FLASHEVOLVE_NO_SUCH_KEY")
        with pytest.raises(
            fe.FlashEvolveError, match="FLASHEVOLVE_NO_SUCH_KEY is not set"
        ) as error:
            fe.optimize(**evolution(endpoint, tmp_path / "run", models=models))
    assert_one_line(error.value)
    assert endpoint.received == []


@pytest.mark.parametrize("code", [400, 404])
def test_a_request_that_can_never_succeed_stops_the_run_with_one_line(
    code: int, tmp_path: Path
) -> None:
    stops = pytest.raises(fe.FlashEvolveError, match=str(code))
    with Endpoint([status(code, "no such model")]) as endpoint, stops as caught:
        fe.optimize(**evolution(endpoint, tmp_path / "run"))
    assert_one_line(caught.value)
    assert len(endpoint.received) <= 8


def test_an_agent_cannot_swallow_a_wrong_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_ENV, "sk-wrong")

    def agent(artifact: fe.Artifact, example: Any, ctx: Any) -> str:
        try:
            return str(ctx.chat("task", example["prompt"]).text)
        except Exception:
            return "all is well"

    with Endpoint(read_and_answer, key=CANARY) as endpoint:
        models = model(endpoint, key_env=KEY_ENV)
        with pytest.raises(fe.FlashEvolveError, match="401"):
            fe.optimize(**evolution(endpoint, tmp_path / "run", models=models, run=agent))
    assert len(endpoint.received) == 1


@pytest.mark.parametrize(
    "trouble",
    [status(500, "down"), CUT, garbage()],
    ids=["500", "cut", "garbage"],
)
def test_an_endpoint_that_is_down_stops_the_run_instead_of_being_asked_for_ever(
    trouble: Step, tmp_path: Path
) -> None:
    stops = pytest.raises(fe.FlashEvolveError, match=r"first step failed.*then resume the run")
    with Endpoint([trouble]) as endpoint, stops as caught:
        fe.optimize(**evolution(endpoint, tmp_path / "run"))
    assert_one_line(caught.value)


@pytest.mark.parametrize("policy", ["full", "reflective"])
def test_a_reflecting_model_that_always_fails_stops_the_run_after_five_steps(
    policy: str, tmp_path: Path
) -> None:
    numbers = itertools.count()

    def script(received: Received) -> Step:
        if role_of(received) == "task":
            return read_and_answer(received)
        return status(500, f"Sorry! Request id req_{next(numbers):08x}.")

    budget = fe.Budget(metric_calls=5000)
    with Endpoint(script) as endpoint:
        options = evolution(endpoint, tmp_path / "run", policy=policy, budget=budget)
        with pytest.raises(fe.FlashEvolveError, match=r"last 5 steps.*'propose'.*500") as caught:
            fe.optimize(**options)
    assert_one_line(caught.value)
    state = open_run(tmp_path / "run").state
    assert state.counters["failed"] >= 5
    assert state.ledger.spent["metric_calls"] < 100
    assert state.ended is not None
    assert state.ended.resumable


def test_a_run_goes_on_once_its_endpoint_is_mended(tmp_path: Path) -> None:
    budget = fe.Budget(metric_calls=90)
    stops = pytest.raises(fe.FlashEvolveError, match="Mend the cause, then resume")
    with Endpoint(for_role("reflect", status(500))) as endpoint, stops:
        fe.optimize(**evolution(endpoint, tmp_path / "run", budget=budget))
    with Endpoint(read_and_answer) as endpoint:
        result = fe.optimize(**evolution(endpoint, tmp_path / "run", budget=budget))
    assert result.reason == "metric_calls"
    assert result.counters["proposed"] > 0


def test_a_repairing_model_that_always_fails_loses_steps_and_not_the_run(tmp_path: Path) -> None:
    with Endpoint(for_role("repair", answer("no verdict at all"))) as endpoint:
        options = evolution(endpoint, tmp_path / "run", budget=fe.Budget(metric_calls=120))
        result = fe.optimize(**options)
    assert result.reason == "metric_calls"
    repairs = [
        r.event for r in read_records(result.run_dir) if isinstance(r.event, ev.ItemRepaired)
    ]
    assert repairs
    assert {r.verdict for r in repairs} == {"discard"}
    assert all(r.reason.startswith("unreadable verdict") for r in repairs)


# -- keys --------------------------------------------------------------------------------------


def files_holding(secret: str, root: Path) -> Iterator[Path]:
    for path in root.rglob("*"):
        if path.is_file() and secret.encode() in path.read_bytes():
            yield path


@pytest.mark.parametrize("ends_well", [True, False])
def test_a_canary_key_gets_into_no_file_no_event_and_no_exception(
    ends_well: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_ENV, CANARY)
    numbers = itertools.count(1)

    def script(received: Received) -> Step:
        sent = received.headers["authorization"]
        if not ends_well and next(numbers) > 20:
            return status(401, f"Incorrect API key provided: {sent}")
        if role_of(received) == "task":
            return answer(f"You sent {sent}.")
        return read_and_answer(received)

    told: list[str] = []

    async def events(run: fe.Run) -> None:
        async for record in run.events():
            told.append(repr(record))

    with Endpoint(script) as endpoint:
        models = model(endpoint, key_env=KEY_ENV, extra_headers={"x-more": f"Bearer {CANARY}"})
        run = fe.start(**evolution(endpoint, tmp_path / "run", models=models))
        asyncio.run(events(run))
        if ends_well:
            told.append(repr(run.result()))
        else:
            with pytest.raises(fe.FlashEvolveError, match="401") as caught:
                run.result()
            told += traceback.format_exception(caught.value)
            told.append(repr(vars(caught.value)))
    assert endpoint.received[0].headers["authorization"] == f"Bearer {CANARY}"
    assert list(files_holding(CANARY, tmp_path)) == []
    assert list(files_holding("example", tmp_path))
    assert not any(CANARY in line for line in told)
    assert len(told) > 50
