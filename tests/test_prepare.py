"""What is checked once settings, data and code are at hand."""

from dataclasses import replace
from typing import Any

import pytest

from flashevolve.config import Budget, Model, Price, resolve
from flashevolve.data.loaders import load_splits
from flashevolve.errors import ConfigError
from flashevolve.prepare import prepare

FREE = Price(input_usd_per_mtok=0, output_usd_per_mtok=0)
LOCAL = Model("local", base_url="http://127.0.0.1:1/v1", price=FREE)
UNPRICED = Model("unpriced", base_url="https://models.example/v1")


def prepared(models: dict[str, Model], budget: Budget, **more: Any) -> Any:
    """Prepares a run of user code whose calls are all counted."""
    tree = {
        "artifact": {"system": "s"},
        "task": {"metered": True},
        "models": models,
        "budget": budget,
        **more,
    }
    splits = load_splits([{"input": "a"}], [{"input": "b"}])
    return prepare(
        resolve(tree),
        splits=splits,
        run=lambda artifact, example, ctx: ctx.chat("task", "x").text,
        score=lambda example, output: 1.0,
    )


def test_a_money_budget_says_that_it_takes_a_local_model_as_free_unless_it_is_listed() -> None:
    proxied = replace(LOCAL, price=None)
    own = dict.fromkeys(("task", "reflect", "repair"), proxied)
    with pytest.warns(UserWarning, match=r"model 'local' .* counts as free in budget\.usd"):
        assert prepared(own, Budget(usd=1)).prices["local"].input_usd_per_mtok == 0
    assert prepared(own, Budget(tokens=100_000)).prices["local"].input_usd_per_mtok == 0
    listed = replace(proxied, name="gpt-4o-mini")
    own = dict.fromkeys(own, listed)
    assert prepared(own, Budget(usd=1)).prices["gpt-4o-mini"].input_usd_per_mtok == 0.15


def test_a_money_budget_wants_the_price_of_every_model_that_user_code_may_ask() -> None:
    own = {"reflect": LOCAL, "repair": LOCAL}
    assert prepared({**own, "task": LOCAL}, Budget(usd=1)).prices.keys() == {"local"}
    with pytest.raises(ConfigError, match=r"found none for 'unpriced' \(role judge\)"):
        prepared({**own, "judge": UNPRICED}, Budget(usd=1))
    assert prepared({**own, "judge": UNPRICED}, Budget(tokens=100_000)).settings.budget.usd is None


@pytest.mark.parametrize(
    ("models", "key"),
    [
        ({}, "model"),
        ({"task": Model("sim/foo")}, r"models\.task"),
    ],
)
def test_an_unknown_simulation_is_named_with_the_key_that_asks_for_it(
    models: dict[str, Model], key: str
) -> None:
    default = Model("sim/h100-qwen3-8b" if models else "sim/foo")
    with pytest.raises(ConfigError, match=rf"^{key}\.name: .*foo"):
        prepared({**models}, Budget(tokens=100_000), model=default)
