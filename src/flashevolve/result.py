"""Result: what a run came to, as a view of its folded state.

Only confirmed candidates are in it. The gain on test is an interval over the examples of this one
run, and not over runs. A result that a simulated world answered, in virtual time or over HTTP, is a
prediction and says so; `virtual_s` is set exactly if it was in virtual time.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from flashevolve.artifact import Artifact
from flashevolve.engine.state import REAL, RunState
from flashevolve.events import TestScored
from flashevolve.gain import Gain, gain_of
from flashevolve.llm.messages import UNRECORDED_WORLD
from flashevolve.outcome import Usage

COUNTERS = (
    "proposed",
    "screened",
    "swept",
    "admitted",
    "front",
    "best",
    "rejected",
    "discarded",
    "repaired",
    "skipped",
    "dropped",
    "failed",
)
"""Always present in a result, zero or not; others follow if they are not zero."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a run came to."""

    run_id: str
    run_dir: Path
    algorithm: str
    policy: str
    schedule: str
    model: str
    simulated: bool
    """True if any answer came from a simulated world, in virtual time or over HTTP."""
    world: str | None
    """Hash of the simulated world; None for real models, and if more than one answered."""
    answered_by: tuple[str, ...]
    """Hashes of the simulated worlds that answered, and `real` for endpoints that named none; more
    than one = a mix, whose figures are neither predictions about one world nor measurements."""
    reason: str
    """Why it ended: a resource, `deadline`, `finished`, `stop` or `failed`."""
    resumable: bool
    best: Artifact
    """The best confirmed artifact; the seed if nothing was admitted."""
    seed_score: float | None
    """Mean on the validation split; None if the seed was never validated."""
    best_score: float | None
    seed_test_score: float | None
    """Mean on the test split; None with `test_reason`."""
    test_score: float | None
    test_reason: str
    test_differences: Mapping[str, float]
    """Best minus seed by test example, replicas averaged; empty if either was not scored."""
    replicas: int
    """How often each example of validation and test was run; scores are means over them."""
    counters: Mapping[str, int]
    usage: Usage
    usage_by_role: Mapping[str, Usage]
    spent: Mapping[str, float]
    """By resource: metric_calls, proposals, tokens, usd."""
    wall_s: float | None
    """Real seconds; None where only the log of a simulated run is at hand."""
    virtual_s: float | None
    """Simulated seconds; None outside virtual time."""

    @cached_property
    def test_gain(self) -> Gain | None:
        """Best minus seed on test, with a 95 % interval over its examples.

        None, with `test_reason`, if the two were not scored there.
        """
        return gain_of(self.test_differences) if self.test_differences else None

    def to_json(self) -> dict[str, Any]:
        """Returns the result as `--json` prints it."""
        data = asdict(self)
        usage = data.pop("usage")
        apart = ("best", "run_dir", "usage_by_role", "test_differences")
        return {
            **{k: v for k, v in data.items() if k not in apart},
            "test_gain": asdict(self.test_gain) if self.test_gain else None,
            "answered_by": list(self.answered_by),
            "run_dir": str(self.run_dir),
            "best_artifact": self.best.to_json(),
            "usage": _usage(usage),
            "usage_by_role": {role: _usage(u) for role, u in data["usage_by_role"].items()},
        }


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "llm_calls": usage["calls"],
        "tokens_in": usage["tokens_in"],
        "tokens_out": usage["tokens_out"],
        "cost_usd": round(usage["usd"], 6),
    }


def result_of(state: RunState, run_dir: Path, model: str, wall_s: float | None) -> Result:
    """Returns the result of a run that has at least its first event."""
    started = state.started
    assert started is not None, "a run without its first event has no result"
    seed = Artifact(started.artifact)
    best = state.pool.best()
    first = state.pool.candidates.get(0)
    tests = _tests(state)
    answered_by = state.answered_by
    counters = {name: state.counters[name] for name in COUNTERS}
    counters |= {n: state.counters[n] for n in sorted(state.counters) if n not in counters}
    return Result(
        run_id=started.run_id,
        run_dir=run_dir,
        algorithm=started.algorithm,
        policy=started.policy,
        schedule=started.schedule,
        model=model,
        simulated=any(by != REAL for by in answered_by),
        world=_one_world(answered_by),
        answered_by=answered_by,
        reason=state.ended.reason if state.ended else "unfinished",
        resumable=state.ended is None or state.ended.resumable,
        best=best.artifact if best else seed,
        seed_score=first.mean if first and first.scores else None,
        best_score=best.mean if best and best.scores else None,
        seed_test_score=tests["seed"].mean if "seed" in tests else None,
        test_score=tests["best"].mean if "best" in tests else None,
        test_reason=_test_reason(state),
        test_differences=_test_differences(state, seed),
        replicas=started.config.get("task", {}).get("replicas", 1),
        counters=counters,
        usage=state.usage,
        usage_by_role=dict(sorted(state.usage_by_role.items())),
        spent=dict(state.ledger.spent.items()),
        wall_s=wall_s if started.simulated else state.t_s,
        virtual_s=state.t_s if started.simulated else None,
    )


def _one_world(answered_by: tuple[str, ...]) -> str | None:
    known = len(answered_by) == 1 and answered_by[0] not in (REAL, UNRECORDED_WORLD)
    return answered_by[0] if known else None


def _tests(state: RunState) -> dict[str, TestScored]:
    """Returns what was scored on test, without the best of earlier if there is a better one now."""
    tests = {which: test for which, test in state.tests.items() if test.mean is not None}
    if _best_has_changed(state):
        tests.pop("best", None)
    return tests


def _best_has_changed(state: RunState) -> bool:
    """Says whether the candidate that was scored as the best is the best no more.

    A resume with more budget may find a better one, and end before it scores it.
    """
    scored, best = state.tests.get("best"), state.pool.best()
    if scored is None or scored.mean is None or best is None:
        return False
    return scored.candidate != best.id


def _test_differences(state: RunState, seed: Artifact) -> dict[str, float]:
    """Returns best minus seed by test example; empty unless both were scored."""
    best = state.pool.best()
    if best is None or _tests(state).keys() < {"seed", "best"}:
        return {}
    before = state.test_scores.get(seed.hash, {})
    after = state.test_scores.get(best.artifact.hash, {})
    both = sorted(before.keys() & after.keys())
    return {example: fmean(after[example]) - fmean(before[example]) for example in both}


def _test_reason(state: RunState) -> str:
    if _best_has_changed(state):
        return "the best has changed since it was scored; resume the run to its end"
    missing = [test.reason for test in state.tests.values() if test.mean is None]
    if missing:
        return missing[0]
    if state.tests:
        return ""
    n_test = (state.started.data if state.started else {}).get("test", {}).get("n", 0)
    if not n_test:
        return "there is no test split"
    over = state.ended is not None and not state.ended.resumable
    return f"not scored: {'nothing was admitted' if over else 'the run has not finished'}"
