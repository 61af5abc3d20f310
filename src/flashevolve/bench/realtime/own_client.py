"""`flashevolve.optimize` with a client of its own: no adapter, and no thread per call."""

from collections.abc import Callable
from importlib import import_module

from flashevolve.bench.realtime.brief import MODEL, Brief
from flashevolve.bench.realtime.data import SEED, Data, Example, judged
from flashevolve.bench.realtime.evolved import Evolved

WARM = (
    "flashevolve.launch",
    "flashevolve.engine.session",
    "flashevolve.algorithms.pxn.workflow",
    "flashevolve.llm.http",
)
"""Modules that a first run would import."""


def own_client(brief: Brief, data: Data) -> Callable[[], Evolved]:
    """Returns our own `optimize`, ready to be called."""
    import flashevolve as fe

    for module in WARM:
        import_module(module)
    models = {
        role: fe.Model(MODEL, base_url=brief.urls["task" if role == "task" else "reflect"])
        for role in ("task", "reflect", "repair")
    }

    def score(example: Example, output: str) -> tuple[float, str]:
        return judged(example, output)

    def run() -> Evolved:
        result = fe.optimize(
            seed=SEED,
            train=[dict(e) for e in data.train],
            val=[dict(e) for e in data.val],
            score=score,
            models=models,
            budget=fe.Budget(metric_calls=brief.metric_calls),
            concurrency=brief.slots,
            rng_seed=brief.seed,
            run_dir=brief.path / "run",
            id_field="key",
            input="prompt",
        )
        return Evolved(candidates=_candidates(brief), best=dict(result.best))

    return run


def _candidates(brief: Brief) -> tuple[tuple[int, float], ...]:
    """Returns each new best with the metric calls that were spent until then."""
    from flashevolve.engine.state import RunState
    from flashevolve.pools.pareto import ParetoPool
    from flashevolve.rundir import read_records

    state = RunState(ParetoPool(), {}, lambda payload: payload)
    found: list[tuple[int, float]] = []
    for record in read_records(brief.path / "run"):
        state.apply(record)
        best = state.pool.best()
        if best is not None and best.scores and (not found or best.mean > found[-1][1]):
            found.append((int(state.ledger.spent["metric_calls"]), best.mean))
    return tuple(found)
