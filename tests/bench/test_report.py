import io
import json

import pytest
from rich.console import Console

from flashevolve.bench.report import Report, Table, head_of, markdown, show, to_json
from flashevolve.errors import ConfigError
from tests.bench.made import a_row

TABLE = Table(title="T", columns=("arm", "x"), rows=(("a|b", "1"), ("[c]", "2")), notes=("N.",))


def a_report() -> Report:
    rows = [a_row("sync", seed) for seed in (0, 3)]
    head = head_of(rows, "flashevolve bench made")
    return Report(suite="made", about="About.", head=head, tables=(TABLE,), findings=("Found.",))


def test_a_head_names_world_seeds_command_and_its_twin_and_says_predictions() -> None:
    head = "\n".join(a_report().head)
    for told in ("PREDICTIONS of the simulation", "World w.", "2 paired seeds (0 to 3)"):
        assert told in head
    assert "Again: `flashevolve bench made`.\n" in head
    assert "flashevolve bench made --model NAME --base-url URL" in head


def test_measured_rows_are_not_called_predictions() -> None:
    head = head_of([a_row("sync", 0, world="")], "c")
    assert head[0] == "Measured on a real endpoint, in real time. Model m."
    with pytest.raises(ConfigError, match="one simulated world, or all of real endpoints"):
        head_of([a_row("sync", 0, world=""), a_row("sync", 1)], "c")


def test_markdown_escapes_bars_and_holds_everything() -> None:
    text = markdown(a_report())
    assert "| a\\|b | 1 |" in text
    assert "- Found." in text
    assert "N." in text


def test_a_terminal_shows_names_in_brackets_as_they_are() -> None:
    console = Console(file=io.StringIO(), width=120)
    show(a_report(), console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "[c]" in shown
    assert "- Found." in shown


def test_json_holds_tables_and_the_figures_of_each_row() -> None:
    made = to_json(a_report(), [a_row("sync", 0, rate=2.0)])
    made = json.loads(json.dumps(made))
    assert made["tables"][0]["columns"] == ["arm", "x"]
    assert made["rows"][0]["figures"]["rate"] == 2.0
    assert "curves" not in made["rows"][0]
