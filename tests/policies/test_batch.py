from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.policies.batch import best_size, choose_size, epoch_s, fit, trial_sizes

SIZES = st.lists(st.integers(1, 200), min_size=1, max_size=6, unique=True)


def law(scale_s: float, alpha: float, *sizes: int) -> dict[int, float]:
    return {size: scale_s * size**-alpha for size in sizes}


def test_an_epoch_takes_as_many_steps_as_it_has_batches() -> None:
    assert epoch_s(step_s=12.0, size=10, n_train=200) == 240.0


def test_times_that_follow_a_power_law_give_it_back() -> None:
    found = fit(law(1000.0, 1.0, 5, 10, 20, 40))
    assert found.alpha == pytest.approx(1.0)
    assert best_size(found, 10.0) == pytest.approx(10.0)


def test_noise_is_levelled_between_the_logarithms() -> None:
    exact = law(500.0, 0.7, 4, 8, 16, 32)
    noisy = {
        size: seconds * (1.1 if size in (4, 32) else 1 / 1.1) for size, seconds in exact.items()
    }
    assert fit(noisy).alpha == pytest.approx(0.7)


def test_the_batch_grows_until_one_more_example_saves_tau() -> None:
    assert choose_size(law(1000.0, 1.0, 5, 10, 20, 40), tau_s=10.0, largest=100) == 10
    assert choose_size(law(1000.0, 1.0, 5, 10, 20, 40), tau_s=9.0, largest=100) == 10
    assert choose_size(law(1000.0, 1.0, 5, 10, 20, 40), tau_s=1.6, largest=100) == 25


@pytest.mark.parametrize("alpha", [0.25, 0.5, 1.0, 2.0])
def test_without_a_tau_it_is_a_share_of_the_steepest_slope(alpha: float) -> None:
    expected = floor(10 * 62.5 ** (1 / (1 + alpha)) + 1e-6)
    assert choose_size(law(7.0, alpha, 10, 20, 40), None, largest=10**6) == expected


def test_it_is_never_below_what_was_tried_nor_above_the_largest() -> None:
    times = law(1000.0, 1.0, 8, 16)
    assert choose_size(times, tau_s=1e9, largest=100) == 8
    assert choose_size(times, tau_s=1e-9, largest=100) == 100
    assert choose_size(times, tau_s=1e9, largest=6) == 6


@pytest.mark.parametrize(
    "times", [{5: 10.0, 10: 10.0}, {5: 10.0, 10: 30.0}, {5: 10.0}, {5: 0.0, 10: 0.0}]
)
def test_where_larger_batches_save_nothing_the_smallest_is_taken(times: dict[int, float]) -> None:
    assert choose_size(times, None, largest=100) == 5
    assert choose_size(times, tau_s=0.1, largest=100) == 5


@given(
    st.dictionaries(st.integers(1, 500), st.floats(0, 1e6), min_size=1, max_size=6),
    st.none() | st.floats(1e-6, 1e6),
    st.integers(1, 600),
)
def test_whatever_was_measured_the_size_is_within_its_bounds(
    times: dict[int, float], tau_s: float | None, largest: int
) -> None:
    size = choose_size(times, tau_s, largest)
    assert min(min(times), largest) <= size <= largest


@given(SIZES, st.floats(0.01, 1000), st.floats(0.1, 2), st.floats(0.5, 50))
def test_the_unit_of_time_does_not_matter(
    sizes: list[int], scale_s: float, alpha: float, tau_s: float
) -> None:
    """Per example instead of per epoch, A and tau shrink alike."""
    once, per_example = law(scale_s, alpha, *sizes), law(scale_s / 64, alpha, *sizes)
    assert choose_size(once, None, 400) == choose_size(per_example, None, 400)
    assert abs(choose_size(once, tau_s, 400) - choose_size(per_example, tau_s / 64, 400)) <= 1


def test_sizes_to_try_are_cut_to_the_largest_and_none_comes_twice() -> None:
    assert trial_sizes((40, 5, 10, 20), 15) == (5, 10, 15)
    assert trial_sizes((5, 10), 3) == (3,)
