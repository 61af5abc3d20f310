"""gepa's `optimize` and ours, with the same adapter and the same language model."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from flashevolve.bench.realtime.adapter import PooledAdapter
from flashevolve.bench.realtime.brief import Brief
from flashevolve.bench.realtime.client import Client, ReflectionLM
from flashevolve.bench.realtime.data import COMPONENT, SEED, Data, on_test
from flashevolve.bench.realtime.evolved import Evolved

MINIBATCH = 3


class Silent:
    """A logger that keeps quiet: printing is no part of what is compared."""

    def log(self, message: str) -> None:
        """Drops the message."""


def gepa_client(brief: Brief, data: Data) -> Callable[[], Evolved]:
    """Returns gepa's `optimize` at P x N, ready to be called."""
    from gepa import optimize
    from gepa.strategies.proposal_sampling import PxNSampling

    single = brief.parents * brief.proposals == 1
    sampling = None if single else PxNSampling(brief.parents, brief.proposals)

    def run() -> Evolved:
        with _common(brief, data) as arguments:
            return evolved(optimize(**arguments, sampling_strategy=sampling), brief.n_val)

    return run


def drop_in_client(brief: Brief, data: Data) -> Callable[[], Evolved]:
    """Returns our `optimize`, which is given what gepa's is, and the number of slots."""
    from flashevolve.integrations.gepa import optimize

    def run() -> Evolved:
        with _common(brief, data) as arguments:
            result = optimize(
                **arguments,
                run_dir=str(brief.path / "run"),
                concurrency=brief.slots,
                adapter_concurrency=brief.slots,
            )
            return evolved(result, brief.n_val)

    return run


def test_scores(brief: Brief, data: Data, best: dict[str, str]) -> tuple[float, float]:
    """Returns the means on test of the best candidate and of the seed."""
    found, seed = on_test(brief, data, [best[COMPONENT], SEED[COMPONENT]])
    return found, seed


@contextmanager
def _common(brief: Brief, data: Data) -> Iterator[dict[str, Any]]:
    """Gives what both are called with; gepa keeps no directory, ours cannot do without."""
    with ExitStack() as stack:
        rollouts = stack.enter_context(ThreadPoolExecutor(brief.slots))
        reflecting = stack.enter_context(ThreadPoolExecutor(brief.slots))
        task = stack.enter_context(closing(Client(brief.urls["task"])))
        reflect = stack.enter_context(closing(Client(brief.urls["reflect"])))
        yield {
            "seed_candidate": dict(SEED),
            "trainset": list(data.train),
            "valset": list(data.val),
            "adapter": PooledAdapter(task, rollouts),
            "reflection_lm": ReflectionLM(reflect, reflecting),
            "reflection_minibatch_size": MINIBATCH,
            "max_metric_calls": brief.metric_calls,
            "seed": brief.seed,
            "logger": Silent(),
        }


def evolved(result: Any, n_val: int) -> Evolved:
    """Returns what a `GEPAResult`, or DSPy's own, says.

    Both count the metric calls before a candidate's validation, which is of `n_val` calls and must
    end before the candidate is known to be good.
    """
    counts, means = result.discovery_eval_counts, result.val_aggregate_scores
    best = result.best_candidate
    return Evolved(
        candidates=tuple(
            (int(n) + n_val, float(mean)) for n, mean in zip(counts, means, strict=True)
        ),
        best=dict(best) if isinstance(best, dict) else {},
    )
