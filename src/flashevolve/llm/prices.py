"""Prices: what a model's tokens cost, from a dated snapshot of the vendors' list prices.

An unknown price is None, never zero: a run with a money budget is then refused. Only names that
are listed exactly are known, since a dated version may cost twice its family's price. Prices that
grow with the prompt's length are left out.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from flashevolve.llm.hosts import is_local

PER_MTOK = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Price:
    """Dollars per million tokens."""

    input_usd_per_mtok: float
    output_usd_per_mtok: float

    def cost_usd(self, *, tokens_in: int, tokens_out: int) -> float:
        """Returns what so many tokens cost; cached input counts in full, so it may be less."""
        usd = tokens_in * self.input_usd_per_mtok + tokens_out * self.output_usd_per_mtok
        return usd / PER_MTOK


FREE = Price(input_usd_per_mtok=0.0, output_usd_per_mtok=0.0)


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The vendored table."""

    date: str
    """ISO date on which the prices held."""
    prices: Mapping[str, Price]
    """By lower-case model name, with and without the vendor's prefix."""
    hosts: frozenset[str]
    """Where the list price is what is charged."""


@cache
def snapshot() -> Snapshot:
    """Returns the vendored table."""
    table = json.loads(files("flashevolve.llm").joinpath("prices.json").read_text("utf-8"))
    prices: dict[str, Price] = {}
    for vendor in table["vendors"]:
        for model in vendor["models"]:
            price = Price(input_usd_per_mtok=model["input"], output_usd_per_mtok=model["output"])
            for name in model["names"]:
                prices[name] = prices[f"{vendor['vendor']}/{name}"] = price
    hosts = frozenset(vendor["host"] for vendor in table["vendors"])
    return Snapshot(date=table["snapshot_date"], prices=prices, hosts=hosts)


def lookup(model_name: str, *, host: str | None = None, local_is_free: bool = True) -> Price | None:
    """Returns the price of a model; None if it is not known.

    With `host`, a list price is believed only where the vendor, OpenRouter or Azure sends the bill,
    and on a local host, since a proxy there passes a vendor's bill on. What is not listed is free
    on a local host, or unknown unless `local_is_free`.
    """
    listed = snapshot().prices.get(model_name.lower())
    if host is not None:
        if is_local(host):
            return FREE if listed is None and local_is_free else listed
        resold_at_list = host == "openrouter.ai" or host.endswith(".azure.com")
        if host not in snapshot().hosts and not resold_at_list:
            return None
    return listed
