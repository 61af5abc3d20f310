"""What is checked once settings, data and code are at hand."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flashevolve.config import Budget, Model, Price, resolve
from flashevolve.data.loaders import load_splits
from flashevolve.engine.workflow import Setup, Workflow
from flashevolve.errors import ConfigError
from flashevolve.policies.control import Control
from flashevolve.prepare import Prepared, prepare
from flashevolve.simulate.world import WORLD_FILE, load_world
from flashevolve.workloads.instructions import score as instructions
from tests.fakes.workflows import Deltas

FREE = Price(input_usd_per_mtok=0, output_usd_per_mtok=0)
LOCAL = Model("local", base_url="http://127.0.0.1:1/v1", price=FREE)
UNPRICED = Model("unpriced", base_url="https://models.example/v1")


def prepared(models: dict[str, Model], budget: Budget, **more: Any) -> Any:
    """Prepares a run of user code whose calls are all counted."""
    tree = {
        "artifact": {"system": "s"},
        "task": {"metered": True},
        "models": models,
        "budget": budget,
        **more,
    }
    splits = load_splits([{"input": "a"}], [{"input": "b"}])
    return prepare(
        resolve(tree),
        splits=splits,
        run=lambda artifact, example, ctx: ctx.chat("task", "x").text,
        score=lambda example, output: 1.0,
    )


def test_a_money_budget_says_that_it_takes_a_local_model_as_free_unless_it_is_listed() -> None:
    proxied = replace(LOCAL, price=None)
    own = dict.fromkeys(("task", "reflect", "repair"), proxied)
    with pytest.warns(UserWarning, match=r"model 'local' .* counts as free in budget\.usd"):
        assert prepared(own, Budget(usd=1)).prices["local"].input_usd_per_mtok == 0
    assert prepared(own, Budget(tokens=100_000)).prices["local"].input_usd_per_mtok == 0
    listed = replace(proxied, name="gpt-4o-mini")
    own = dict.fromkeys(own, listed)
    assert prepared(own, Budget(usd=1)).prices["gpt-4o-mini"].input_usd_per_mtok == 0.15


def test_a_money_budget_wants_the_price_of_every_model_that_user_code_may_ask() -> None:
    own = {"reflect": LOCAL, "repair": LOCAL}
    assert prepared({**own, "task": LOCAL}, Budget(usd=1)).prices.keys() == {"local"}
    with pytest.raises(ConfigError, match=r"found none for 'unpriced' \(role judge\)"):
        prepared({**own, "judge": UNPRICED}, Budget(usd=1))
    assert prepared({**own, "judge": UNPRICED}, Budget(tokens=100_000)).settings.budget.usd is None


@pytest.mark.parametrize(
    ("models", "key"),
    [
        ({}, "model"),
        ({"task": Model("sim/foo")}, r"models\.task"),
    ],
)
def test_an_unknown_simulation_is_named_with_the_key_that_asks_for_it(
    models: dict[str, Model], key: str
) -> None:
    default = Model("sim/h100-qwen3-8b" if models else "sim/foo")
    with pytest.raises(ConfigError, match=rf"^{key}\.name: .*foo"):
        prepared({**models}, Budget(tokens=100_000), model=default)


SIMULATED = Model("sim/h100-qwen3-8b")
INSTRUCTION = {
    "key": 1,
    "prompt": "Avoid commas.",
    "instruction_id_list": ["punctuation:no_comma"],
    "kwargs": [{}],
}


def simulated(score: Any, **tables: Any) -> Prepared:
    tree = {
        "artifact": {"system": "s"},
        "task": {"input": "prompt"},
        "model": SIMULATED,
        "budget": Budget(metric_calls=100),
        **tables,
    }
    other = {**INSTRUCTION, "key": 2, "prompt": "Use no commas."}
    splits = load_splits([INSTRUCTION], [other], id_field="key")
    return prepare(resolve(tree), splits=splits, score=score)


def test_a_simulated_run_names_its_world_and_a_real_one_has_none() -> None:
    assert simulated(instructions).start.world == load_world().hash
    own = dict.fromkeys(("task", "reflect", "repair"), LOCAL)
    found = prepared(own, Budget(tokens=100_000))
    assert (found.world, found.simulated, found.start.world) == (None, False, "")


def test_a_built_in_tasks_scoring_takes_the_worlds_latency_however_it_is_handed_over() -> None:
    expected = load_world().latency["instructions"].draw_s("a", 3)
    for score in (instructions, partial(instructions)):
        plan = simulated(score).plan(simulated(score).start, {})
        assert plan.score_latency_s is not None
        assert plan.score_latency_s("a", 3) == expected > 0
    plain = simulated(lambda example, output: 1.0)
    assert plain.plan(plain.start, {}).score_latency_s is None


def test_a_world_of_ones_own_is_read_and_a_wrong_one_refused(tmp_path: Path) -> None:
    text = WORLD_FILE.read_text(encoding="utf-8")
    path = tmp_path / "world.toml"
    path.write_text(text.replace("mean_tokens = 699.0", "mean_tokens = 70.0"), encoding="utf-8")
    found = simulated(instructions, simulation={"world": str(path)})
    assert found.start.world != load_world().hash
    assert found.world is not None
    assert found.world.lengths.mean_tokens == 70
    path.write_text(text.replace("mean_tokens", "mean_token"), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"world.toml \[lengths\]: .* found 'mean_token'\. Did"):
        simulated(instructions, simulation={"world": str(path)})
    missing = tmp_path / "none.toml"
    with pytest.raises(ConfigError) as error:
        simulated(instructions, simulation={"world": str(missing)})
    assert str(error.value).startswith(f"{missing}: expected a readable TOML file")


def test_control_is_adaptive_within_the_limits_and_sync_has_none() -> None:
    own = dict.fromkeys(("task", "reflect", "repair"), LOCAL)

    def options(**more: Any) -> Any:
        found = prepared(own, Budget(metric_calls=100), **more)
        return found.plan(found.start, {}).options

    usual = options(limits={"in_flight": 8, "workers": 4})
    assert usual.adapts
    assert usual.control == Control(mode="adaptive", k_max=4)
    table = {"mode": "paper", "k_max": 9, "window_s": 30, "workers": {"rollout": 2}}
    paper = options(control=table)
    assert not paper.adapts
    given = Control(mode="paper", k_max=9, window_s=30.0, workers={"rollout": 2})
    assert paper.control == given
    sync = options(schedule="sync", control=table)
    assert (sync.control, sync.adapts) == (Control(), False)
    assert not options(limits={"in_flight": 1}).adapts


@dataclass(frozen=True)
class Believing:
    """Settings of an algorithm whose sweep is believed early, over a pool that cannot do that."""

    def workflow(self, setup: Setup) -> Workflow[Any]:
        made = Deltas(setup)
        made.stages = [replace(stage, release="sweep") for stage in made.stages]
        return made


def test_a_pool_that_cannot_speculate_is_refused_before_a_run_exists(tmp_path: Path) -> None:
    tree = {
        "artifact": {"text": "s"},
        "model": LOCAL,
        "budget": Budget(proposals=3),
        "run": {"dir": str(tmp_path / "run")},
    }

    def made(**speculation: float) -> Prepared:
        settings = resolve({**tree, "speculation": speculation})
        return prepare(
            settings.model_copy(update={"options": Believing()}),
            splits=load_splits([{"input": "a"}], [{"input": "b"}]),
            score=lambda example, output: 1.0,
        )

    assert made(evaluate=1.0).settings.speculation.evaluate == 1
    expected = r"needs a pool that can speculate .*, found HeadPool\. Set speculation\.evaluate = 1"
    with pytest.raises(ConfigError, match=expected):
        made(evaluate=0.5)
    assert not (tmp_path / "run").exists()
