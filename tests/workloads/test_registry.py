import json
from pathlib import Path
from typing import Any

import pytest

from flashevolve.algorithms.records import record
from flashevolve.cli.main import invoke
from flashevolve.config import dump, resolve
from flashevolve.data.metrics import score_function
from flashevolve.errors import ConfigError, DataError
from flashevolve.outcome import Outcome
from flashevolve.preflight import check_same_run
from flashevolve.prepare import prepare
from flashevolve.rundir import read_result
from flashevolve.task import ChecksExamples
from flashevolve.workloads import aime, hotpotqa, hover, ifbench
from flashevolve.workloads.aime.layout import problem
from flashevolve.workloads.instructions import (
    score,
    score_loose,
    score_whole,
    score_whole_loose,
)
from flashevolve.workloads.registry import WORKLOADS
from flashevolve.workloads.shapes import score as coin

SCORES = {
    "instructions": score,
    "instructions-loose": score_loose,
    "instructions-whole": score_whole,
    "instructions-whole-loose": score_whole_loose,
    "shape": coin,
    "hotpotqa": hotpotqa.score,
    "hotpotqa-f1": hotpotqa.score_f1,
    "hover": hover.score,
    "hover-recall": hover.score_recall,
    "hover-label": hover.score_label,
    "aime": aime.score,
    "ifbench": ifbench.score,
    "ifbench-loose": ifbench.score_loose,
    "ifbench-whole": ifbench.score_whole,
    "ifbench-whole-loose": ifbench.score_whole_loose,
}
SEEDS = {"hotpotqa": hotpotqa.SEED, "hotpotqa-f1": hotpotqa.SEED, "hover-label": hover.SEED_LABEL}
SEEDS |= {"aime": aime.SEED}
SEEDS |= {name: ifbench.SEED for name in SCORES if name.startswith("ifbench")}
SEEDS |= {"hover": hover.SEED, "hover-recall": hover.SEED}


def row(key: int, name: str = "punctuation:no_comma", **values: Any) -> dict[str, Any]:
    """One line of all public layouts at once."""
    return {
        "_id": str(key),
        "uid": str(key),
        "question": "Who?",
        "problem": f"Add {key} and 1.",
        "claim": "It is.",
        "answer": "She",
        "label": "SUPPORTED",
        "supporting_facts": [["A page", 0]],
        "context": [["A page", ["It was she."]]],
        "key": key,
        "prompt": f"Write poem {key}.",
        "instruction_id_list": [name],
        "kwargs": [{"num_bullets": None, **values}],
        "id": str(key),
        "calls": 1,
        "success_rate": 0.5,
    }


def tree(folder: Path, workload: str = "instructions", *more: dict[str, Any]) -> dict[str, Any]:
    """A configuration that names neither the input nor the id of its examples."""
    for split, first in (("train", 1000), ("val", 2000)):
        rows = [row(first), row(first + 1), *(more if split == "val" else ())]
        if workload == "aime":
            rows = [{**r, "answer": "042"} for r in rows]
        text = "".join(json.dumps(r) + "\n" for r in rows)
        (folder / f"{split}.jsonl").write_text(text, encoding="utf-8")
    task = {"workload": workload}
    if workload.startswith("hover"):
        (folder / "corpus.jsonl").write_text('{"title": "A page", "text": "It is."}\n')
        task["corpus"] = str(folder / "corpus.jsonl")
    return {
        "artifact": dict(SEEDS.get(workload, {"system": "Answer."})),
        "task": task,
        "data": {"train": str(folder / "train.jsonl"), "val": str(folder / "val.jsonl")},
        "model": {"name": "sim/h100-qwen3-8b"},
        "budget": {"metric_calls": 100},
    }


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_scores_and_knows_how_its_examples_are_laid_out(
    name: str, tmp_path: Path
) -> None:
    plan = prepare(resolve(tree(tmp_path, name)))
    assert plan.task.score is SCORES[name]
    assert isinstance(plan.task.score, ChecksExamples)
    assert plan.task.input == WORKLOADS[name].input
    assert [e.id for e in plan.splits.train] == ["1000", "1001"]


def test_every_workload_is_reached_by_its_name() -> None:
    assert WORKLOADS.keys() == SCORES.keys()


def test_fields_that_a_configuration_names_win_over_the_workload_s() -> None:
    named = {"task": {"workload": "instructions", "input": "q"}, "data": {"id": "n"}}
    settings = resolve(named)
    assert (settings.task.input, settings.data.id) == ("q", "n")
    assert resolve(dump(settings)) == settings


AIME_FILES = {
    "ID,Year,Problem Number,Question,Answer,Part": "{k},2024,{k},Add 1 and {k}.,{v},I",
    "question,answer": "Add 1 and {k}.,{v}",
    "Problem,Answer": "Add 1 and {k}.,{v}",
    "problem,question,answer": "Add 1 and {k}.,Sums,{v}",
}


def aime_tree(folder: Path, header: str, line: str, **task: Any) -> dict[str, Any]:
    rows = [line.format(k=k, v=k + 1) for k in range(12)]
    (folder / "all.csv").write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return {
        "artifact": {"solve": "Solve the problem."},
        "task": {"workload": "aime", **task},
        "data": {"path": str(folder / "all.csv"), "split": [0.5, 0.3, 0.2]},
        "model": {"name": "sim/h100-qwen3-8b"},
        "budget": {"metric_calls": 30},
        "run": {"dir": str(folder / "runs")},
    }


@pytest.mark.parametrize("header", AIME_FILES)
def test_reflection_sees_the_problem_whatever_a_file_calls_it(header: str, tmp_path: Path) -> None:
    plan = prepare(resolve(aime_tree(tmp_path, header, AIME_FILES[header])))
    setup = plan.workflow.setup  # type: ignore[attr-defined]  # GEPA's keeps what it was given
    example = plan.splits.train[0]
    shown = record(example, Outcome(score=0.0, output="none"), setup.input)
    assert shown.startswith("## Input\nAdd 1 and ")
    assert problem(example) in shown


@pytest.mark.parametrize("name", [n for n, w in WORKLOADS.items() if w.run or w.program])
def test_a_column_that_a_program_would_not_read_is_refused(name: str, tmp_path: Path) -> None:
    config = tree(tmp_path, name)
    config["task"]["input"] = "type"
    with pytest.raises(
        ConfigError,
        match=rf"^task\.input: expected '\w+'.*, which workload '{name}' reads, found 't",
    ):
        prepare(resolve(config))


def test_a_column_may_be_named_as_the_file_spells_it(tmp_path: Path) -> None:
    prepare(
        resolve(
            aime_tree(tmp_path, "Problem,Answer", AIME_FILES["Problem,Answer"], input="Problem")
        )
    )


def test_examples_that_call_the_problem_differently_are_refused(tmp_path: Path) -> None:
    config = aime_tree(tmp_path, "problem,answer", "Add 1 and {k}.,{v}")
    named = [{("problem", "question")[k % 2]: f"Add {k}.", "answer": k} for k in range(8)]
    (tmp_path / "x.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in named))
    config["data"] = {"train": str(tmp_path / "x.jsonl"), "val": str(tmp_path / "all.csv")}
    with pytest.raises(DataError, match=r"^data\.train: expected 'problem' or 'question' in all"):
        prepare(resolve(config))


def test_without_a_workload_the_fields_have_their_usual_names() -> None:
    settings = resolve({"task": {"metric": "exact"}})
    assert (settings.task.input, settings.data.id) == ("input", "id")


def test_a_wrong_example_stops_a_run_before_it_begins(tmp_path: Path) -> None:
    wrong = row(7, "detectable_format:number_bullet_lists", num_bulets=3)
    with pytest.raises(
        DataError,
        match=r"^data\.val: .*val\.jsonl, line 3 \(key 7\): expected in kwargs\[0\] of "
        r"detectable_format:number_bullet_lists nothing but num_bullets, found 'num_bulets'\. "
        r"Did you mean 'num_bullets'\?$",
    ):
        prepare(resolve(tree(tmp_path, "instructions", wrong)))


def test_the_doctor_finds_a_wrong_example(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree(tmp_path, "instructions", row(7, "punctuation:no_coma"))
    config = tmp_path / "run.toml"
    config.write_text(
        '[artifact]\nsystem = "Answer."\n[task]\nworkload = "instructions"\n[data]\n'
        'train = "train.jsonl"\nval = "val.jsonl"\n[model]\nname = "sim/h100-qwen3-8b"\n'
        "[budget]\nmetric_calls = 100\n",
        encoding="utf-8",
    )
    assert invoke(["doctor", str(config), "--offline"]) == 2
    found = " ".join(capsys.readouterr().out.split())
    assert "line 3 (key 7): expected a known instruction" in found
    assert "Did you mean 'punctuation:no_comma'?" in found


def test_a_workload_s_score_takes_an_example_and_an_output(tmp_path: Path) -> None:
    settings = resolve(tree(tmp_path, "instructions-loose"))
    scored: Any = score_function(settings.task)(row(1), "a, b\nc")
    assert scored == (1.0, "Its punctuation is fine.")


@pytest.mark.parametrize(
    ("artifact", "message"),
    [
        (
            {**hotpotqa.SEED, "second_qery": "x"},
            r"^artifact\.second_qery: expected a component that workload 'hotpotqa' reads, one of "
            r"query, second_query, summarize, answer\. .*'second_query'\? Rename or remove it$",
        ),
        (
            {"query": "x"},
            r"^artifact: expected a component 'answer', which workload 'hotpotqa' run",
        ),
    ],
)
def test_a_component_that_the_program_would_ignore_or_lacks_is_refused(
    artifact: dict[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        prepare(resolve({**tree(tmp_path, "hotpotqa"), "artifact": artifact}))


@pytest.mark.parametrize("task", [{"workload": "shape"}, {"metric": "exact"}])
def test_a_corpus_that_nothing_searches_is_refused(task: dict[str, str], tmp_path: Path) -> None:
    given = tree(tmp_path, "hover")
    with pytest.raises(ConfigError, match=r"^task\.corpus: expected a workload that searches a "):
        prepare(resolve({**given, "task": {**task, "corpus": given["task"]["corpus"]}}))


def test_a_corpus_may_move_and_may_not_change(tmp_path: Path) -> None:
    given = tree(tmp_path, "hover")
    before = prepare(resolve(given)).start
    moved = tmp_path / "moved.jsonl"
    (tmp_path / "corpus.jsonl").rename(moved)
    given["task"]["corpus"] = str(moved)
    same = prepare(resolve(given)).start
    check_same_run(tmp_path, before.config, same.config, before.data, same.data)
    moved.write_text('{"title": "A page", "text": "It was."}')
    other = prepare(resolve(given)).start
    with pytest.raises(ConfigError, match=r"found another: contents of task\.corpus\. Set it back"):
        check_same_run(tmp_path, before.config, other.config, before.data, other.data)


def test_a_relative_corpus_starts_at_the_configuration_s_directory(tmp_path: Path) -> None:
    settings = resolve({"task": {"workload": "hover", "corpus": "c.jsonl"}}, tmp_path)
    assert settings.task.corpus == tmp_path / "c.jsonl"


@pytest.mark.filterwarnings("always:1 of 28 supporting pages")
def test_a_run_goes_on_with_its_corpus_elsewhere_and_tells_what_no_search_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = hover.write(tmp_path, n_train=4, n_val=4, n_test=2)
    lines = paths["corpus"].read_text(encoding="utf-8").splitlines(keepends=True)
    paths["corpus"].write_text("".join(lines[1:]), encoding="utf-8")
    config = tmp_path / "run.toml"
    config.write_text(
        '[artifact]\nsecond_query = "Search."\n[task]\nworkload = "hover-recall"\n'
        'corpus = "corpus.jsonl"\n[data]\ntrain = "train.json"\nval = "val.json"\n'
        'test = "test.json"\n[model]\nname = "sim/h100-qwen3-8b"\n[budget]\nmetric_calls = 20\n',
        encoding="utf-8",
    )
    assert invoke(["run", str(config), "--run-dir", "r"]) == 0
    told = capsys.readouterr().err
    assert "warning: 1 of 28 supporting pages are" in told
    assert "not among the passages that are searched" in told
    (tmp_path / "b").mkdir()
    paths["corpus"].rename(tmp_path / "b" / "corpus.jsonl")
    assert invoke(["resume", "r", "--budget", "40"]) == 2
    assert "the corpus cannot be read" in capsys.readouterr().err
    assert invoke(["resume", "r", "--budget", "40", "--task.corpus", "b/corpus.jsonl"]) == 0
    result = read_result(tmp_path / "r")
    assert result is not None
    assert 20 < result["spent"]["metric_calls"] <= 40
