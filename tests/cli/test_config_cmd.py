import json

import pytest

from flashevolve.cli.main import invoke
from flashevolve.config import describe

Capture = pytest.CaptureFixture[str]


def test_every_key_is_listed_with_its_help(capsys: Capture) -> None:
    assert invoke(["config"]) == 0
    out = capsys.readouterr().out
    for key in describe():
        assert f"\n{key.key}" in f"\n{out}"
    assert "gepa.minibatch = 3  (int)" in out


def test_a_prefix_chooses_and_may_be_spelled_as_on_the_command_line(capsys: Capture) -> None:
    assert invoke(["config", "budget.metric-calls", "--json"]) == 0
    (key,) = json.loads(capsys.readouterr().out)["keys"]
    assert key["key"] == "budget.metric_calls"
    assert key["help"] == "Evaluations of one artifact on one example."


def test_an_unknown_key_names_the_nearest(capsys: Capture) -> None:
    assert invoke(["config", "buget.usd"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "no key begins with 'buget.usd'. Did you mean 'budget.usd'?" in line
