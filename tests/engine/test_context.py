import asyncio
from typing import Any

import pytest

from flashevolve import events as ev
from flashevolve.artifact import Artifact
from flashevolve.engine.item import Item, Needs
from flashevolve.engine.workflow import Stage, StageContext
from flashevolve.errors import ConfigError
from flashevolve.llm.messages import user
from flashevolve.policies.speculation import ReleaseKind, Speculation
from tests.fakes.runs import Bench
from tests.fakes.workflows import Deltas, Note


def bench(
    body: Any,
    needs: Needs | None = None,
    release: ReleaseKind | None = None,
    **changes: Any,
) -> Bench:
    """A bench whose one stage runs `body(item, ctx)` and notes what it returns."""

    class One(Deltas):
        def __init__(self, setup: Any) -> None:
            super().__init__(setup, 1)

            async def run(item: Item[Note], ctx: StageContext) -> Item[Note]:
                return item.with_payload(text=str(await body(item, ctx)))

            stage = Stage(
                name="one", run=run, needs=lambda item, pool: needs or Needs(), release=release
            )
            self.stages = [stage]

    return Bench(One, **changes)


def noted(bench: Bench) -> str:
    (changed,) = bench.store.events(ev.PoolChanged)
    return str(changed.text).removeprefix("+ ")


def test_spending_beyond_what_was_declared_is_a_bug_that_names_the_stage() -> None:
    async def greedy(item: Item[Note], ctx: StageContext) -> str:
        artifact = Artifact({"text": "x"})
        await ctx.evaluate(artifact, "val", ["val-0", "val-1"], fresh=True)
        return ""

    expected = r"stage 'one' declared 1 metric calls for item 1 and asks for more; mend its `needs`"
    with pytest.raises(AssertionError, match=expected):
        bench(greedy, Needs(metric_calls=1)).run()


def test_what_is_not_spent_is_refunded() -> None:
    async def modest(item: Item[Note], ctx: StageContext) -> str:
        await ctx.evaluate(Artifact({"text": "x"}), "val", ["val-0"], fresh=True)
        return ""

    run = bench(modest, Needs(metric_calls=9), budget={"metric_calls": 9})
    state = run.run()
    assert state.ledger.spent["metric_calls"] == 1
    assert state.ledger.left("metric_calls") == 8


def test_map_returns_by_key_whatever_the_order_of_arrival() -> None:
    async def mapping(item: Item[Note], ctx: StageContext) -> dict[str, int]:
        async def one(key: str, inner: StageContext) -> int:
            await asyncio.sleep(10 - int(key))
            return int(key) ** 2

        return await ctx.map(one, ["1", "2", "3"])

    run = bench(mapping)
    run.run()
    assert noted(run) == "{'1': 1, '2': 4, '3': 9}"


def test_the_first_exception_in_a_map_cancels_the_others_and_is_raised() -> None:
    cancelled: list[str] = []

    async def mapping(item: Item[Note], ctx: StageContext) -> str:
        async def one(key: str, inner: StageContext) -> None:
            try:
                await asyncio.sleep(int(key))
            except asyncio.CancelledError:
                cancelled.append(key)
                raise
            raise LookupError(key)

        try:
            await ctx.map(one, ["5", "2", "9"])
        except LookupError as error:
            return f"met {error}"
        return "met nothing"

    run = bench(mapping)
    run.run()
    assert noted(run) == "met 2"
    assert sorted(cancelled) == ["5", "9"]


def test_randomness_depends_on_purpose_and_map_key_but_not_on_order() -> None:
    async def drawing(item: Item[Note], ctx: StageContext) -> list[float]:
        first = ctx.rng("a").random()
        other = ctx.rng("b").random()
        inner_draws = await ctx.map(lambda key, inner: draw(inner), ["x", "y"])
        assert ctx.rng("a").random() == first
        assert len({first, other, *inner_draws.values()}) == 4
        return [first, other]

    async def draw(inner: StageContext) -> float:
        return inner.rng("a").random()

    one, two = bench(drawing), bench(drawing)
    one.run()
    two.run()
    assert noted(one) == noted(two)


def test_maps_within_maps_ask_calls_of_their_own() -> None:
    async def nested(item: Item[Note], ctx: StageContext) -> str:
        async def ask(key: str, inner: StageContext) -> str:
            return (await inner.chat("task", [user("same")])).text

        async def outer(key: str, inner: StageContext) -> dict[str, str]:
            return await inner.map(ask, ["a", "b"])

        found = await ctx.map(outer, ["p", "q"])
        return str(len({text for texts in found.values() for text in texts.values()}))

    run = bench(nested)
    run.run()
    keys = {e.map_key for e in run.store.events(ev.CallReserved)}
    assert keys == {"p/a", "p/b", "q/a", "q/b"}
    assert len({seed for _, seed in run.model.seen}) == 4


def test_an_example_of_any_split_and_the_pool_can_be_read() -> None:
    async def reading(item: Item[Note], ctx: StageContext) -> str:
        best = ctx.pool.best()
        assert best is not None
        return f"{ctx.example('train-3')['input']} {best.artifact['text']}"

    run = bench(reading)
    run.run()
    assert noted(run) == "question 3 seed"


# -- releases ----------------------------------------------------------------------------------

HALF = Speculation(rollout=0.5, evaluate=0.5)


def asking(seen: list[str], release: float | None = None) -> Any:
    """Asks a model for each of four keys; the later one is, the longer it takes."""

    async def body(item: Item[Note], ctx: StageContext) -> str:
        async def one(key: str, inner: StageContext) -> str:
            await inner.chat("reflect", [user(f"question {key}")])
            await asyncio.sleep(float(key))
            seen.append(key)
            return key

        found = await ctx.map(one, ["4", "3", "2", "1"], release=release)
        return " ".join(found)

    return body


def test_a_released_map_returns_a_fixed_prefix_and_not_what_was_first() -> None:
    seen: list[str] = []
    run = bench(asking(seen), release="rollout", speculation=HALF)
    run.run()
    assert noted(run) == "4 3"
    assert seen[0] == "1"


def test_a_map_may_name_another_fraction_and_1_waits_for_all() -> None:
    for fraction, expected in ((0.25, "4"), (1.0, "4 3 2 1"), (0.7, "4 3 2")):
        run = bench(asking([], fraction), release="rollout", speculation=HALF)
        run.run()
        assert noted(run) == expected


def test_nothing_is_released_where_the_settings_say_1() -> None:
    run = bench(asking([], 0.25), release="rollout")
    run.run()
    assert noted(run) == "4 3 2 1"


def test_only_the_first_fan_out_of_a_visit_is_released() -> None:
    async def body(item: Item[Note], ctx: StageContext) -> str:
        first = await asking([])(item, ctx)
        return f"{first}, {await asking([])(item, ctx)}"

    run = bench(body, release="rollout", speculation=HALF)
    run.run()
    assert noted(run) == "4 3, 4 3 2 1"


def test_a_release_that_the_stage_does_not_declare_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^stage 'one' asks for release=0.5 and declares none; "):
        bench(asking([], 0.5)).run()


@pytest.mark.parametrize("release", [0.0, -1.0, 1.5])
def test_a_release_is_a_fraction(release: float) -> None:
    expected = rf"^stage 'one': expected release in \(0, 1\], got {release}$"
    with pytest.raises(ConfigError, match=expected):
        bench(asking([], release), release="rollout", speculation=HALF).run()


def test_what_fails_before_the_release_fails_the_map_and_ends_the_rest() -> None:
    done: list[str] = []

    async def body(item: Item[Note], ctx: StageContext) -> str:
        async def one(key: str, inner: StageContext) -> str:
            await asyncio.sleep(float(key))
            if key == "2":
                raise ZeroDivisionError(key)
            done.append(key)
            return key

        return str(await ctx.map(one, ["1", "2", "3", "4"]))

    run = bench(body, release="rollout", speculation=HALF)
    with pytest.raises(ZeroDivisionError):
        run.run()
    assert done == ["1"]
    assert run.n_tasks_left == 0


def test_what_fails_after_the_release_is_still_a_bug() -> None:
    async def body(item: Item[Note], ctx: StageContext) -> str:
        async def one(key: str, inner: StageContext) -> str:
            await asyncio.sleep(float(key))
            if key == "4":
                raise ZeroDivisionError(key)
            return key

        return str(await ctx.map(one, ["1", "2", "3", "4"]))

    async def wait(item: Item[Note], ctx: StageContext) -> Item[Note]:
        await asyncio.sleep(100.0)
        return item

    class Two(Deltas):
        def __init__(self, setup: Any) -> None:
            super().__init__(setup, 1)

            async def run(item: Item[Note], ctx: StageContext) -> Item[Note]:
                return item.with_payload(text=await body(item, ctx))

            self.stages = [
                Stage(name="one", run=run, release="rollout"),
                Stage(name="two", run=wait),
            ]

    run = Bench(Two, speculation=HALF)
    with pytest.raises(ZeroDivisionError):
        run.run()
    assert run.n_tasks_left == 0
