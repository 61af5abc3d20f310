import asyncio
import sqlite3
import threading
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

import flashevolve as fe
from flashevolve import events as ev
from flashevolve.data.loaders import load_splits
from flashevolve.errors import ConfigError
from flashevolve.launch import settings_from
from flashevolve.prepare import prepare
from flashevolve.rundir import open_run, read_records, read_result
from flashevolve.simulate.world import WORLD_FILE, load_world
from tests.fakes.endpoint import SILENCE, Endpoint, Received, Step, answer
from tests.fakes.small import asked_again, evolution, read_and_answer, role_of
from tests.test_launch import simulated

WAIT_S = 60.0


class Held:
    """Answers the first `n` requests and keeps the others until `release`."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.n_seen = 0
        self.reached = threading.Event()

    def __call__(self, received: Received) -> Step:
        self.n_seen += 1
        if self.n_seen <= self.n:
            return read_and_answer(received)
        self.reached.set()
        return SILENCE


async def collect(run: fe.Run) -> list[ev.Record]:
    return [record async for record in run.events()]


# -- events and observers ----------------------------------------------------------------------


def test_events_of_a_real_run_come_in_order_without_holes_and_end(tmp_path: Path) -> None:
    with Endpoint(read_and_answer) as endpoint:
        run = fe.start(**evolution(endpoint, tmp_path / "run"))
        seen = asyncio.run(asyncio.wait_for(collect(run), WAIT_S))
    assert [r.seq for r in seen] == list(range(1, len(seen) + 1))
    assert isinstance(seen[0].event, ev.RunStarted)
    assert isinstance(seen[-1].event, ev.RunEnded)
    assert seen == list(read_records(run.dir))


def test_events_of_a_simulated_run_come_in_order_and_end(tmp_path: Path) -> None:
    run = fe.start(**simulated(tmp_path / "run"))
    seen = asyncio.run(asyncio.wait_for(collect(run), WAIT_S))
    assert [r.seq for r in seen] == list(range(1, len(seen) + 1))
    assert isinstance(seen[-1].event, ev.RunEnded)


def test_events_may_be_read_while_the_run_is_held_up_and_after_it_ended(tmp_path: Path) -> None:
    held = Held(6)

    async def first(run: fe.Run, n: int) -> list[ev.Record]:
        seen = []
        async for record in run.events():
            seen.append(record)
            if len(seen) == n:
                break
        return seen

    with Endpoint(held) as endpoint:
        run = fe.start(**evolution(endpoint, tmp_path / "run"))
        assert held.reached.wait(WAIT_S)
        early = asyncio.run(asyncio.wait_for(first(run, 10), WAIT_S))
        run.stop()
        run.stop()
        run.result()
    late = asyncio.run(asyncio.wait_for(collect(run), WAIT_S))
    assert early == late[:10]


def unstarted(endpoint: Endpoint, run_dir: Path) -> fe.Run:
    options = evolution(endpoint, run_dir)
    data = ("train", "val", "test", "score", "id_field")
    settings = settings_from(has_run=False, **{k: v for k, v in options.items() if k not in data})
    splits = load_splits(
        options["train"], options["val"], options["test"], id_field=options["id_field"]
    )
    return fe.Run(prepare(settings, splits=splits, score=options["score"]))


def test_observers_are_told_of_every_durable_event_once_and_in_order(tmp_path: Path) -> None:
    told: list[ev.Record] = []
    with Endpoint(read_and_answer) as endpoint:
        run = unstarted(endpoint, tmp_path / "run")
        run.observe(told.append)
        run.result()
        with pytest.raises(RuntimeError, match="observe before start"):
            run.observe(told.append)
    assert told == list(read_records(run.dir))


# -- watching and stopping ---------------------------------------------------------------------


def test_best_is_the_seed_before_anything_is_confirmed_and_the_results_at_the_end(
    tmp_path: Path,
) -> None:
    held = Held(0)
    with Endpoint(held) as endpoint:
        run = fe.start(**evolution(endpoint, tmp_path / "run"))
        assert held.reached.wait(WAIT_S)
        assert run.best() == fe.Artifact({"system": "Follow the instructions."})
        assert not run.done
        run.stop()
        run.stop()
        run.result()
    with Endpoint(read_and_answer) as endpoint:
        again = fe.start(**evolution(endpoint, tmp_path / "run"))
        result = again.result()
    assert again.done
    assert again.best() == result.best


def test_a_stopped_run_says_so_and_goes_on_later_without_repeating_a_call(tmp_path: Path) -> None:
    held = Held(25)
    with Endpoint(held) as endpoint:
        run = fe.start(**evolution(endpoint, tmp_path / "run"))
        assert held.reached.wait(WAIT_S)
        run.stop()
        run.stop()
        stopped = run.result()
    assert (stopped.reason, stopped.resumable) == ("stop", True)
    assert stopped.test_score is None
    assert open_run(run.dir).state.conservation()["in_flight"] > 0
    answered = [
        r.event.call
        for r in read_records(run.dir)
        if isinstance(r.event, ev.CallSettled) and r.event.status == "ok"
    ]
    assert answered

    with Endpoint(read_and_answer) as endpoint:
        result = fe.optimize(**evolution(endpoint, tmp_path / "run"))
    assert (result.reason, result.resumable) == ("metric_calls", False)
    records = list(read_records(run.dir))
    resumed = next(r.seq for r in records if isinstance(r.event, ev.RunResumed))
    sent = [r for r in records if r.seq > resumed and isinstance(r.event, ev.CallReserved)]
    assert len(endpoint.received) == len(sent)
    assert asked_again(records) == []
    counts = open_run(run.dir).state.conservation()
    assert counts.pop("created") == sum(counts.values())
    assert counts["in_flight"] == 0


def test_the_first_stop_lets_stages_under_way_finish(tmp_path: Path) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def score(example: Mapping[str, Any], output: str) -> float:
        reached.set()
        assert go_on.wait(WAIT_S)
        return 0.5

    with Endpoint(read_and_answer) as endpoint:
        run = fe.start(**evolution(endpoint, tmp_path / "run", score=score))
        assert reached.wait(WAIT_S)
        run.stop()
        go_on.set()
        result = run.result()
    assert (result.reason, result.resumable) == ("stop", True)
    settled = [r.event for r in read_records(run.dir) if isinstance(r.event, ev.CallSettled)]
    assert {s.status for s in settled} == {"ok"}
    assert result.seed_score == 0.5


def test_a_run_that_is_stopped_before_it_begins_starts_nothing(tmp_path: Path) -> None:
    with Endpoint(read_and_answer) as endpoint:
        run = unstarted(endpoint, tmp_path / "run")
        run.stop()
        result = run.result()
    assert result.reason == "stop"
    assert endpoint.received == []


def test_cancelling_aoptimize_leaves_a_run_that_can_be_resumed(tmp_path: Path) -> None:
    async def main() -> None:
        async with Endpoint(Held(10)) as endpoint:
            task = asyncio.create_task(fe.aoptimize(**evolution(endpoint, tmp_path / "run")))
            await endpoint.until_received(11)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    state = open_run(tmp_path / "run").state
    assert state.ended is None or state.ended.resumable
    with Endpoint(read_and_answer) as endpoint:
        assert fe.optimize(**evolution(endpoint, tmp_path / "run")).reason == "metric_calls"


def test_a_second_stop_cancels_a_sync_agent_that_waits_for_a_model(tmp_path: Path) -> None:
    held = Held(3)

    def agent(artifact: fe.Artifact, example: Mapping[str, Any], ctx: Any) -> str:
        return str(ctx.chat("task", example["prompt"]).text)

    async def main() -> ev.RunEnded | None:
        async with Endpoint(held) as endpoint:
            options = evolution(endpoint, tmp_path / "run", run=agent)
            run = fe.start(**options)
            await asyncio.to_thread(held.reached.wait, WAIT_S)
            run.stop()
            run.stop()
            result = await asyncio.wait_for(run.aresult(), WAIT_S)
        assert result.reason == "stop"
        return run.state.ended if run.state else None

    ended = asyncio.run(main())
    assert ended is not None
    records = list(read_records(tmp_path / "run"))
    assert isinstance(records[-1].event, ev.RunEnded)
    assert not open_run(tmp_path / "run").state.calls


def test_the_result_file_says_what_the_result_says(tmp_path: Path) -> None:
    with Endpoint(read_and_answer) as endpoint:
        result = fe.optimize(**evolution(endpoint, tmp_path / "run"))
    assert read_result(tmp_path / "run") == result.to_json()


def test_roles_may_have_models_of_their_own(tmp_path: Path) -> None:
    with Endpoint(read_and_answer) as task, Endpoint(read_and_answer) as reflect:
        models = {"task": evolution(task, tmp_path)["models"]}
        models["reflect"] = evolution(reflect, tmp_path)["models"]
        fe.optimize(**evolution(task, tmp_path / "run", models=models))
    assert {role_of(r) for r in task.received} == {"task"}
    assert {role_of(r) for r in reflect.received} <= {"reflect", "repair"}
    assert reflect.received


def test_an_answer_without_usage_is_charged_in_full(tmp_path: Path) -> None:
    def script(received: Received) -> Step:
        return answer("fine", usage=None)

    budget = fe.Budget(tokens=60_000)
    with Endpoint(script) as endpoint:
        result = fe.optimize(**evolution(endpoint, tmp_path / "run", budget=budget))
    assert 0 < result.usage.tokens <= 60_000
    settled = [r.event for r in read_records(result.run_dir) if isinstance(r.event, ev.CallSettled)]
    assert not any(s.usage_known for s in settled)


# -- what user code must not break -------------------------------------------------------------


@pytest.mark.parametrize("is_simulated", [True, False])
def test_an_interrupt_in_user_code_is_what_the_run_ends_with(
    is_simulated: bool, tmp_path: Path
) -> None:
    def agent(artifact: fe.Artifact, example: Mapping[str, Any]) -> str:
        raise KeyboardInterrupt

    with Endpoint(read_and_answer) as endpoint:
        make = simulated if is_simulated else partial(evolution, endpoint)
        run = fe.start(**make(tmp_path / "run", run=agent))
        with pytest.raises(KeyboardInterrupt):
            run.result()


def test_a_refused_run_yields_no_events_of_the_run_that_it_was_refused_for(tmp_path: Path) -> None:
    fe.optimize(**simulated(tmp_path / "run"))
    run = fe.start(**simulated(tmp_path / "run", policy="full"))
    assert asyncio.run(asyncio.wait_for(collect(run), WAIT_S)) == []
    with pytest.raises(fe.FlashEvolveError, match="policy"):
        run.result()


def test_an_observer_that_raises_is_warned_of_once_and_costs_the_others_nothing(
    tmp_path: Path,
) -> None:
    told: list[ev.Record] = []

    def broken(record: ev.Record) -> None:
        raise LookupError("gone")

    with Endpoint(read_and_answer) as endpoint:
        run = unstarted(endpoint, tmp_path / "run")
        run.observe(broken)
        run.observe(told.append)
        with pytest.warns(RuntimeWarning, match="an observer failed on event 1.*gone") as caught:
            run.result()
    assert len(caught) == 1
    assert told == list(read_records(run.dir))


def test_stops_are_counted_once_however_early_they_come(tmp_path: Path) -> None:
    """One stop, told while the session is being made, must not become two."""
    with Endpoint(read_and_answer) as endpoint:
        run = unstarted(endpoint, tmp_path / "run")
        told: list[int] = []

        class Counting:
            def stop(self) -> None:
                told.append(1)

        async def early() -> None:
            run._loop = asyncio.get_running_loop()
            run.stop()
            run._session = cast(Any, Counting())
            run._obey()
            await asyncio.sleep(0)
            assert told == [1]
            run.stop()
            await asyncio.sleep(0)
            assert told == [1, 1]

        asyncio.run(early())


def test_a_run_whose_agent_hangs_ends_at_once_on_the_second_stop(tmp_path: Path) -> None:
    reached, go = threading.Event(), threading.Event()

    def agent(artifact: fe.Artifact, example: Mapping[str, Any]) -> str:
        reached.set()
        go.wait(WAIT_S)
        return ""

    with Endpoint(read_and_answer) as endpoint:
        run = fe.start(**evolution(endpoint, tmp_path / "run", run=agent))
        try:
            assert reached.wait(WAIT_S)
            run.stop()
            run.stop()
            assert run.wait(WAIT_S / 2)
            assert run.result().reason == "stop"
            hanging = [t for t in threading.enumerate() if t.name.startswith("flashevolve-user")]
            assert hanging
            assert all(thread.daemon for thread in hanging)
        finally:
            go.set()


# -- the simulated world -----------------------------------------------------------------------


def own_world(path: Path, old: str, new: str) -> Path:
    text = WORLD_FILE.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


def test_a_run_is_not_resumed_in_another_world(tmp_path: Path) -> None:
    world = own_world(tmp_path / "world.toml", "mean_tokens = 699.0", "mean_tokens = 50.0")
    first = fe.optimize(**simulated(tmp_path / "run", world=world))
    assert first.world == load_world(world).hash != load_world().hash
    recorded = next(read_records(tmp_path / "run")).event
    assert isinstance(recorded, ev.RunStarted)
    assert recorded.world == first.world
    assert (read_result(tmp_path / "run") or {})["world"] == first.world
    moved = tmp_path / "moved.toml"
    moved.write_text(world.read_text(encoding="utf-8"), encoding="utf-8")
    changed = own_world(world, "mean_tokens = 699.0", "mean_tokens = 60.0")
    more = {"budget": fe.Budget(metric_calls=60)}
    with pytest.raises(ConfigError) as error:
        fe.optimize(**simulated(tmp_path / "run", world=world, **more))
    told = f"{tmp_path / 'run'}: expected the simulated world {first.world} that it was made in, "
    assert str(error.value).startswith(f"{told}found {load_world(changed).hash} in {changed}. ")
    with pytest.raises(ConfigError, match=rf"found {load_world().hash} in"):
        fe.optimize(**simulated(tmp_path / "run", **more))
    assert fe.optimize(**simulated(tmp_path / "run", world=moved, **more)).world == first.world


def reusing(run_dir: Path, reused: Path) -> fe.Run:
    given = simulated(run_dir)
    splits = load_splits(given.pop("train"), given.pop("val"))
    score = given.pop("score")
    settings = settings_from(**given)
    table = settings.run.model_copy(update={"reuse": reused})
    return fe.Run(prepare(settings.model_copy(update={"run": table}), splits=splits, score=score))


def test_answers_of_another_world_are_not_reused(tmp_path: Path) -> None:
    world = own_world(tmp_path / "world.toml", "mean_tokens = 699.0", "mean_tokens = 50.0")
    fe.optimize(**simulated(tmp_path / "one", world=world))
    with pytest.raises(ConfigError, match=r"run.reuse = .*one: expected the simulated world"):
        reusing(tmp_path / "two", tmp_path / "one").result()


def test_a_simulated_run_that_recorded_no_world_is_neither_resumed_nor_reused(
    tmp_path: Path,
) -> None:
    fe.optimize(**simulated(tmp_path / "one"))
    with closing(sqlite3.connect(tmp_path / "one" / "run.sqlite")) as store, store:
        store.execute(
            "UPDATE events SET event = json_remove(event, '$.world') WHERE kind = 'run_started'"
        )
    expected = (
        "expected a simulated run that recorded its world, found none recorded. Whether it was "
        f"{load_world().hash}, the world of now, is unknown: start anew"
    )
    more = {"budget": fe.Budget(metric_calls=60)}
    with pytest.raises(ConfigError, match=f"one: {expected}"):
        fe.optimize(**simulated(tmp_path / "one", **more))
    with pytest.raises(ConfigError, match=f"^run.reuse = .*one: {expected}"):
        reusing(tmp_path / "two", tmp_path / "one").result()


def test_a_run_on_the_hosted_preset_meets_its_limits_and_goes_on(tmp_path: Path) -> None:
    world = own_world(tmp_path / "world.toml", "tokens_per_min = 2000000", "tokens_per_min = 20000")
    given = simulated(tmp_path / "run", models="sim/hosted-api", world=world)
    assert fe.optimize(**given).reason == "metric_calls"
    events = [record.event for record in read_records(tmp_path / "run")]
    statuses = [e.status for e in events if isinstance(e, ev.CallSettled)]
    assert "rate_limited" in statuses
    assert statuses.count("ok") >= 50
    changes = [e for e in events if isinstance(e, ev.LimitChanged)]
    assert any("429, Retry-After" in c.reason and c.account == "sim/hosted-api" for c in changes)
