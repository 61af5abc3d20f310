from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.engine.history import WITHHELD, History
from flashevolve.engine.item import Item
from flashevolve.policies.staleness import History as Shown
from flashevolve.policies.staleness import Update
from flashevolve.pools.head import HeadPool
from tests.fakes.context import FakeContext

A, B = ("a",), ("b",)
PAST = [Update(v, A if v % 2 else B, f"text {v}") for v in range(1, 9)]


def item(version: int, reads: tuple[str, ...] = A) -> Item[Any]:
    return Item(ticket=1, source="s", payload=None, version=version, reads=reads)


def told(*items: Item[Any], kind: Shown = "full", max_tokens: int = 100) -> Any:
    history = History(lambda: PAST, "scoped", max_tokens, kind)
    return history.told(items, FakeContext(pool=HeadPool()))


def test_an_item_is_told_what_it_missed_in_its_scopes() -> None:
    assert told(item(4)).text == "Version 5: text 5\n\nVersion 7: text 7"


def test_items_together_are_told_what_any_of_them_missed_once() -> None:
    both = told(item(5), item(4), item(7, B))
    assert [u.version for u in both.shown] == [5, 7, 8]
    assert both.n_missed == 3


def test_what_does_not_fit_is_said_to_be_left_out() -> None:
    found = told(item(0), max_tokens=2)
    assert found.text == "(3 older updates are not shown.)\n\nVersion 7: text 7"


def test_without_history_nothing_is_told_and_the_item_is_as_stale_as_before() -> None:
    found = told(item(4), kind="none")
    assert (found.text, found.shown, found.n_missed) == (WITHHELD, (), 2)


def test_an_item_that_missed_nothing_is_told_of_the_last_updates() -> None:
    found = told(item(8))
    assert [u.version for u in found.shown] == [1, 3, 5, 7]
    assert (found.n_missed, found.n_cut) == (0, 0)
    assert [u.version for u in told(item(8), max_tokens=2).shown] == [7]
    assert told(item(8), max_tokens=2).n_cut == 0
    assert told(item(8, ("nowhere",))).shown == []


@given(st.integers(0, 7), st.sampled_from([A, B, (*A, *B)]))
def test_shuffled_updates_are_as_many_and_of_other_times(
    version: int, reads: tuple[str, ...]
) -> None:
    own, other = told(item(version, reads)), told(item(version, reads), kind="shuffled")
    missed = {u.text for u in own.shown}
    assert missed.isdisjoint(u.text for u in other.shown)
    assert len(other.shown) == min(len(own.shown), len(PAST) - len(own.shown))
    assert {u.version for u in other.shown} <= {u.version for u in own.shown}
    assert (other.n_missed, other.n_cut) == (own.n_missed, own.n_cut)
    assert other == told(item(version, reads), kind="shuffled")


@pytest.mark.parametrize("kind", ["full", "shuffled"])
def test_nothing_is_told_where_nothing_has_happened(kind: Shown) -> None:
    history = History(list, "scoped", 100, kind)
    assert history.told([item(0)], FakeContext(pool=HeadPool())).text == ""
