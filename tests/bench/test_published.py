import pytest

from flashevolve.bench.published import (
    COMBEE_TABLE,
    GEPA_TABLE,
    IFBENCH,
    SHAPES,
    TOKENS_UNUSABLE,
)
from flashevolve.simulate.world import load_world


def test_the_published_workloads_are_the_shapes_of_the_world() -> None:
    assert tuple(load_world().shapes) == SHAPES
    for table in (GEPA_TABLE, *COMBEE_TABLE.values()):
        assert tuple(table) == SHAPES


def test_tokens_per_proposal_close_on_ifbench_as_published() -> None:
    """699 x (6 + 0.12 x 300) = 29.4k against 963 x 60 / 1.9 = 30.4k."""
    predicted = IFBENCH.tokens_per_evaluation * (6 + IFBENCH.gate_rate * 300)
    assert predicted == pytest.approx(29_400, abs=50)
    assert GEPA_TABLE["ifbench"].tokens_per_proposal == pytest.approx(30_400, abs=50)


def test_sweeps_close_on_ifbench_as_published() -> None:
    found = GEPA_TABLE["ifbench"].proposals_per_min
    assert found * IFBENCH.gate_rate == pytest.approx(0.23, abs=0.005)
    assert IFBENCH.sweeps_per_min == 0.26
    step_s = IFBENCH.rollout_and_propose_s + IFBENCH.gate_rate * IFBENCH.sweep_s
    assert 60 / step_s == pytest.approx(found, rel=0.01)


def test_hotpotqas_token_rate_is_impossible() -> None:
    assert {"hotpotqa"} == TOKENS_UNUSABLE
    assert GEPA_TABLE["hotpotqa"].tokens_per_proposal == pytest.approx(391, abs=1)


@pytest.mark.parametrize("name", [s for s in SHAPES if s not in TOKENS_UNUSABLE])
def test_the_shapes_tokens_per_proposal_are_the_published_ones(name: str) -> None:
    shape = load_world().shape(name)
    published = GEPA_TABLE[name].tokens_per_proposal
    assert shape.tokens_per_step == pytest.approx(published, rel=0.1)
