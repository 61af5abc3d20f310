import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.engine.outcomes import as_outcome
from flashevolve.objectives import mean_objectives, plain_objectives

NAMED = st.dictionaries(st.sampled_from("abc"), st.floats(-1, 1))


def test_a_mean_is_over_those_that_have_the_objective() -> None:
    assert mean_objectives([{"b": 1.0, "a": 0.0}, {}, {"b": 0.0}]) == {"a": 0.0, "b": 0.5}
    assert mean_objectives([]) == {}


@given(st.lists(NAMED), st.randoms(use_true_random=False))
def test_means_do_not_depend_on_the_order(given: list[dict[str, float]], random) -> None:  # type: ignore[no-untyped-def]
    before = list(mean_objectives(given).items())
    random.shuffle(given)
    assert list(mean_objectives(given).items()) == before


def test_a_metric_may_give_any_mapping_of_numbers_or_none() -> None:
    assert plain_objectives(None) == {}
    assert plain_objectives({"a": 1, "b": True}) == {"a": 1.0, "b": 1.0}


@pytest.mark.parametrize("given", [[0.1], "a", {1: 0.1}])
def test_anything_else_is_refused(given: object) -> None:
    with pytest.raises(TypeError, match=r"expected Outcome\.objectives to map names to numbers"):
        plain_objectives(given)


def test_a_number_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="objective 'speed' is nan; expected a finite number"):
        plain_objectives({"speed": float("nan")})


def test_a_number_whose_sums_overflow_is_refused() -> None:
    with pytest.raises(ValueError, match=r"objective 'speed' is -1\.7e\+308; expected at most 1e"):
        plain_objectives({"speed": -1.7e308})
    with pytest.raises(ValueError, match=r"the score is 1\.7e\+308; expected at most 1e\+300"):
        as_outcome(1.7e308, "output")
