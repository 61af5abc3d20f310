"""`dspy.GEPA` and ours on one program: a predictor that answers a request.

DSPy's cache is off, since a repeated rollout is to be a new sample for all clients alike.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import fmean
from typing import Any

from flashevolve.bench.realtime.brief import MODEL, Brief
from flashevolve.bench.realtime.data import SEED, Data, Example, judged
from flashevolve.bench.realtime.evolved import Evolved
from flashevolve.bench.realtime.gepa_clients import MINIBATCH, evolved

PREDICTOR = "self"
"""What DSPy calls the component of a program that is one predictor."""


def dspy_client(brief: Brief, data: Data) -> Callable[[], Evolved]:
    """Returns the compilation by `dspy.GEPA` at P x N, ready to be called."""
    import dspy
    from gepa.strategies.proposal_sampling import PxNSampling

    _warm(brief)
    single = brief.parents * brief.proposals == 1
    sampling = {} if single else {"sampling_strategy": PxNSampling(brief.parents, brief.proposals)}
    optimizer = dspy.GEPA(**_common(brief), gepa_kwargs=sampling)
    return lambda: _compiled(optimizer, brief, data)


def drop_in_dspy_client(brief: Brief, data: Data) -> Callable[[], Evolved]:
    """Returns the compilation by our optimizer of the same name and arguments."""
    from flashevolve.integrations.dspy import GEPA

    _warm(brief)
    optimizer = GEPA(**_common(brief), concurrency=brief.slots, log_dir=str(brief.path / "run"))
    return lambda: _compiled(optimizer, brief, data)


def dspy_test_scores(brief: Brief, data: Data, program: Any) -> tuple[float, float]:
    """Returns the means on test of the compiled program and of the one it began as."""
    found, seed = _on_test(brief, data, [program, _program()])
    return found, seed


def _warm(brief: Brief) -> None:
    """Asks once, outside of the slots: a first call imports, and looks for news of models."""
    _lm(brief.urls["test"])("Hello.")


def _common(brief: Brief) -> dict[str, Any]:
    return {
        "metric": metric,
        "max_metric_calls": brief.metric_calls,
        "reflection_minibatch_size": MINIBATCH,
        "reflection_lm": _lm(brief.urls["reflect"]),
        "use_merge": False,
        "num_threads": brief.slots,
        "track_stats": True,
        "seed": brief.seed,
    }


def _compiled(optimizer: Any, brief: Brief, data: Data) -> Evolved:
    import dspy

    student = _program()
    with dspy.context(lm=_lm(brief.urls["task"])):
        made = optimizer.compile(
            student, trainset=_examples(data.train), valset=_examples(data.val)
        )
    said = evolved(made.detailed_results, brief.n_val)
    best = {PREDICTOR: str(made.signature.instructions)}
    return Evolved(candidates=said.candidates, best=best, program=made)


def metric(
    gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
) -> Any:
    """Returns score and feedback, as `dspy.GEPA` asks for them."""
    import dspy

    score, feedback = judged(gold.example, str(pred.response))
    return dspy.Prediction(score=score, feedback=feedback)


def _program() -> Any:
    import dspy

    (text,) = SEED.values()
    return dspy.Predict(dspy.Signature("request -> response", text))


def _examples(examples: Sequence[Example]) -> list[Any]:
    import dspy

    return [dspy.Example(request=e["prompt"], example=e).with_inputs("request") for e in examples]


def _lm(url: str) -> Any:
    import dspy

    return dspy.LM(f"openai/{MODEL}", api_base=url, api_key="none", cache=False, num_retries=0)


def _on_test(brief: Brief, data: Data, programs: Sequence[Any]) -> list[float]:
    import dspy

    lm = _lm(brief.urls["test"])

    def scored(work: tuple[Any, Any]) -> float:
        program, example = work
        with dspy.context(lm=lm):
            try:
                answer = program(request=example.request)
            except Exception:  # an unreadable answer: what the optimizers score as a failure too
                return 0.0
        return float(metric(example, answer)["score"])

    examples = _examples(data.test)
    with ThreadPoolExecutor(brief.slots) as pool:
        return [fmean(pool.map(scored, [(program, e) for e in examples])) for program in programs]
