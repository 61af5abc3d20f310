"""A whole evolution with a model that can search, read, and learn from what feedback says."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import flashevolve as fe
from flashevolve.config import resolve
from flashevolve.llm.messages import Reply, Request
from flashevolve.prepare import prepare
from flashevolve.rundir import read_records
from flashevolve.workloads.hotpotqa import generate, program, score, write
from tests.fakes.searching import GOOD, Searcher

SEED = {"query": "Ask.", "second_query": "Ask.", "answer": "Answer in a sentence."}


class Learner:
    """Answers as `Searcher`; as a reflector it learns from feedback, and from nothing else."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    async def complete(self, request: Request) -> Reply:
        asked = request.messages[-1].text
        if "Feedback" not in asked:
            return await Searcher().chat("task", request.messages)
        self.shown.append(asked)
        current = re.search(r"```\n(.+?)\n```", asked)
        assert current is not None
        component = next((name for name in SEED if f"`{name}`" in asked), "")
        better = current[1]
        if "No search found" in asked and component != "answer":
            better = GOOD[component]
        if "no other words may stand around it" in asked and component == "answer":
            better = GOOD[component]
        return Reply(text=f"```\n{better}\n```")

    async def close(self) -> None:
        pass


def evolve(run_dir: Path, feedback: bool) -> tuple[fe.Result, Learner]:
    data = generate(5, 12, 20, 20)
    run = program([example for split in data.values() for example in split])
    bare = {split: [{**row, "context": []} for row in rows] for split, rows in data.items()}

    def scored(example: Mapping[str, Any], output: Any) -> Any:
        return score(example, output) if feedback else score(example, output)[0]

    learner = Learner()
    result = fe.optimize(
        seed=SEED,
        train=bare["train"],
        val=bare["val"],
        test=bare["test"],
        run=run,
        score=scored,
        id_field="_id",
        schedule="sync",
        models=fe.Model("learner", client=learner),
        budget=fe.Budget(metric_calls=260),
        run_dir=run_dir,
    )
    return result, learner


def test_feedback_on_searches_and_answers_is_enough_to_learn_each_step(tmp_path: Path) -> None:
    result, learner = evolve(tmp_path / "run", feedback=True)
    assert (result.seed_score, result.best_score) == (0.0, 1.0)
    assert (result.seed_test_score, result.test_score) == (0.0, 1.0)
    assert dict(result.best) != SEED
    assert any("No search found" in text for text in learner.shown)


def test_without_feedback_nothing_is_learnt(tmp_path: Path) -> None:
    result, _ = evolve(tmp_path / "run", feedback=False)
    assert (result.seed_score, result.best_score) == (0.0, 0.0)


def test_a_configuration_shows_reflection_the_question_and_not_what_scoring_knows(
    tmp_path: Path,
) -> None:
    files = write(tmp_path, n_train=6, n_val=8, n_test=1)
    learner = Learner()
    tree = {
        "artifact": SEED,
        "task": {"workload": "hotpotqa"},
        "data": {split: str(path) for split, path in files.items()},
        "model": fe.Model("learner", client=learner),
        "budget": {"metric_calls": 40},
        "schedule": "sync",
        "run": {"dir": tmp_path / "run"},
    }
    fe.Run(prepare(resolve(tree))).start().result()
    assert learner.shown
    for text in learner.shown:
        assert "supporting_facts" not in text
        assert "## Input\n" in text
        assert '"step": "second_query"' in text


def test_in_virtual_time_two_runs_are_the_same_to_the_last_event(tmp_path: Path) -> None:
    files = write(tmp_path, n_train=6, n_val=8, n_test=2)
    logs = []
    for name in "ab":
        tree = {
            "artifact": {**SEED, "summarize": "Summarize."},
            "task": {"workload": "hotpotqa-f1"},
            "data": {split: str(path) for split, path in files.items()},
            "model": "sim/h100-qwen3-8b",
            "budget": {"metric_calls": 60},
            "run": {"dir": tmp_path / name},
        }
        fe.Run(prepare(resolve(tree))).start().result()
        logs.append([record.event for record in read_records(tmp_path / name)][1:])
    assert logs[0] == logs[1]
    assert len(logs[0]) > 100
