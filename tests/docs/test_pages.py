"""What the documents say holds: code runs, commands parse, links lead somewhere."""

import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

import flashevolve
from flashevolve import plugin
from flashevolve.cli.main import COMMANDS, invoke
from flashevolve.simulate.constants import constants
from flashevolve.simulate.endpoint import Endpoint
from flashevolve.workloads.instructions import score, write
from tests.docs.pages import PAGES, Block, anchors, blocks, commands, links
from tests.fakes.simulated import served
from tests.source import ROOT

REAL_MODEL = re.compile(r'"openai/[\w.-]+"')
SIMULATED = '"sim/h100-qwen3-8b"'


GUIDE = "coming-from"
"""A page whose code asks by other people's clients, which need an address."""


def of_guide(block: Block) -> bool:
    return block.page.stem == GUIDE


@pytest.mark.parametrize(
    "block", [b for b in blocks("python") if not of_guide(b)], ids=lambda block: str(block.name)
)
def test_python_in_the_documents_runs_on_the_simulated_model(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / f"{block.name.replace('-', '_')}.py"
    script.write_text(REAL_MODEL.sub(SIMULATED, block.text), encoding="utf-8")
    made = runpy.run_path(str(script))
    assert made


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(Endpoint.from_preset("h100-qwen3-8b")) as base_url:
        yield base_url


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "block", [b for b in blocks("python") if of_guide(b)], ids=lambda block: str(block.name)
)
def test_python_in_the_guide_runs_on_a_simulated_endpoint(
    block: Block, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "OPENAI_BASE_URL": address,
        "OPENAI_API_BASE": address,
        "OPENAI_API_KEY": "none",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "DSPY_CACHEDIR": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, value)
    script = tmp_path / f"{block.name.replace('-', '_')}.py"
    text = REAL_MODEL.sub('"openai/h100-qwen3-8b"', block.text)
    script.write_text(text, encoding="utf-8")
    # In a process of its own: these clients keep threads, caches and settings.
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip()


def test_the_page_of_gepas_arguments_is_up_to_date() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "make_gepa_arguments.py"))["page"]()
    written = (ROOT / "docs" / "gepa-arguments.md").read_text(encoding="utf-8")
    assert written == made, "run python docs/make_gepa_arguments.py"


def test_the_algorithm_in_the_documents_evolves_a_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (block,) = (b for b in blocks("python") if b.page.stem == "writing-an-algorithm")
    (tmp_path / "climbing.py").write_text(block.text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    write(tmp_path, n_train=6, n_val=8, n_test=0)
    climbing: Any = import_module("climbing")
    result = flashevolve.optimize(
        seed={"system": "Answer the request."},
        train=tmp_path / "train.jsonl",
        val=tmp_path / "val.jsonl",
        id_field="key",
        input="prompt",
        score=score,
        algorithm=climbing.HillClimb(),
        models="sim/h100-qwen3-8b",
        budget=flashevolve.Budget(metric_calls=120),
        run_dir=tmp_path / "run",
    )
    assert result.counters["swept"] > 3
    assert result.best_score is not None
    assert result.seed_score is not None
    assert result.best_score >= result.seed_score


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_commands_in_the_documents_parse(command: list[str]) -> None:
    name, *arguments = command
    assert name in COMMANDS
    parsed: Any = import_module(f"flashevolve.cli.{COMMANDS[name][0]}").command
    if isinstance(parsed, click.Group) and arguments:
        name, *arguments = arguments
        parsed = parsed.commands[name]
    try:
        parsed.make_context(name, arguments)
    except click.MissingParameter:
        assert not arguments  # a command that is only named


def test_the_quickstart_works_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    small = ["--budget", "130", "--run-dir", "runs/first"]
    assert invoke(["init", "prompt", "my-prompt"]) == 0
    assert invoke(["run", "my-prompt/run.toml", *small]) == 0
    for command in (
        ["show", "runs/first"],
        ["diff", "runs/first"],
        ["best", "runs/first"],
        ["events", "runs/first", "--kind", "pool_changed"],
        ["ls", "runs"],
        ["resume", "runs/first", "--budget", "140"],
    ):
        assert invoke(command) == 0, command
    assert "created" in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_links_lead_somewhere(page: Path) -> None:
    for origin, target in links():
        if origin != page:
            continue
        path, _, fragment = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), target
        if fragment:
            assert fragment in anchors(found), target


def test_the_page_of_all_keys_is_up_to_date() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "make_configuration.py"))["page"]()
    written = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert written == made, "run python docs/make_configuration.py"


def test_the_page_of_the_worlds_parameters_is_up_to_date() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "make_world.py"))["page"]()
    written = (ROOT / "docs" / "world.md").read_text(encoding="utf-8")
    assert written == made, "run python docs/make_world.py"


def test_every_weight_and_habit_that_the_code_fixes_is_printed_with_its_value() -> None:
    page = (ROOT / "docs" / "world.md").read_text(encoding="utf-8")
    assert "| `attention.ADVICE_WEIGHT` | 0.3 | The same for standing advice: " in page
    assert "| `reflecting.MORE_LESSONS` | 0.25, 0.1 | Chances of a second and" in page
    assert "| `COMMAS` | `,` 0.9, nothing 0.1 |" in page
    own = {name for name in constants() if name.startswith("writing.habits.")}
    habits = {name.rpartition(".")[2] for name in own if "._" not in name}
    assert len(habits) > 20
    assert {name for name in habits if f"| `{name}`" not in page} == set()


def test_a_parameter_without_unit_mechanism_and_source_cannot_be_printed() -> None:
    tables = runpy.run_path(str(ROOT / "docs" / "make_world.py"))["tables"]
    first, table = tables("[a]\n# Why.\n#: s | waiting | assumed\nx_s = 1.5\n")
    assert (first.rows, table.name, table.text) == ([], "a", ["Why."])
    assert table.rows == [("x_s", "1.5", "s", "waiting", "assumed")]
    for text in ("[a]\nx_s = 1.5\n", "[a]\n#: s | assumed\nx_s = 1.5\n", "#: s | | a\nx_s = 1\n"):
        with pytest.raises(ValueError, match=r"expected `#: unit . mechanism . source` above"):
            tables(text)


def test_the_table_of_instructions_is_up_to_date() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "make_instructions.py"))["page"]()
    written = (ROOT / "docs" / "instructions.md").read_text(encoding="utf-8")
    assert written == made, "run python docs/make_instructions.py"


def test_the_page_of_benchmarks_is_what_its_rows_say() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "make_benchmarks.py"))["page"]()
    written = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert written == made, "run python docs/make_benchmarks.py"


@pytest.mark.parametrize("name", flashevolve.__all__)
def test_every_public_name_is_explained(name: str) -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    assert re.search(rf"\b{name}\b", page)
    assert name.startswith("__") or getattr(flashevolve, name).__doc__


@pytest.mark.parametrize("name", plugin.__all__)
def test_every_name_for_authors_of_algorithms_is_explained(name: str) -> None:
    page = (ROOT / "docs" / "writing-an-algorithm.md").read_text(encoding="utf-8")
    assert re.search(rf"\b{name}\b", page)
    assert getattr(plugin, name).__doc__


def test_sections_of_semantics_that_the_code_cites_exist() -> None:
    text = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")
    numbers = [int(n) for n in re.findall(r"^## (\d+)\. ", text, re.MULTILINE)]
    assert numbers == list(range(1, 13))
