import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.engine.item import Item
from flashevolve.policies.staleness import (
    ASKING,
    GapRule,
    Policy,
    Staleness,
    Update,
    capped,
    updates_since,
)

POOL = ("pool",)


def item(version: int, reads: tuple[str, ...] = POOL) -> Item[object]:
    return Item(ticket=1, source="s", payload=None, version=version, reads=reads)


def bumps(n: int, scopes: tuple[str, ...] = POOL) -> list[Update]:
    return [Update(v, scopes, f"update {v}") for v in range(1, n + 1)]


def test_selected_at_3_and_left_the_gate_at_5_is_a_gap_of_2() -> None:
    updates = bumps(5)
    assert Staleness("guarded", 2).gap(updates, item(3)) == 2
    assert Staleness("guarded", 2).verdict(2, 0) == "continue"
    assert Staleness("guarded", 1).verdict(2, 0) == "discard"
    assert [u.version for u in updates_since(updates, 3, POOL)] == [4, 5]


def test_after_one_commit_of_three_selected_together_the_others_have_gap_1() -> None:
    # a, b and c were selected at version 0; a commits, b is rejected.
    gap = Staleness("guarded", 0).gap(bumps(1), item(0))
    assert gap == 1
    assert Staleness("guarded", 0).verdict(gap, 0) == "discard"
    assert Staleness("guarded", 1).verdict(gap, 0) == "continue"


def test_selected_after_the_commit_is_not_stale_and_asks_nobody() -> None:
    gap = Staleness("reflective", 0).gap(bumps(1), item(1))
    assert gap == 0
    assert Staleness("reflective", 0).verdict(gap, 0) == "continue"


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("full", "continue"),
        ("guarded", "discard"),
        ("reflective", "repair"),
        ("regenerate", "repair"),
    ],
)
def test_what_each_policy_says_of_a_large_gap(policy: Policy, expected: str) -> None:
    assert Staleness(policy, 3).verdict(100, 0) == expected


@pytest.mark.parametrize("policy", ["full", "guarded", *ASKING])
def test_what_was_repaired_once_continues_whatever_its_gap(policy: Policy) -> None:
    assert Staleness(policy, 0).verdict(100, 1) == "continue"


def test_only_updates_of_scopes_that_were_read_count() -> None:
    updates = [
        Update(1, ("island:1",), ""),
        Update(2, ("island:2", "island:3"), ""),
        Update(3, ("island:3",), ""),
    ]
    stale = item(0, ("island:2", "island:1"))
    assert Staleness("full", 0).gap(updates, stale) == 2
    assert Staleness("full", 0, "global").gap(updates, stale) == 3
    assert Staleness("full", 0).gap(updates, item(0, ())) == 0


scope_sets = st.lists(st.sampled_from("abc"), max_size=3, unique=True).map(tuple)


@given(st.lists(scope_sets, max_size=8), st.integers(0, 9), scope_sets, st.booleans())
def test_the_gap_is_what_a_plain_count_gives(
    scopes: list[tuple[str, ...]], version: int, reads: tuple[str, ...], all_count: bool
) -> None:
    updates = [Update(v, s, "") for v, s in enumerate(scopes, 1)]
    rule: GapRule = "global" if all_count else "scoped"
    found = updates_since(updates, version, reads, rule)
    plain = [u for u in updates if u.version > version and (all_count or set(u.scopes) & {*reads})]
    assert found == plain


def test_regenerate_asks_about_the_same_items_as_reflective() -> None:
    for gap in range(4):
        for repairs in (0, 1):
            asked = [Staleness(p, 1).verdict(gap, repairs) for p in ASKING]
            assert asked[0] == asked[1]


@pytest.mark.parametrize("policy", ASKING)
def test_always_asks_about_what_is_not_stale_and_never_twice(policy: Policy) -> None:
    always = Staleness(policy, 0, when="always")
    assert [always.verdict(0, 0), always.verdict(0, 1)] == ["repair", "continue"]


@pytest.mark.parametrize("policy", ["full", "guarded"])
def test_policies_that_ask_nobody_never_do(policy: Policy) -> None:
    assert Staleness(policy, 0, when="always").verdict(0, 0) == "continue"
    assert not Staleness(policy, 0).asks


@given(st.lists(st.text(max_size=9), max_size=9), st.integers(0, 40))
def test_the_newest_updates_that_fit_are_kept_and_the_newest_always(
    texts: list[str], room_bytes: int
) -> None:
    updates = [Update(v, POOL, text) for v, text in enumerate(texts, 1)]
    kept = capped(updates, room_bytes)
    assert kept == updates[len(updates) - len(kept) :]
    assert bool(kept) == bool(updates)
    sizes = [len(update.text.encode()) for update in kept]
    assert len(kept) <= 1 or sum(sizes) <= room_bytes
    if len(kept) < len(updates):
        assert sum(sizes) + len(updates[-len(kept) - 1].text.encode()) > room_bytes
