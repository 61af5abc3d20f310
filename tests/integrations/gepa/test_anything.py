"""gepa's `optimize_anything`, with every style of evaluator."""

import asyncio
import inspect
import sys
import threading
from pathlib import Path
from typing import Any

import gepa.optimize_anything as theirs
import pytest

import flashevolve.integrations.gepa.anything as oa
from flashevolve.errors import ConfigError
from flashevolve.integrations.gepa.anything import optimize_anything
from tests.fakes.adapters import add_x


class Silent:
    def log(self, message: str) -> None:
        pass


def config(tmp_path: Path, calls: int = 60, **parts: Any) -> oa.GEPAConfig:
    engine = {"max_metric_calls": calls, "run_dir": str(tmp_path / "run"), "max_workers": 4}
    reflection = {"reflection_lm": add_x}
    return oa.GEPAConfig(
        engine=oa.EngineConfig(**{**engine, **parts.pop("engine", {})}),
        reflection=oa.ReflectionConfig(**{**reflection, **parts.pop("reflection", {})}),
        tracking=oa.TrackingConfig(logger=Silent(), **parts.pop("tracking", {})),
        **parts,
    )


def evolve(*args: Any, **options: Any) -> Any:
    """Runs it without repairs, which a function that only adds an x cannot judge."""
    return optimize_anything(*args, policy="full", **options)


def level(text: str, wanted: int = 5) -> float:
    return min(1.0, text.count("x") / wanted)


def test_the_arguments_are_gepas() -> None:
    ours = inspect.signature(optimize_anything).parameters
    known = inspect.signature(theirs.optimize_anything).parameters
    assert list(ours)[: len(known)] == list(known)
    assert all(ours[name].default == p.default for name, p in known.items())


def test_a_single_text_is_evaluated_without_an_example(tmp_path: Path) -> None:
    seen: list[Any] = []

    def evaluate(candidate: str) -> float:
        seen.append(candidate)
        return level(candidate)

    result = evolve("s", evaluator=evaluate, config=config(tmp_path))
    assert isinstance(result.best_candidate, str)
    assert level(result.best_candidate) >= 0.4
    assert all(isinstance(candidate, str) for candidate in seen)
    assert len(seen) <= 60


def test_an_async_evaluator_is_awaited(tmp_path: Path) -> None:
    async def evaluate(candidate: str, example: int) -> float:
        await asyncio.sleep(0)
        return level(candidate, example)

    result = evolve("s", evaluator=evaluate, dataset=[2, 3], config=config(tmp_path))
    assert level(result.best_candidate) >= 0.4


def test_named_texts_and_side_information_with_scores_make_a_hybrid_front(tmp_path: Path) -> None:
    def evaluate(candidate: dict[str, str], example: dict[str, int]) -> Any:
        score = level(candidate["p"], example["wants"])
        short = 1 / (1 + len(candidate["p"]))
        info = {"scores": {"short": short}, "p_specific_info": {"scores": {"level": score}}}
        return score, {**info, "Feedback": "more"}

    data = [{"wants": n} for n in (2, 4, 6)]
    result = evolve({"p": "s"}, evaluator=evaluate, dataset=data, config=config(tmp_path, 150))
    assert set(result.per_objective_best_candidates) == {"short", "p::level"}
    assert 0 in result.per_objective_best_candidates["short"]
    assert level(result.best_candidate["p"], 6) > 0


def test_what_is_logged_and_printed_reaches_the_reflecting_model(tmp_path: Path) -> None:
    prompts: list[str] = []

    def reflect(prompt: str) -> str:
        prompts.append(prompt)
        return add_x(prompt)

    def evaluate(candidate: str) -> float:
        oa.log("a note of", candidate)
        print("printed by", candidate)  # noqa: T201  # what is captured
        return level(candidate)

    parts = {"engine": {"capture_stdio": True}, "reflection": {"reflection_lm": reflect}}
    before = sys.stdout
    evolve("s", evaluator=evaluate, config=config(tmp_path, 30, **parts))
    assert sys.stdout is before
    assert "a note of s" in prompts[0]
    assert "printed by s" in prompts[0]


def test_the_best_so_far_comes_with_the_state_if_asked_for(tmp_path: Path) -> None:
    histories: list[int] = []

    def evaluate(candidate: str, opt_state: Any) -> Any:
        histories.append(len(opt_state.best_example_evals))
        return level(candidate), {"text": candidate}

    evolve("s", evaluator=evaluate, config=config(tmp_path))
    assert histories[0] == 0
    assert max(histories) > 1


def test_a_batch_evaluator_gets_pairs_of_several_steps_and_is_never_entered_twice(
    tmp_path: Path,
) -> None:
    sizes: list[int] = []
    lock = threading.Lock()

    def evaluate(pairs: list[tuple[dict[str, str], Any]]) -> Any:
        assert lock.acquire(blocking=False)
        sizes.append(len(pairs))
        found = [(level(c["p"], e), {"Expected": e}) for c, e in pairs]
        lock.release()
        return found

    result = evolve(
        {"p": "s"}, batch_evaluator=evaluate, dataset=[2, 4, 6, 8], config=config(tmp_path, 150)
    )
    assert max(sizes) >= 4
    assert sum(sizes) <= 150
    assert result.num_candidates > 1


@pytest.mark.parametrize(("parallel", "most"), [(False, 1), (True, 4)])
def test_no_more_evaluators_run_at_once_than_gepa_would_run(
    parallel: bool, most: int, tmp_path: Path
) -> None:
    inside, seen, lock = [0], [0], threading.Lock()

    def evaluate(candidate: str, example: int) -> float:
        with lock:
            inside[0] += 1
            seen[0] = max(seen[0], inside[0])
        threading.Event().wait(0.002)
        with lock:
            inside[0] -= 1
        return level(candidate, example)

    chosen = config(tmp_path, 100, engine={"parallel": parallel})
    evolve("s", evaluator=evaluate, dataset=[2, 4, 6, 8], config=chosen)
    assert seen[0] <= most
    assert (seen[0] > 1) == parallel


def test_without_a_seed_a_model_writes_one_and_a_resume_keeps_it(tmp_path: Path) -> None:
    asked: list[str] = []

    def reflect(prompt: str) -> str:
        asked.append(prompt)
        return "```\nx\n```" if "Have many x" in prompt and "<" not in prompt else add_x(prompt)

    seeds: list[str] = []
    for calls in (20, 40):
        chosen = config(tmp_path, calls, reflection={"reflection_lm": reflect})
        result = evolve(
            evaluator=lambda candidate: level(candidate), objective="Have many x", config=chosen
        )
        seeds.append(result.candidates[0][oa.TEXT])
    assert seeds == ["x", "x"]
    assert "Have many x" in asked[0]


def test_goal_and_background_make_the_reflection_prompt(tmp_path: Path) -> None:
    prompts: list[str] = []

    def reflect(prompt: str) -> str:
        prompts.append(prompt)
        return add_x(prompt)

    chosen = config(tmp_path, 20, reflection={"reflection_lm": reflect})
    evolve(
        "s",
        evaluator=lambda candidate: level(candidate),
        objective="the goal",
        background="the facts",
        config=chosen,
    )
    assert "the goal" in prompts[0]
    assert "the facts" in prompts[0]


def test_a_refiner_improves_what_is_evaluated_and_its_prompt_evolves(tmp_path: Path) -> None:
    def refine(prompt: Any) -> str:
        return '```json\n{"current_candidate": "xxxxx"}\n```'

    chosen = config(tmp_path, 12, refiner=oa.RefinerConfig(refiner_lm=refine))
    result = evolve("s", evaluator=lambda candidate: level(candidate), config=chosen)
    assert set(result.candidates[0]) == {oa.TEXT, oa.REFINER}
    assert result.val_aggregate_scores[0] == 1.0


def test_an_evaluator_that_raises_scores_zero_if_so_chosen_and_reaches_the_caller_otherwise(
    tmp_path: Path,
) -> None:
    def evaluate(candidate: str) -> float:
        if candidate.count("x") == 1:
            raise ZeroDivisionError("at one x")
        return level(candidate)

    lenient = config(tmp_path / "a", 30, engine={"raise_on_exception": False})
    assert evolve("s", evaluator=evaluate, config=lenient).num_candidates == 1
    with pytest.raises(ZeroDivisionError, match="at one x"):
        evolve("s", evaluator=evaluate, config=config(tmp_path / "b", 30))


def test_the_number_of_proposals_may_be_the_limit(tmp_path: Path) -> None:
    chosen = config(tmp_path, engine={"max_metric_calls": None, "max_candidate_proposals": 6})
    result = evolve("s", evaluator=lambda c: level(c, 50), config=chosen)
    assert 2 <= result.num_candidates <= 7


def test_the_configuration_that_was_handed_over_stays_as_it_was(tmp_path: Path) -> None:
    chosen = config(tmp_path, 20)
    evolve("s", evaluator=lambda candidate: level(candidate), config=chosen)
    assert chosen.reflection.reflection_minibatch_size is None
    assert chosen.engine.val_evaluation_policy == "full_eval"


@pytest.mark.parametrize(
    ("arguments", "parts", "message"),
    [
        ({"evaluator": None}, {}, "evaluator: expected a function of a candidate, found none"),
        ({"seed_candidate": None}, {}, "objective: expected what to aim at"),
        (
            {"seed_candidate": None, "objective": "o"},
            {"reflection": {"reflection_lm": None}},
            r"reflection\.reflection_lm: expected a model that writes the first candidate",
        ),
        (
            {"objective": "o"},
            {"reflection": {"reflection_prompt_template": "<curr_param> <side_info>"}},
            "expected none of your own beside objective or background",
        ),
        ({}, {"tracking": {"wandb_step_metric": "step"}}, r"tracking\.wandb_step_metric"),
        ({}, {"engine": {"max_metric_calls": None}}, "expected a limit, found none"),
        (
            {},
            {
                "engine": {
                    "run_dir": None,
                    "cache_evaluation": True,
                    "cache_evaluation_storage": "disk",
                }
            },
            "expected a run_dir to keep 'disk' in",
        ),
    ],
)
def test_a_mistake_is_one_line(
    arguments: dict[str, Any], parts: dict[str, Any], message: str, tmp_path: Path
) -> None:
    given = {"seed_candidate": "s", "evaluator": level, **arguments}
    with pytest.raises(ConfigError, match=message):
        evolve(**given, config=config(tmp_path, **parts))
