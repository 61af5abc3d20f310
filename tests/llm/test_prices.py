from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.llm.prices import FREE, Price, lookup, snapshot
from tests.fakes.patience import patient


def test_the_snapshot_is_dated_and_every_price_in_it_is_plausible() -> None:
    assert date.fromisoformat(snapshot().date) > date(2025, 1, 1)
    for name, price in snapshot().prices.items():
        assert name == name.lower()
        assert 0.01 <= price.input_usd_per_mtok <= price.output_usd_per_mtok <= 200, name


def test_a_name_is_found_with_and_without_its_vendor() -> None:
    expected = Price(input_usd_per_mtok=0.15, output_usd_per_mtok=0.6)
    assert lookup("gpt-4o-mini") == lookup("openai/GPT-4o-mini") == expected


def test_a_dated_version_may_have_a_price_of_its_own() -> None:
    assert lookup("gpt-4o-2024-05-13") != lookup("gpt-4o")


@pytest.mark.parametrize("name", ["gpt-4o-2099-01-01", "my-model", "", "gpt"])
def test_what_is_not_listed_is_unknown(name: str) -> None:
    assert lookup(name) is None


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("api.openai.com", True),
        ("openrouter.ai", True),
        ("me.openai.azure.com", True),
        ("reseller.example.com", False),
        ("", False),
    ],
)
def test_a_list_price_is_believed_only_where_it_is_charged(host: str, known: bool) -> None:
    assert (lookup("gpt-4o", host=host) is not None) is known


def test_a_local_host_is_free_but_for_what_a_vendor_lists() -> None:
    assert lookup("anything", host="192.168.1.7") == FREE
    assert lookup("gpt-4o", host="127.0.0.1") == lookup("gpt-4o") != FREE


def test_where_money_counts_an_unlisted_model_on_a_local_host_is_unknown() -> None:
    assert lookup("anything", host="127.0.0.1", local_is_free=False) is None
    assert lookup("gpt-4o", host="127.0.0.1", local_is_free=False) == lookup("gpt-4o")


@patient
@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_cost_is_linear_in_tokens(tokens_in: int, tokens_out: int) -> None:
    price = Price(input_usd_per_mtok=2.0, output_usd_per_mtok=8.0)
    cost_usd = price.cost_usd(tokens_in=tokens_in, tokens_out=tokens_out)
    assert cost_usd == pytest.approx(tokens_in * 2e-6 + tokens_out * 8e-6)
