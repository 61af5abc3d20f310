import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from flashevolve.bench.cell import Row
from flashevolve.bench.prediction import (
    RATE,
    arm_of,
    group_of,
    median_error,
    predictions,
    ratio_warning,
)
from flashevolve.bench.published import COMBEE_TABLE
from tests.bench.made import a_row


def rows(off: Callable[[float], float], seeds: int = 2) -> list[Row]:
    """Rows whose rates are `off` the published ones."""
    return [
        replace(
            a_row(arm_of(batch), seed),
            group=group_of(shape),
            figures={RATE: off(published.proposals_per_min)},
        )
        for batch, table in COMBEE_TABLE.items()
        for shape, published in table.items()
        for seed in range(seeds)
    ]


def test_a_world_that_foresees_combee_gets_no_warning() -> None:
    exact = rows(lambda rate: rate)
    assert median_error(exact) == 0
    assert ratio_warning(exact) is None
    assert ratio_warning(rows(lambda rate: 1.49 * rate)) is None


@pytest.mark.parametrize("factor", [1.5, 1 / 1.6, 3.0])
def test_a_world_that_misses_by_half_warns_of_its_ratios(factor: float) -> None:
    error = median_error(rows(lambda rate: factor * rate))
    assert error == pytest.approx(abs(math.log(factor)))
    told = ratio_warning(rows(lambda rate: factor * rate)) or ""
    assert told.startswith("WARNING: this world misses Combee's published proposals/min by a fact")
    assert f"factor of {max(factor, 1 / factor):.2f} in the median (1.5 was allowed)" in told


def test_without_all_settings_nothing_is_checked_and_the_warning_says_so() -> None:
    some = rows(lambda rate: rate)[2:]
    assert median_error(some) is None
    assert "was not made in this world" in (ratio_warning(some) or "")


def test_a_prediction_is_a_mean_over_seeds_beside_the_published_rate() -> None:
    pair = rows(lambda rate: rate, seeds=1)[:1]
    other = replace(pair[0], seed=1, figures={RATE: 3 * 1.2})
    (found,) = predictions([*pair, other])
    assert (found.batch, found.shape, found.published) == (10, "ifbench", 1.2)
    assert found.found == pytest.approx(2.4)
    assert found.error == pytest.approx(math.log(2))


def test_no_proposal_at_all_is_an_infinite_error() -> None:
    assert median_error(rows(lambda rate: 0.0)) == math.inf
