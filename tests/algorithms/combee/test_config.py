import pytest
from pydantic import TypeAdapter

from flashevolve.algorithms.combee import Combee
from flashevolve.config import resolve
from flashevolve.errors import ConfigError


def test_a_batch_is_a_number_or_dynamic() -> None:
    assert Combee().batch == 10
    assert Combee(batch=40).n_examples(n_train=100) == 40
    assert Combee(batch=40).n_examples(n_train=25) == 25
    assert Combee(batch="dynamic").n_examples(n_train=100) == 100
    assert Combee(batch="dynamic", batch_max=30).n_examples(n_train=100) == 30


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("batch", 0), ("batch", "auto"), ("copies", 0), ("batch_trials", ()),
        ("batch_trials", (0,)), ("batch_tau_s", 0.0), ("batch_max", 0), ("minibatch", 3),
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused_in_one_line(field: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"^Combee: {field}") as refused:
        Combee(**{field: value})  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


BATCH = 'a whole number above 0, or "dynamic"'
TRIALS = "a list of whole numbers above 0, such as [5, 10]"


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("batch", 0, BATCH), ("batch", "auto", BATCH), ("batch", 2.5, BATCH),
        ("batch", True, BATCH),
        ("batch_trials", 5, TRIALS), ("batch_trials", [0], TRIALS), ("batch_trials", [], TRIALS),
    ],
)  # fmt: skip
def test_a_wrong_batch_is_told_under_the_key_that_was_written(
    key: str, value: object, expected: str
) -> None:
    tree = {"algorithm": "combee", "combee": {key: value}}
    with pytest.raises(ConfigError) as refused:
        resolve(tree, overridden=[f"combee.{key}"])
    assert str(refused.value) == f"--combee.{key}: expected {expected}, found {value!r}"


def test_the_recorded_configuration_builds_the_same_algorithm() -> None:
    config = Combee(batch="dynamic", merge=True, reflect="{{current}} {{examples}}")
    adapter = TypeAdapter(Combee)
    assert adapter.validate_python(adapter.dump_python(config, mode="json")) == config


def test_it_is_chosen_by_name_in_a_configuration() -> None:
    tree = {"algorithm": "combee", "combee": {"batch": 40}, "gepa": {"minibatch": 5}}
    settings = resolve(tree)
    assert (settings.algorithm, settings.options) == ("combee", Combee(batch=40))
