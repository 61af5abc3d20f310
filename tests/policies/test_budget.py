from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from flashevolve.policies.budget import (
    RESOURCES,
    Ledger,
    Resource,
    expected_step,
    scarcest,
    selection_is_affordable,
)

amounts = st.dictionaries(st.sampled_from(RESOURCES), st.integers(0, 12), max_size=4)


class GuardedLedger(RuleBasedStateMachine):
    """Whoever asks first and reserves only what is granted never overshoots."""

    @initialize(limits=st.dictionaries(st.sampled_from(RESOURCES), st.integers(0, 30)))
    def begin(self, limits: dict[Resource, float]) -> None:
        self.ledger = Ledger(limits)
        self.held: list[dict[Resource, float]] = []

    @rule(wish=amounts)
    def ask(self, wish: dict[Resource, float]) -> None:
        verdict = self.ledger.verdict(wish)
        refunded = Ledger(self.ledger.limits, dict(self.ledger.spent))
        assert (verdict == "exhausted") == (refunded.verdict(wish) != "grant")
        if verdict == "grant":
            self.ledger.reserve(wish)
            self.held.append(wish)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        reserved = self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))
        used = {r: data.draw(st.integers(0, int(amount))) for r, amount in reserved.items()}
        self.ledger.settle(reserved, used)

    @rule()
    def restart(self) -> None:
        self.ledger = Ledger.load(self.ledger.limits, self.ledger.dump())

    @invariant()
    def never_overshoots(self) -> None:
        for resource, limit in self.ledger.limits.items():
            assert self.ledger.spent[resource] + self.ledger.reserved[resource] <= limit
            assert self.ledger.left(resource) >= 0
        for resource in RESOURCES:
            assert self.ledger.reserved[resource] == sum(h.get(resource, 0) for h in self.held)


TestGuardedLedger = GuardedLedger.TestCase
TestGuardedLedger.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


def test_all_or_nothing_one_short_resource_holds_the_whole_wish() -> None:
    ledger = Ledger({"metric_calls": 10, "proposals": 1})
    assert ledger.verdict({"metric_calls": 5, "proposals": 2}) == "exhausted"
    ledger.reserve({"proposals": 1})
    assert ledger.verdict({"metric_calls": 5, "proposals": 1}) == "wait"
    assert ledger.verdict({"metric_calls": 5}) == "grant"


def test_what_is_not_limited_is_always_granted_and_infinite() -> None:
    ledger = Ledger({})
    assert ledger.verdict({"tokens": 1e15}) == "grant"
    assert ledger.left("tokens") == float("inf")


def test_what_is_set_aside_can_be_neither_granted_nor_waited_for() -> None:
    ledger = Ledger({"usd": 1.0})
    assert ledger.verdict({"usd": 0.5}, {"usd": 0.4}) == "grant"
    assert ledger.verdict({"usd": 0.7}, {"usd": 0.4}) == "exhausted"
    assert ledger.verdict({"usd": 0.7}) == "grant"


@given(st.integers(1, 60).map(lambda n: 1.0 / n), st.integers(1, 40))
def test_dollars_that_add_up_to_the_limit_are_granted_in_spite_of_rounding(
    price_usd: float, n: int
) -> None:
    ledger = Ledger({"usd": price_usd * n})
    for _ in range(n):
        assert ledger.verdict({"usd": price_usd}) == "grant"
        ledger.reserve({"usd": price_usd})
        ledger.settle({"usd": price_usd}, {"usd": price_usd})
    assert ledger.verdict({"usd": price_usd}) == "exhausted"


def affordable(limits: dict[Resource, float], **facts: Any) -> bool:
    known = {"mean_item": {}, "n_in_flight": 0, "aside": {}, **facts}
    return selection_is_affordable(Ledger(limits), **known)


def test_a_step_starts_if_the_rest_covers_it_and_all_that_is_in_flight() -> None:
    assert affordable({"tokens": 100}, mean_item={"tokens": 25}, n_in_flight=3)
    assert not affordable({"tokens": 100}, mean_item={"tokens": 25}, n_in_flight=4)
    assert not affordable(
        {"tokens": 100}, mean_item={"tokens": 25}, n_in_flight=3, aside={"tokens": 1}
    )


def test_steps_that_cost_nothing_start_even_if_nothing_is_left() -> None:
    assert affordable({"tokens": 100}, mean_item={"tokens": 0}, aside={"tokens": 101})


def test_without_a_forecast_or_a_limit_a_step_starts() -> None:
    assert affordable({"tokens": 1})
    assert affordable({}, mean_item={"tokens": 25}, n_in_flight=9)


def test_a_declared_step_counts_as_one_that_has_ended() -> None:
    declared: dict[Resource, float] = {"metric_calls": 22}
    assert expected_step({}, 0, declared=declared) == declared
    known: dict[Resource, float] = {"metric_calls": 6, "tokens": 5}
    assert expected_step(known, 3, declared=declared) == {"metric_calls": 10, "tokens": 5}
    assert expected_step(known, 3, declared={}) == known


def test_the_scarcest_resource_is_the_one_with_the_fewest_steps_left() -> None:
    ledger = Ledger({"tokens": 1000, "metric_calls": 100})
    mean: dict[Resource, float] = {"tokens": 100, "metric_calls": 50, "usd": 1, "proposals": 0}
    assert scarcest(ledger, mean) == "metric_calls"
    ledger.settle({}, {"tokens": 950})
    assert scarcest(ledger, mean) == "tokens"
