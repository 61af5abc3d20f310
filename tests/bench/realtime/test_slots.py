import asyncio
import math
from statistics import fmean, stdev

import pytest

from flashevolve.bench.realtime.slots import Numbered, Pace, Slots
from flashevolve.llm.messages import Reply, Request, user
from flashevolve.simulate.batching import FirstToken
from flashevolve.simulate.lengths import digest
from flashevolve.simulate.loop import run_virtual


def draws(sigma: float, n: int = 4000) -> list[float]:
    pace = Pace(means_s={"task": 0.3, "reflect": 1.2}, sigma=sigma, slots=1)
    return [pace.draw_s("task", digest(b"draw", str(i).encode())) for i in range(n)]


@pytest.mark.parametrize("sigma", [0.0, 0.5, 1.0])
def test_answers_take_the_same_mean_at_every_spread(sigma: float) -> None:
    found = draws(sigma)
    assert fmean(found) == pytest.approx(0.3, rel=0.08)
    assert stdev([math.log(value) for value in found]) == pytest.approx(sigma, abs=0.05)


def serve(slots: int, n: int, sigma: float = 0.0) -> Slots:
    async def main() -> Slots:
        clock = asyncio.get_running_loop().time
        made = Slots(Pace(means_s={"task": 1.0, "reflect": 1.0}, sigma=sigma, slots=slots), clock)
        await asyncio.gather(*(made.serve("task", i) for i in range(n)))
        return made

    return run_virtual(main())


def test_no_more_are_served_at_once_than_there_are_slots() -> None:
    log = serve(slots=3, n=9, sigma=0.0).log
    assert len(log) == 9
    assert max(call.ended_s for call in log) == pytest.approx(3.0)
    for call in log:
        assert sum(c.began_s <= call.began_s < c.ended_s for c in log) <= 3


def test_who_gives_up_frees_its_slot_and_stands_in_the_log() -> None:
    async def main() -> Slots:
        made = Slots(
            Pace(means_s={"task": 1.0, "reflect": 1.0}, sigma=0.0, slots=1),
            asyncio.get_running_loop().time,
        )
        first = asyncio.create_task(made.serve("reflect", 1))
        second = asyncio.create_task(made.serve("task", 2))
        await asyncio.sleep(0.25)
        first.cancel()
        await second
        return made

    cut, whole = run_virtual(main()).log
    assert (cut.role, cut.left, whole.left) == ("reflect", True, False)
    assert cut.service_s == pytest.approx(0.25)
    assert whole.ended_s == pytest.approx(1.25)


class Echo:
    """Answers with its request's seed."""

    async def complete(self, request: Request, on_first_token: FirstToken | None = None) -> Reply:
        return Reply(text=str(request.seed), tokens_in=1, tokens_out=1, model="echo")


def test_answers_depend_on_the_messages_and_how_often_they_were_asked_alone() -> None:
    async def asked(texts: str, seed: int = 7) -> list[str]:
        model = Numbered(Echo(), seed)
        return [(await model.complete(Request(messages=(user(t),), seed=9))).text for t in texts]

    a1, b1, a2 = asyncio.run(asked("aba"))
    again_b, again_a, again_a2 = asyncio.run(asked("baa"))
    assert (a1, b1, a2) == (again_a, again_b, again_a2)
    assert len({a1, b1, a2}) == 3
    assert asyncio.run(asked("a", seed=8)) != [a1]
