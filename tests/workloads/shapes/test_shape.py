import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import flashevolve as fe
from flashevolve.config import resolve
from flashevolve.errors import ConfigError, DataError
from flashevolve.events import RunStarted
from flashevolve.llm.messages import Reply
from flashevolve.prepare import prepare
from flashevolve.rundir import read_records
from flashevolve.simulate.loop import run_virtual
from flashevolve.simulate.world import load_world
from flashevolve.workloads.shapes import SEED, generate, model_name, run, score, write

PRESET = "h100-qwen3-8b"


def evolve(name: str, directory: Path, seed: int = 0, **more: Any) -> Any:
    data = generate(name, n_val=10)
    budget = more.pop("budget", fe.Budget(seconds=120, grace_s=0))
    return fe.optimize(
        seed=SEED,
        train=data["train"],
        val=data["val"],
        run=run,
        score=score,
        models=model_name(PRESET, name),
        metered=True,
        budget=budget,
        rng_seed=seed,
        run_dir=directory,
        **more,
    )


@pytest.mark.parametrize("name", load_world().shapes)
def test_examples_are_as_many_as_the_shape_says(name: str) -> None:
    shape, data = load_world().shape(name), generate(name)
    assert (len(data["train"]), len(data["val"])) == (shape.n_train, shape.n_val)
    assert len({e["id"] for e in [*data["train"], *data["val"]]}) == shape.n_train + shape.n_val
    assert generate(name) == data
    assert len(generate(name, n_val=7)["val"]) == 7


def test_an_unknown_shape_and_no_examples_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"^expected a shape among .*found 'ifbenhc'\. Did you"):
        generate("ifbenhc")
    with pytest.raises(ConfigError, match=r"^n_val: expected at least 1 example, found 0"):
        generate("aime", n_val=0)


def test_an_unknown_shape_leaves_no_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="found 'ifbanch'"):
        write(tmp_path / "new", "ifbanch")
    assert not (tmp_path / "new").exists()


def test_an_evaluation_makes_its_calls_one_after_the_other_about_one_question() -> None:
    asked: list[Any] = []

    class Context:
        async def chat(self, role: str, messages: Any) -> Reply:
            asked.append((role, [m.text for m in messages]))
            return Reply(text=f"answer {len(asked)}", tokens_in=1, tokens_out=1, model="m")

    example = generate("hover")["train"][0]
    assert run_virtual(run(SEED, example, Context())) == "answer 4"
    assert [role for role, _ in asked] == ["task"] * 4
    assert {texts[-1] for _, texts in asked} == {example["prompt"]}
    assert "answer 3" in asked[3][1][0]


def test_the_coin_is_thrown_by_the_output_alone() -> None:
    example = {"success_rate": 0.3}
    scores = [score(example, f"text {k}") for k in range(2000)]
    assert scores == [score(example, f"text {k}") for k in range(2000)]
    assert set(scores) == {0.0, 1.0}
    assert sum(scores) / 2000 == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize(
    ("example", "message"),
    [
        ({"id": "a", "calls": 1}, r"^example 'a': expected 'success_rate', .* found None; gener"),
        ({"id": "a", "calls": 1, "success_rate": 2}, r"a number from 0 to 1, found 2"),
        ({"id": "a", "calls": 0, "success_rate": 1}, r"'calls', an integer of .* 1, found 0"),
    ],
)
def test_examples_of_no_shape_are_refused(example: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        score.check_examples([example])


def test_the_same_seed_gives_the_same_run_and_another_another(tmp_path: Path) -> None:
    def told(name: str, seed: int) -> list[Any]:
        evolve("aime", tmp_path / name, seed)
        return [(r.t_s, r.event) for r in read_records(tmp_path / name)][1:]

    first = told("first", 1)
    assert first == told("again", 1)
    assert first != told("other", 2)


def test_a_run_of_a_shape_says_which_one(tmp_path: Path) -> None:
    result = evolve("aime", tmp_path / "run")
    start = next(iter(read_records(tmp_path / "run"))).event
    assert isinstance(start, RunStarted)
    assert start.world == load_world().hash
    assert start.config["model"]["name"] == "sim/h100-qwen3-8b/aime"
    assert result.usage.calls > 0


def test_a_configuration_can_name_a_shape(tmp_path: Path) -> None:
    write(tmp_path, "ifbench")
    tree = {
        "artifact": dict(SEED),
        "task": {"workload": "shape"},
        "data": {split: str(tmp_path / f"{split}.jsonl") for split in ("train", "val")},
        "model": {"name": "sim/hosted-api/ifbench"},
        "budget": {"tokens": 10**9},
    }
    plan = prepare(resolve(tree))
    assert plan.task.run is run
    assert plan.task.score is score
    assert plan.task.metered, "all its calls are ours, so that a budget of tokens may be given"
    assert len(plan.splits.val) == 300
    lines = (tmp_path / "train.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[0])["calls"] == 2


@pytest.mark.slow
def test_a_run_passes_its_gate_as_often_as_the_shape_says(tmp_path: Path) -> None:
    budget = fe.Budget(proposals=1500)
    evolve("ifbench", tmp_path / "run", policy="full", budget=budget)
    counts = Counter(getattr(r.event, "counts", None) for r in read_records(tmp_path / "run"))
    ended = Counter(getattr(r.event, "outcome", None) for r in read_records(tmp_path / "run"))
    n, rate = counts["screened"], load_world().shape("ifbench").gate_rate
    passed = n - ended["rejected"]
    assert abs(passed / n - rate) < 4 * (rate * (1 - rate) / n) ** 0.5
