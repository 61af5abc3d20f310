"""Whatever cannot run is refused in one line, before anything is called or written."""

import inspect
from typing import Any

import gepa
import pytest

import flashevolve as fe
from flashevolve.errors import ConfigError
from flashevolve.integrations.gepa import optimize
from flashevolve.integrations.gepa.arguments import OURS, TREATMENT
from tests.fakes.adapters import DATA, SEED, Levels, Proposing, add_x


def test_the_list_of_what_becomes_of_each_argument_is_complete() -> None:
    assert list(TREATMENT) == list(inspect.signature(gepa.optimize).parameters)
    assert [*TREATMENT, *OURS] == list(inspect.signature(optimize).parameters)


class Custom:
    """A strategy that is none of gepa's."""


GIVEN: dict[str, Any] = {
    "seed_candidate": SEED,
    "trainset": DATA,
    "adapter": Levels(),
    "reflection_lm": add_x,
    "max_metric_calls": 100,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed_candidate": {}}, "seed_candidate: expected component name -> text"),
        ({"seed_candidate": {"p": 7}}, r"seed_candidate\['p'\]: expected a text, found 7"),
        ({"adapter": None}, "task_lm: expected a model to ask, since there is no adapter"),
        ({"task_lm": "m"}, "task_lm: expected None beside an adapter"),
        ({"evaluator": print}, "evaluator: expected None beside an adapter"),
        ({"reflection_lm": None}, "reflection_lm: expected a model that writes new texts"),
        ({"max_metric_calls": None}, "max_metric_calls: expected a limit, found none"),
        ({"max_metric_calls": 5}, "budget.metric_calls: expected at least"),
        ({"budget": fe.Budget(metric_calls=7)}, "expected the same as budget.metric_calls = 7"),
        ({"candidate_selection_strategy": "paretto"}, "found 'paretto'. Did you mean 'pareto'"),
        ({"frontier_type": "all"}, "frontier_type: expected one of instance, objective"),
        ({"module_selector": "none"}, "module_selector: expected one of round_robin, all"),
        ({"batch_sampler": Custom()}, "batch_sampler: expected .* next_minibatch_ids, found"),
        ({"acceptance_criterion": "any"}, "acceptance_criterion: expected one of strict_impr"),
        ({"val_evaluation_policy": "half"}, "val_evaluation_policy: expected one of full_eval"),
        ({"sampling_strategy": Custom()}, "sampling_strategy: expected None, since steps run"),
        ({"selection_strategy": Custom()}, "selection_strategy: expected None, since steps run"),
        ({"custom_candidate_proposer": print, "adapter": Proposing()}, "found adapter.propose_new"),
        ({"adapter": Proposing(), "reflection_prompt_template": "x"}, "expected None beside adapt"),
        ({"perfect_score": None}, "perfect_score: expected a number with skip_perfect_score"),
        ({"adapter_concurrency": 0}, "adapter_concurrency: expected 1 or more, found 0"),
        ({"trainset": []}, "trainset: expected at least one instance, found none"),
        ({"valset": 7}, "valset: expected a list, or a DataLoader"),
    ],
)
def test_what_cannot_run_is_refused_in_one_line(
    change: dict[str, Any], message: str, tmp_path: Any
) -> None:
    with pytest.raises(fe.FlashEvolveError, match=message) as error:
        optimize(**{**GIVEN, **change, "run_dir": str(tmp_path / "run")})
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_a_sampler_of_ones_own_brings_its_own_size() -> None:
    from gepa.strategies.batch_sampler import EpochShuffledBatchSampler

    with pytest.raises(ConfigError, match="reflection_minibatch_size: expected None beside"):
        optimize(**GIVEN, batch_sampler=EpochShuffledBatchSampler(2), reflection_minibatch_size=2)


def test_what_has_no_effect_is_said(tmp_path: Any) -> None:
    from gepa.strategies.proposal_sampling import PxNSampling

    said: list[str] = []

    class Lines:
        def log(self, line: str) -> None:
            said.append(line)

    optimize(
        **GIVEN,
        valset=DATA,
        run_dir=str(tmp_path),
        logger=Lines(),
        sampling_strategy=PxNSampling(2, 2),
        cache_evaluation=True,
    )
    assert "sampling_strategy has no effect: steps run side by side without it; a class of " in (
        "".join(said)
    )
    assert any(line.startswith("cache_evaluation has no effect: validation") for line in said)
