from pathlib import Path

import pytest

from flashevolve.cli.report import (
    counts,
    duration,
    gain_lines,
    money,
    number,
    result_lines,
    score,
    table,
)
from flashevolve.rundir import read_result
from flashevolve.simulate.world import load_world


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0.04, "0.0 s"), (119.9, "119.9 s"), (600, "10.0 min"), (7200, "2.0 h")],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("usd", "text"), [(0, "$0.00"), (0.00123, "$0.0012"), (1234.5, "$1,234.50")]
)
def test_money(usd: float, text: str) -> None:
    assert money(usd) == text


def test_numbers_and_scores() -> None:
    assert (number(1234567), number(0.12345)) == ("1,234,567", "0.1235")
    assert (score(None), score(1 / 3)) == ("-", "0.3333")


def test_counts_come_in_a_fixed_order_and_leave_out_what_is_zero() -> None:
    assert counts({"no-op": 1, "rejected": 0, "proposed": 3}) == "3 proposed, 1 no-op"
    assert counts({}) == "nothing happened"


def test_a_table_is_aligned() -> None:
    rows = [("a", "n"), ("bcd", "12")]
    assert table(rows) == ["a    n", "bcd  12"]
    assert table(rows, right=frozenset({1})) == ["a     n", "bcd  12"]


def test_a_result_names_the_reason_both_splits_and_what_it_cost(finished: Path) -> None:
    result = read_result(finished)
    assert result is not None
    lines = result_lines(result, {"val": 4, "test": 3})
    assert lines[0] == f"{result['run_id']}: the budget of metric calls is spent"
    assert lines[2].split()[0] == "val"
    assert lines[2].endswith("4 examples")
    assert lines[3].endswith("3 examples")
    assert lines[4].startswith("gain on test ")
    assert lines[4].endswith("(3 examples are too few for an interval, which needs 10)")
    assert "predictions" in lines[5]
    assert lines[5].endswith(f"({load_world().hash})")
    assert "simulated in" in lines[-1]


def test_a_test_score_that_is_missing_says_why(finished: Path) -> None:
    result = read_result(finished)
    assert result is not None
    missing = {**result, "test_score": None, "seed_test_score": None, "test_reason": "no money"}
    assert result_lines(missing, {"val": 4})[3].split(maxsplit=3) == ["test", "-", "-", "no money"]


def test_a_real_run_is_not_called_simulated(finished: Path) -> None:
    result = read_result(finished)
    assert result is not None
    lines = result_lines({**result, "simulated": False, "virtual_s": None, "wall_s": 3.0}, {})
    assert not any("simulated" in line for line in lines)
    assert lines[-1].endswith("3.0 s")


@pytest.mark.parametrize(
    ("answered_by", "world", "said"),
    [
        (
            ["0123456789ab"],
            "0123456789ab",
            "simulated: a built-in reader answered, over HTTP, in real seconds of a paced "
            "endpoint. Scores and times are predictions about a stated world, not about any model "
            "(0123456789ab)",
        ),
        (
            ["0123456789ab", "ba9876543210", "real"],
            None,
            "mixed: simulated world 0123456789ab and simulated world ba9876543210 and real models "
            "answered. Scores and times are neither predictions about one world nor measurements "
            "of a model",
        ),
    ],
)
def test_a_run_on_a_simulated_endpoint_says_so_and_a_mixed_one_who_answered(
    finished: Path, answered_by: list[str], world: str | None, said: str
) -> None:
    result = read_result(finished)
    assert result is not None
    served = {"answered_by": answered_by, "world": world, "virtual_s": None, "wall_s": 3.0}
    lines = result_lines({**result, **served}, {})
    assert said in lines
    assert lines[-1].endswith(", 3.0 s")


def test_a_gain_is_told_as_an_interval_over_the_examples_of_one_run() -> None:
    gain = {"mean": 0.125, "low": -0.0111, "high": 0.25, "n": 40, "reason": ""}
    assert gain_lines(gain) == [
        "gain on test +0.1250, 95 % interval -0.0111 to +0.2500 "
        "(paired, over the 40 examples of this one run)"
    ]
    assert gain_lines(None) == []


def test_replicas_are_told_beside_the_examples(finished: Path) -> None:
    result = read_result(finished)
    assert result is not None
    lines = result_lines({**result, "replicas": 3}, {"val": 4, "test": 3})
    assert lines[2].endswith("4 examples, each run 3 times")
