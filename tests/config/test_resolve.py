import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashevolve.config import Budget, Model, dump, load, merge, resolve
from flashevolve.errors import ConfigError
from tests.config.beam import Beam

BEAM = "tests.config.beam:Beam"


def resolved(tree: dict[str, Any], base: Path | str = ".") -> Any:
    return resolve({"algorithm": BEAM, **tree}, base, source="run.toml")


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"budgett": {}}, r"run\.toml: budgett: unknown key\. Did you mean 'budget'\?"),
        ({"limits": {"concurency": 1}}, r"limits\.concurency: unknown key\. .* 'concurrency'\?"),
        ({"limits": {"zzz": 1}}, r"limits\.zzz: unknown key\. Expected one of concurrency, in_fli"),
        ({"limits": 5}, r"run\.toml: limits: expected a table, found 5$"),
        ({"limits": {"concurrency": "64"}}, r"concurrency: expected a whole number, found '64'$"),
        (
            {"budget": {"usd": -1}},
            r"run\.toml: budget\.usd: expected a number greater than 0, found -1$",
        ),
        ({"budget": {"usdd": 1}}, r"run\.toml: budget\.usdd: unknown key\. Did you mean 'usd'\?"),
        (
            {"policy": "nice"},
            r"policy: expected 'reflective', 'guarded', 'full' or 'regenerate', found 'nice'$",
        ),
        ({"seed": 1.5}, r"run\.toml: seed: expected a whole number, found 1\.5$"),
        ({"options": {}}, r"run\.toml: options: unknown key"),
        ({"beam": {"widht": 2}}, r"run\.toml: beam\.widht: unknown key\. Did you mean 'width'\?"),
        (
            {"beam": {"width": 0}},
            r"run\.toml: beam\.width: expected a number greater than 0, found 0$",
        ),
        ({"beam": 3}, r"run\.toml: beam: expected a table, found 3$"),
        ({"beem": {}}, r"run\.toml: beem: unknown key\. Did you mean 'beam'\?"),
        ({"task": {"metric": "exakt"}}, r"task\.metric: expected one of exact, .*, found 'exakt'$"),
        ({"task": {"run": "agent.py"}}, r"task\.run: expected module:function.*found 'agent\.py'$"),
        ({"data": {"split": [1, 2]}}, r"data\.split: expected at least 3 items, found \[1, 2\]$"),
        (
            {"data": {"split": [1, 2, -3]}},
            r"data\.split\[2\]: expected a number greater than or equal to 0",
        ),
        ({"data": 4}, r"run\.toml: data: expected a table, found 4$"),
        ({"run": {"base": 4}}, r"run\.toml: run\.base: expected a path"),
        ({"run": 4}, r"run\.toml: run: expected a table, found 4$"),
        ({"artifact": {"a": 3}}, r"run\.toml: artifact\.a: expected text, found 3$"),
        ({"artifact": {"a": {"path": "x"}}}, r"artifact\.a: expected a text or \{file = \"prompt"),
        ({"artifact": {"a": {"file": "no.md"}}}, r"artifact\.a: cannot read .*no\.md: No such fi"),
        ({"artifact": []}, r"run\.toml: artifact: expected a table, found \[\]$"),
        ({"model": 5}, r"run\.toml: model: expected a table, found 5$"),
        ({"model": {}}, r"run\.toml: model\.name: expected a value, found none"),
        ({"models": {"task": {"nam": "x"}}}, r"models\.task\.nam: unknown key\. .* 'name'\?"),
        ({"models": {"task": ["a", 5]}}, r"run\.toml: models\.task\[1\]: expected a table, found"),
        ({"models": {"task": []}}, r"run\.toml: models\.task: expected at least 1 items, found"),
        ({"models": [1]}, r"run\.toml: models: expected a table, found \[1\]$"),
        (
            {"model": {"name": "a", "price": {"input_usd_per_mtok": 1, "output_usd_mtok": 2}}},
            r"model\.price\.output_usd_mtok: unknown key\. .* 'output_usd_per_mtok'\?",
        ),
        ({"algorithm": "gepaa"}, r"algorithm: expected one of gepa, .* Did you mean 'gepa'\?$"),
        ({"algorithm": 4}, r"run\.toml: algorithm: expected a name such as 'gepa'.*found 4$"),
    ],
)
def test_a_mistake_is_one_line_with_file_and_key(tree: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        resolved(tree)
    assert "\n" not in str(caught.value)


def test_a_mistake_on_the_command_line_is_said_to_be_there() -> None:
    overrides = [("model.name", "4"), ("seed", "1")]
    tree = merge({"algorithm": BEAM}, overrides)
    with pytest.raises(ConfigError, match=r"^--model\.name: expected text, found 4$"):
        resolve(tree, source="run.toml", overridden=[key for key, _ in overrides])


def test_the_algorithms_table_is_checked_by_its_class() -> None:
    assert resolved({"beam": {"width": 7}}).options == Beam(width=7)
    assert resolved({}).options == Beam()


def test_tables_of_other_algorithms_may_stay_in_the_file() -> None:
    assert resolved({"gepa": {"anything": 1}}).options == Beam()


def test_instances_stand_for_tables() -> None:
    settings = resolve(
        {
            "algorithm": Beam(width=2),
            "budget": Budget(usd=5),
            "models": {"task": "openai/x", "reflect": Model("y", timeout_s=9)},
        }
    )
    assert (settings.algorithm, settings.options) == (BEAM, Beam(width=2))
    assert settings.budget.usd == 5
    assert settings.models["task"] == (Model("openai/x"),)
    assert settings.models["reflect"] == (Model("y", timeout_s=9),)


def test_roles_inherit_the_default_model() -> None:
    settings = resolved(
        {
            "model": {"name": "a", "base_url": "http://h/v1", "temperature": 1},
            "models": {
                "task": "b",
                "judge": {"temperature": 0},
                "reflect": ["c", {"name": "d", "base_url": "", "weight": 3}],
            },
        }
    )
    assert settings.models["task"] == (Model("b", base_url="http://h/v1", temperature=1),)
    assert settings.models["judge"] == (Model("a", base_url="http://h/v1", temperature=0),)
    assert settings.models["reflect"] == (
        Model("c", base_url="http://h/v1", temperature=1),
        Model("d", temperature=1, weight=3),
    )


def test_a_default_without_a_name_only_completes_roles() -> None:
    settings = resolved({"model": {"timeout_s": 5}, "models": {"task": "a"}})
    assert settings.model is None
    assert settings.models["task"] == (Model("a", timeout_s=5),)


def test_a_price_is_not_inherited_by_a_model_of_another_name() -> None:
    price = {"input_usd_per_mtok": 1, "output_usd_per_mtok": 2}
    settings = resolved(
        {"model": {"name": "a", "price": price}, "models": {"task": "b", "judge": {"weight": 2}}}
    )
    assert settings.models["task"][0].price is None
    assert settings.models["judge"][0].price is not None


def test_components_are_read_from_files_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("Grüße", encoding="utf-8")
    settings = resolved({"artifact": {"a": {"file": "prompt.md"}, "b": "text"}}, tmp_path)
    assert settings.artifact == {"a": "Grüße", "b": "text"}


def test_a_component_that_is_no_text_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.md").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=r"artifact\.a: cannot read .*p\.md: not UTF-8 text$"):
        resolved({"artifact": {"a": {"file": "p.md"}}}, tmp_path)


def test_paths_start_where_they_were_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    tree = {"algorithm": BEAM, "data": {"train": "t.csv"}, "run": {"dir": "out"}}
    overrides = [("data.val", "v.csv")]
    settings = resolve(merge(tree, overrides), tmp_path, overridden=[key for key, _ in overrides])
    assert settings.data.train == tmp_path / "t.csv"
    assert settings.data.val == tmp_path / "cwd" / "v.csv"
    assert settings.run.dir == tmp_path / "out"
    assert settings.run.base == tmp_path


def test_what_is_dumped_holds_no_header_and_no_key() -> None:
    settings = resolved(
        {
            "model": {
                "name": "m",
                "extra_headers": {"X-Any": "CANARY"},
                "extra_body": {
                    "top_k": 3,
                    "max_tokens": 5,
                    "via": [{"api_key": "CANARY"}],
                    "token": "CANARY",
                },
            },
            "models": {"task": [{"extra_headers": {"Authorization": "CANARY"}}, "b"]},
        }
    )
    recorded = json.dumps(dump(settings))
    assert "CANARY" not in recorded
    assert '"max_tokens": 5' in recorded


@pytest.mark.parametrize(
    "hidden", [{"extra_headers": {"X": "v"}}, {"extra_body": {"auth": {"password": "v"}}}]
)
def test_what_was_not_recorded_has_to_be_given_again(hidden: dict[str, Any]) -> None:
    recorded = dump(resolved({"model": {"name": "m", **hidden}}))
    with pytest.raises(ConfigError, match=r"model\.extra_\w+: the value of '\w+' was not recorded"):
        resolve(recorded)
    again = resolve({**recorded, "model": {**recorded["model"], **hidden}})
    assert again == resolved({"model": {"name": "m", **hidden}})


def test_a_default_changed_on_resume_reaches_the_roles_that_inherited_it() -> None:
    recorded = dump(
        resolved(
            {
                "model": {"name": "a", "base_url": "http://old/v1"},
                "models": {"task": {"temperature": 1}, "judge": {"base_url": "http://own/v1"}},
            }
        )
    )
    settings = resolve(merge(recorded, [("model.base-url", "http://new/v1")]))
    assert settings.models["task"][0].base_url == "http://new/v1"
    assert settings.models["judge"][0].base_url == "http://own/v1"


names = st.text("abcxyz/-. ", min_size=1, max_size=8)
positive = st.floats(0.001, 1e6)
counts = st.integers(1, 10**9)
prices = st.fixed_dictionaries({"input_usd_per_mtok": positive, "output_usd_per_mtok": positive})
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=4,
)
model_fields: dict[str, st.SearchStrategy[Any]] = {
    "base_url": st.sampled_from(["http://a/v1", "https://b:9/v1?api-version=3", ""]),
    "key_env": st.sampled_from(["KEY", "A_1"]),
    "timeout_s": positive,
    "max_output_tokens": counts,
    "temperature": st.floats(0, 2),
    "reasoning_effort": names,
    "extra_body": st.dictionaries(names, json_values, max_size=2),
    "price": prices,
    "weight": positive,
    "send_seed": st.booleans(),
}
named_models = names | st.fixed_dictionaries({"name": names}, optional=model_fields)
trees = st.fixed_dictionaries(
    {"algorithm": st.just(BEAM)},
    optional={
        "beam": st.fixed_dictionaries({}, optional={"width": counts, "greedy": st.booleans()}),
        "policy": st.sampled_from(["reflective", "guarded", "full"]),
        "schedule": st.sampled_from(["async", "sync"]),
        "seed": st.integers(-9, 9),
        "artifact": st.dictionaries(names, st.text(max_size=9), max_size=3),
        "task": st.fixed_dictionaries(
            {},
            optional={
                "metric": st.sampled_from(["exact", "my.module:score"]),
                "fields": st.lists(names, max_size=3),
                "tolerance": positive,
                "perfect_score": st.floats(-5, 5),
            },
        ),
        "data": st.fixed_dictionaries({}, optional={"train": names, "id": names}),
        "model": named_models,
        "models": st.dictionaries(
            names, named_models | st.lists(named_models, min_size=1, max_size=3), max_size=3
        ),
        "budget": st.fixed_dictionaries({}, optional={"usd": positive, "metric_calls": counts}),
        "limits": st.fixed_dictionaries({}, optional={"workers": counts, "queue": counts}),
        "staleness": st.fixed_dictionaries({}, optional={"gap": st.just("global")}),
        "run": st.fixed_dictionaries({}, optional={"dir": names}),
    },
)


@given(trees)
@settings(max_examples=150, deadline=None)
def test_what_is_dumped_resolves_to_the_same_settings(tree: dict[str, Any]) -> None:
    first = resolve(tree, "/base")
    recorded = json.loads(json.dumps(dump(first)))
    assert resolve(recorded, "/elsewhere") == first
    assert dump(resolve(recorded)) == recorded


@given(trees, st.sampled_from(["model.extra-body.k", "artifact.new", "models.new-role.name"]))
@settings(max_examples=50, deadline=None)
def test_an_override_is_as_good_as_a_line_in_the_file(tree: dict[str, Any], key: str) -> None:
    merged = merge({"model": "m", **tree}, [(key, "value"), ("limits.concurrency", "3")])
    node: Any = merged
    for part in key.replace("-", "_").replace("new_role", "new-role").split("."):
        node = node[part]
    assert node == "value"
    first = resolve(merged, "/base")
    assert first.limits.concurrency == 3
    without = {k: v for k, v in tree.items() if k not in ("limits", key.partition(".")[0])}
    assert {k: v for k, v in merged.items() if k in without} == without


def test_the_example_of_the_documentation_is_valid() -> None:
    example = Path(__file__).parents[2] / "examples" / "instructions"
    tree = load(example / "run.toml")
    settings = resolve({**tree, "algorithm": BEAM, "artifact": {"system": "text"}}, example)
    assert settings.data.train == example / "train.jsonl"
    assert settings.role("reflect") == (Model("sim/h100-qwen3-8b"),)
    assert not settings.budget.empty


def test_a_file_with_overrides_becomes_settings(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(
        f'algorithm = "{BEAM}"\n[model]\nname = "sim/h100-qwen3-8b"\n[budget]\nmetric_calls = 9\n'
    )
    overrides = [("budget.metric-calls", "20"), ("model.extra-body.top_k", "20")]
    settings = resolve(merge(load(tmp_path / "run.toml"), overrides), tmp_path)
    assert settings.budget == Budget(metric_calls=20)
    assert settings.model == Model("sim/h100-qwen3-8b", extra_body={"top_k": 20})


def test_templates_are_read_from_the_files_own_directory_and_recorded_as_text(
    tmp_path: Path,
) -> None:
    (tmp_path / "repair.md").write_text("{{stale}} {{current}} {{updates}}", encoding="utf-8")
    (tmp_path / "reflect.md").write_text("{{current}} {{examples}}", encoding="utf-8")
    tree = {"staleness": {"repair_prompt": "repair.md"}, "gepa": {"reflect": "reflect.md"}}
    settings = resolve(tree, tmp_path)
    assert settings.staleness.repair_prompt == "{{stale}} {{current}} {{updates}}"
    assert settings.options.reflect == "{{current}} {{examples}}"
    assert resolve(dump(settings), "/elsewhere") == resolve(dump(settings), tmp_path)
    assert dump(settings)["staleness"]["repair_prompt"] == "{{stale}} {{current}} {{updates}}"


def test_a_repair_prompt_without_its_placeholders_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"staleness\.repair_prompt: expected a template with \{"):
        resolve({"staleness": {"repair_prompt": "Choose {{stale}} or {{current}}."}})


def test_a_simulated_world_is_looked_for_beside_the_configuration(tmp_path: Path) -> None:
    settings = resolve({"simulation": {"world": "my-world.toml"}}, tmp_path)
    assert settings.simulation.world == tmp_path / "my-world.toml"
    assert resolve(dump(settings)).simulation == settings.simulation
    with pytest.raises(ConfigError, match=r"simulation\.wold.*Did you mean 'world'"):
        resolve({"simulation": {"wold": "my-world.toml"}})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"evaluate": 0}, r"speculation\.evaluate: expected a number greater than 0, found 0$"),
        (
            {"evaluate": 1.5},
            r"speculation\.evaluate: expected .* less than or equal to 1, found 1.5",
        ),
        ({"rollout": -0.5}, r"speculation\.rollout: expected a number greater than 0, found -0.5$"),
        ({"rollout": "half"}, r"speculation\.rollout: expected a number, found 'half'$"),
        ({"window": 0}, r"speculation\.window: expected a number greater than 0, found 0$"),
        ({"confirm": "no"}, r"speculation\.confirm: expected 'demote' or 'mean', found 'no'$"),
        ({"alpha": 0.5}, r"speculation\.alpha: unknown key"),
    ],
)
def test_a_release_is_a_fraction_above_zero(given: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve({"speculation": given})
