import asyncio

import pytest

from flashevolve.engine.funds import BudgetExhausted, Funds
from flashevolve.policies.budget import Ledger
from tests.fakes.time_travel import run


def test_what_fits_is_told_at_once_and_what_never_will_raises_with_its_resource() -> None:
    funds = Funds(Ledger({"tokens": 100, "usd": 1.0}))
    assert funds.fits({"tokens": 100, "usd": 0.5})
    with pytest.raises(BudgetExhausted, match="budget exhausted: usd") as caught:
        funds.fits({"tokens": 100, "usd": 1.5})
    assert caught.value.resource == "usd"


def test_what_is_kept_aside_is_out_of_reach_until_it_is_let_go() -> None:
    funds = Funds(Ledger({"tokens": 100}))
    funds.aside = {"tokens": 60}
    with pytest.raises(BudgetExhausted, match="tokens"):
        funds.fits({"tokens": 50})
    funds.aside = {}
    assert funds.fits({"tokens": 50})


def test_every_waiter_looks_again_after_a_settlement_in_the_order_of_waiting() -> None:
    async def main() -> list[int]:
        funds = Funds(Ledger({"tokens": 10}))
        funds.ledger.reserve({"tokens": 10})
        served: list[int] = []

        async def one(i: int) -> None:
            while not funds.fits({"tokens": 4}):
                await funds.change()
            funds.ledger.reserve({"tokens": 4})
            served.append(i)

        tasks = [asyncio.create_task(one(i)) for i in range(3)]
        await asyncio.sleep(1)
        assert served == []
        funds.ledger.settle({"tokens": 10}, {})
        funds.settled()
        await asyncio.sleep(1)
        assert served == [0, 1]
        funds.ledger.settle({"tokens": 4}, {})
        funds.settled()
        await asyncio.gather(*tasks)
        return served

    assert run(main()) == [0, 1, 2]


def test_a_cancelled_waiter_does_not_hold_up_the_others() -> None:
    async def main() -> None:
        funds = Funds(Ledger({"tokens": 1}))
        first, second = (asyncio.create_task(funds.change()) for _ in range(2))
        await asyncio.sleep(1)
        first.cancel()
        funds.settled()
        await second
        assert first.cancelled() or not first.done()

    run(main())
