import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.cli.overrides import SHORTCUTS, collect, split
from flashevolve.config import merge
from flashevolve.errors import ConfigError

NO_FLAGS = dict.fromkeys((short.flag.replace("-", "_") for short in SHORTCUTS), None)


def test_dotted_keys_are_taken_out_wherever_they_stand() -> None:
    given = ["--model.name", "m", "my.toml", "--json", "--budget.usd=5", "--seed", "1"]
    rest, overrides = split(given)
    assert rest == ["my.toml", "--json", "--seed", "1"]
    assert overrides == [("model.name", "m"), ("budget.usd", "5")]


def test_a_value_may_hold_an_equals_sign_and_be_negative_or_empty() -> None:
    arguments = ["--task.pattern=a=b", "--task.failure-score", "-1", "--model.base-url="]
    _, overrides = split(arguments)
    assert overrides == [
        ("task.pattern", "a=b"),
        ("task.failure-score", "-1"),
        ("model.base-url", ""),
    ]


@pytest.mark.parametrize("after", [[], ["--json"], ["--seed.x", "1"]])
def test_a_dotted_key_without_a_value_is_refused(after: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"--budget\.usd: expected a value, found none"):
        split(["--budget.usd", *after])


def test_nothing_is_taken_after_two_dashes() -> None:
    assert split(["--", "--a.b", "1"]) == (["--", "--a.b", "1"], [])


@given(st.lists(st.text().filter(lambda t: not t.startswith("--") and t != "")))
def test_arguments_without_dashes_pass_unchanged(arguments: list[str]) -> None:
    assert split(arguments) == (arguments, [])


def test_ten_flags_matter() -> None:
    assert len(SHORTCUTS) + 1 == 10  # and --json


def test_flags_become_keys_and_dotted_keys_win() -> None:
    flags = {**NO_FLAGS, "run_dir": "2026", "budget": "7", "policy": "full"}
    tree = merge({}, collect(flags, [("budget.metric-calls", "9")]))
    assert tree == {
        "policy": "full",
        "run": {"dir": "2026"},
        "budget": {"metric_calls": 9},
    }


@given(st.text())
def test_a_flag_that_takes_text_keeps_any_text(text: str) -> None:
    tree = merge({}, collect({**NO_FLAGS, "model": text}, []))
    assert tree == {"model": {"name": text}}
