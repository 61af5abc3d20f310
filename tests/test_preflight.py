from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flashevolve.config import Budget, Model, Settings, TaskSettings, resolve
from flashevolve.data.loaders import Splits, load_splits
from flashevolve.data.metrics import score_function
from flashevolve.engine.item import Minimum
from flashevolve.errors import ConfigError, DataError
from flashevolve.llm.prices import Price
from flashevolve.preflight import (
    check_artifact,
    check_control,
    check_examples,
    check_overlap,
    check_same_run,
    preflight,
    without_effect,
)

PRICE = Price(input_usd_per_mtok=1.0, output_usd_per_mtok=1.0)
MINIMUM = Minimum(metric_calls=6, shared=20, why="10 for the seed on val + 2 x 3 + 10 for one step")


def splits(**changes: list[dict[str, Any]]) -> Splits:
    data: dict[str, Any] = {
        split: [{"id": split, "input": split, "answer": "a"}] for split in ("train", "val", "test")
    }
    return load_splits(**{**data, **changes})


def check(
    *,
    budget: Budget,
    metered: bool = True,
    price_known: bool = True,
    data: Splits | None = None,
    own_run: bool = False,
    **changes: Any,
) -> None:
    """Runs the whole preflight of a run that is right but for what is given."""
    tree = {
        "artifact": {"system": "s"},
        "task": {"metric": "exact"},
        "models": {"task": (Model("t"),), "reflect": (Model("r"), Model("unpriced"))},
        **changes,
    }
    settings = Settings(**tree, budget=budget)
    preflight(
        settings,
        data or splits(),
        score=score_function(settings.task),
        roles=("task", "reflect"),
        minimum=MINIMUM,
        price_of=lambda model: PRICE if price_known or model.name != "unpriced" else None,
        metered=metered,
        own_run=own_run,
    )


@pytest.mark.parametrize(
    "budget",
    [
        Budget(metric_calls=26),
        Budget(proposals=1),
        Budget(seconds=1),
        Budget(usd=5, tokens=9000, metric_calls=27),
        Budget(tokens=8192 + 4 + 48, usd=0.008244),
    ],
)
def test_what_is_right_passes(budget: Budget) -> None:
    check(budget=budget)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"budget": Budget()},
            r"^budget: expected at least one limit, found none\. For example --budget\.metric-calls"
            r" 2000, --budget\.usd 5 or --budget\.seconds 3600$",
        ),
        (
            {"budget": Budget(metric_calls=25, usd=1)},
            r"^budget\.metric_calls: expected at least 26 \(10 for the seed on val \+ 2 x 3 \+ 10 "
            r"for one step\), which one step needs, found 25\. Raise it: --budget\.metric-calls 2",
        ),
        (
            {
                "budget": Budget(metric_calls=45),
                "task": {"metric": "exact", "replicas": 2},
            },
            r"^budget\.metric_calls: expected at least 46 \(10 for the seed on val \+ 2 x 3 \+ 10 "
            r"for one step, each on val 2 times\), which one step needs, found 45\. Raise it: ",
        ),
        (
            {"budget": Budget(usd=1), "price_known": False},
            r"^budget\.usd: expected a known price for every model, found none for 'unpriced' "
            r"\(role reflect\)\. Give it, 0 if it is free: --models\.reflect\.price ",
        ),
        ({"budget": Budget(usd=1), "metered": False}, r"^budget\.usd: .* client of its own"),
        ({"budget": Budget(tokens=1), "metered": False}, r"^budget\.tokens: .* client of its own"),
        (
            {"budget": Budget(tokens=8243)},
            r"^budget\.tokens: expected at least 8244, which one request for the seed may cost "
            r"\(its longest input and max_output_tokens\), found 8243\. Raise it: --budget\.token",
        ),
        (
            {"budget": Budget(usd=0.0082)},
            r"^budget\.usd: expected at least 0\.008244, which one request .*, found 0\.0082\. ",
        ),
        (
            {"budget": Budget(usd=1), "models": {"reflct": (Model("r"),)}, "model": Model("m")},
            r"^models\.reflct: expected a role that this run asks, one of task, reflect, repair, "
            r"judge, embed\. Did you mean 'reflect'\? Rename or remove it$",
        ),
        ({"budget": Budget(usd=1), "models": {}}, r"^no model for role 'reflect'"),
    ],
)
def test_a_run_that_cannot_work_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check(**changes)


TEMPLATE = "{{stale}} {{current}} {{updates}}"


@pytest.mark.parametrize(
    ("policy", "staleness", "message"),
    [
        (
            "full",
            {"history": "none"},
            r"^staleness\.history: expected policy reflective or regenerate, which ask a model, "
            r"found full\. Set --policy reflective, or remove it$",
        ),
        ("guarded", {"when": "always"}, r"^staleness\.when: expected policy reflective or rege"),
        (
            "regenerate",
            {"repair_batch": 2},
            r"^staleness\.repair_batch: expected none with policy regenerate, .* several stale",
        ),
        (
            "regenerate",
            {"repair_prompt": TEMPLATE},
            r"^staleness\.repair_prompt: expected none with policy regenerate, .* shows the stale",
        ),
        (
            "reflective",
            {"repair_prompt": TEMPLATE, "repair_batch": 2},
            r"^staleness\.repair_batch: expected 1 with a repair_prompt of your own, .* found 2\.",
        ),
    ],
)
def test_settings_of_repair_that_would_be_ignored_are_refused(
    policy: str, staleness: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        check(budget=Budget(metric_calls=26), policy=policy, staleness=staleness)


@pytest.mark.parametrize(
    ("policy", "staleness"),
    [
        ("full", {"repair_batch": 4}),
        ("regenerate", {"history": "shuffled", "when": "always"}),
        ("reflective", {"repair_batch": 4, "history": "none", "when": "always"}),
    ],
)
def test_settings_of_repair_that_go_together_pass(policy: str, staleness: dict[str, Any]) -> None:
    check(budget=Budget(metric_calls=26), policy=policy, staleness=staleness)


def test_roles_that_only_other_runs_ask_and_those_of_user_code_are_left_alone() -> None:
    unused = {"repair": (Model("r"),), "judge": (Model("r"),)}
    check(budget=Budget(metric_calls=99), models=unused, model=Model("m"))
    own = {"planner": (Model("r"),)}
    check(budget=Budget(metric_calls=99), models=own, model=Model("m"), own_run=True)


def test_prices_and_meters_matter_only_to_the_budgets_that_need_them() -> None:
    check(budget=Budget(metric_calls=99), metered=False, price_known=False)
    check(budget=Budget(tokens=9900), price_known=False)


def test_examples_without_the_expected_answer_are_refused() -> None:
    data = splits(val=[{"id": "v", "input": "x"}])
    with pytest.raises(
        DataError, match=r"^data\.val: val\[0\] \(id 'v'\): expected a field 'answer'"
    ):
        check(budget=Budget(usd=1), data=data)


def test_a_score_that_is_bound_to_options_still_checks_its_examples() -> None:
    bound = partial(partial(score_function(TaskSettings(metric="exact"))))
    settings = Settings(artifact={"system": "s"}, task={"metric": "exact"}, budget=Budget(usd=1))
    with pytest.raises(DataError, match=r"^data\.val: val\[0\] .*expected a field 'answer'"):
        check_examples(settings, splits(val=[{"id": "v", "input": "x"}]), bound, own_run=False)


def test_examples_without_the_users_message_are_refused_unless_user_code_makes_it() -> None:
    data = splits(test=[{"id": "t", "answer": "x"}])
    with pytest.raises(
        DataError, match=r"^data\.test: test\[0\] \(id 't'\): expected a field 'input'"
    ):
        check(budget=Budget(usd=1), data=data)
    check(budget=Budget(usd=1), data=data, task={"metric": "exact", "run": "m:f"})
    check(budget=Budget(usd=1), data=data, own_run=True)


def test_test_examples_that_were_learnt_from_are_refused() -> None:
    data = splits(test=[{"id": "other", "input": "val", "answer": "a"}])
    with pytest.raises(
        DataError, match=r"^data\.test: example 'other' has the same content as val example 'val'"
    ):
        check(budget=Budget(usd=1), data=data)


def test_val_examples_that_were_learnt_from_are_refused() -> None:
    data = splits(val=[{"id": "other", "input": "train", "answer": "a"}])
    with pytest.raises(
        DataError, match=r"^data\.val: example 'other' has the same content as train example 'tra"
    ):
        check(budget=Budget(usd=1), data=data)


def test_what_user_code_asks_is_not_known_and_refuses_no_budget(tmp_path: Path) -> None:
    check(budget=Budget(tokens=9), own_run=True)
    check(budget=Budget(tokens=9), run={"reuse": tmp_path})


def test_an_artifact_without_components_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^artifact: expected at least one component"):
        check_artifact({})


def test_examples_that_only_their_id_tells_apart_do_not_overlap() -> None:
    only_ids: Any = {"train": [{"id": "a"}], "val": [{"id": "b"}], "test": [{"id": "c"}]}
    check_overlap(load_splits(**only_ids))
    opaque: Any = {split: [{"id": split, "image": object()}] for split in ("train", "val", "test")}
    check_overlap(load_splits(**opaque))


def test_a_directory_of_another_run_is_refused_with_what_differs() -> None:
    recorded, now = {"seed": 1, "budget": {"usd": 1}}, {"seed": 2, "budget": {"usd": 2}}
    data, other = {"val": {"n": 1, "hash": "x"}}, {"val": {"n": 1, "hash": "y"}}
    check_same_run(Path("runs/a"), recorded, {**now, "seed": 1}, data, data)
    with pytest.raises(
        ConfigError,
        match=r"^runs/a: expected the configuration that this run was started with, found another: "
        r"seed, contents of data\.val\. Set it back, or choose another --run\.dir$",
    ):
        check_same_run(Path("runs/a"), recorded, now, data, other)


def test_many_differences_are_cut_short() -> None:
    before = {"artifact": {f"c{i}": "x" for i in range(9)}}
    with pytest.raises(ConfigError, match=r"found another: artifact\.c0, .*\.c4, \.\.\.\. Set it"):
        check_same_run(Path("r"), before, {"artifact": {"c0": "y"}}, {}, {})


def test_an_artifact_without_what_its_workload_runs_is_refused() -> None:
    check_artifact({"system": "x", "other": "y"}, "shape")
    check_artifact({"other": "y"}, "instructions")
    message = (
        r"^artifact: expected a component 'system', which workload 'shape' runs, found prompt\. "
        r"Add --artifact\.system TEXT$"
    )
    with pytest.raises(ConfigError, match=message):
        check_artifact({"prompt": "x"}, "shape")


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        ({"gepa": {"proposals": 2}, "speculation": {"evaluate": 0.5}}, "speculation has no effect"),
        (
            {"algorithm": "combee", "combee": {"batch": 5, "batch_max": 9}},
            "combee.batch_max has no effect on a fixed batch",
        ),
        (
            {"control": {"mode": "paper", "window_s": 5.0}},
            "control.window_s = 5 is shorter than control.tick_s = 15",
        ),
    ],
)
def test_settings_without_effect_are_told(tree: dict[str, Any], told: str) -> None:
    (line,) = without_effect(resolve(tree))
    assert line.startswith(told)
    assert "\n" not in line


@pytest.mark.parametrize(
    "tree",
    [
        {"gepa": {"proposals": 2}},
        {"speculation": {"evaluate": 0.5}},
        {"algorithm": "combee", "combee": {"batch": "dynamic", "batch_max": 9}},
        {"algorithm": "combee"},
        {"control": {"mode": "fixed", "window_s": 5.0}},
    ],
)
def test_settings_that_are_heeded_are_not_told(tree: dict[str, Any]) -> None:
    assert without_effect(resolve(tree)) == []


def _controlled(control: dict[str, Any], **more: Any) -> Settings:
    return resolve({"control": control, **more})


def test_crossed_bounds_of_control_are_refused_by_name() -> None:
    check_control(_controlled({"k_min": 4, "k_max": 4}), ["a"])
    crossed = (
        r"^control\.k_min: expected at most control\.k_max = 4, found 8\. Lower control\.k_min"
    )
    with pytest.raises(ConfigError, match=crossed):
        check_control(_controlled({"k_min": 8, "k_max": 4}), ["a"])
    with pytest.raises(ConfigError, match=r"expected at most limits\.workers = 2, found 3\."):
        check_control(_controlled({"k_min": 3}, limits={"workers": 2}), ["a"])
    for key in ("in_flight", "concurrency"):
        with pytest.raises(
            ConfigError, match=rf"at most limits\.{key} = 2, .* raise limits\.{key}$"
        ):
            check_control(_controlled({"k_min": 3}, limits={key: 2}), ["a"])


def test_workers_of_a_stage_that_is_not_there_are_refused_with_the_nearest() -> None:
    wrong = _controlled({"workers": {"evalute": 2}})
    unknown = (
        r"^control\.workers\.evalute: expected a stage of 'gepa', one of rollout, evaluate, "
        r"repair\. Did you mean 'evaluate'\? Rename or remove it$"
    )
    with pytest.raises(ConfigError, match=unknown):
        check_control(wrong, ["rollout", "evaluate"])
    check_control(_controlled({"workers": {"repair": 2}}), ["rollout"])
    with pytest.raises(ConfigError, match=r"control\.workers\.repair: expected a stage"):
        check_control(_controlled({"workers": {"repair": 2}}, policy="full"), ["rollout"])


def test_workers_to_begin_with_lie_within_the_bounds_unless_they_are_fixed() -> None:
    outside = {"k_max": 4, "workers": {"a": 9}}
    message = (
        r"control\.workers\.a: expected 1 to 4, the bounds control\.k_min and control\.k_max, f"
    )
    with pytest.raises(ConfigError, match=message):
        check_control(_controlled(outside), ["a"])
    check_control(_controlled({**outside, "mode": "fixed"}), ["a"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"mode": "paper", "window_s": 0}, r"control\.window_s: expected a number greater than 0"),
        ({"mode": "paper", "window_s": None}, r"control\.window_s: expected a number, found None"),
        ({"tick_s": -1.0}, r"control\.tick_s: expected a number greater than 0, found -1\.0"),
        ({"k_min": 0}, r"control\.k_min: expected a number greater than 0, found 0"),
        ({"mode": "papr"}, r"control\.mode: expected 'adaptive', 'paper' or 'fixed', found 'papr'"),
        ({"windows": 3}, r"control\.windows: unknown key\. Did you mean 'window_s'\?"),
        ({"workers": {"a": 0}}, r"control\.workers\.a: expected a number greater than 0, found 0"),
    ],
)
def test_settings_of_control_out_of_range_are_refused_in_one_line(
    wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        _controlled(wrong)


def test_speculation_is_refused_where_nobody_would_be_believed() -> None:
    from flashevolve.algorithms.gepa import GEPA

    early: Any = {"speculation": {"evaluate": 0.5}}
    check(budget=Budget(metric_calls=100), options=GEPA(frontier="hybrid"), **early)
    with pytest.raises(ConfigError, match=r"expected 1 with frontier = 'objective'.*found 0\.5"):
        check(budget=Budget(metric_calls=100), options=GEPA(frontier="objective"), **early)
