"""Optimizer: `GEPA`, called as `dspy.GEPA` is, evolving on our engine.

What DSPy's constructor takes is checked and kept by DSPy's constructor. `compile` does what DSPy's
does: the same budgets, feedback and reflective datasets, and a program of the best instructions.
Different on purpose: many steps are in flight at once; each example has a thread of its own; calls
go through one limiter, ledger and budget, past DSPy's cache, so that a repeated rollout is a new
sample; a failing reflection LM stops the run instead of using up its budget.
"""

import hashlib
import inspect
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy
from dspy.teleprompt.gepa.gepa import AUTO_RUN_SETTINGS
from dspy.teleprompt.gepa.gepa_flex_utils import enumerate_flex_submodules
from dspy.teleprompt.gepa.gepa_utils import DspyAdapter
from dspy.teleprompt.gepa.instruction_proposal import InstructionProposer

from flashevolve.config import Budget, Model, Price
from flashevolve.data.loaders import Splits
from flashevolve.engine.threads import DaemonThreads
from flashevolve.errors import ConfigError, DataError, nearest
from flashevolve.integrations.dspy.client import DspyClient
from flashevolve.integrations.dspy.metered import metered
from flashevolve.integrations.dspy.program import Program
from flashevolve.integrations.dspy.result import detailed
from flashevolve.integrations.dspy.workflow import Bridge, DspyGEPA
from flashevolve.launch import settings_from
from flashevolve.prepare import prepare
from flashevolve.result import Result
from flashevolve.run import Run
from flashevolve.task import Example, Split

logger = logging.getLogger("flashevolve")

CONCURRENCY = 64
"""Requests in flight where neither `concurrency` nor `num_threads` says it."""
ANSWERING = 1024
"""Threads for LMs that only block: never fewer than the requests that the limiters let through."""
DSPY_THREADS = 8
"""DSPy's own default, which nobody chose: where `dspy.settings.num_threads` differs, it counts."""

THROUGH: Mapping[str, str] = {
    "merge_val_overlap_floor": "merge_overlap_floor",
    "acceptance_criterion": "acceptance",
}
"""Of gepa's arguments in `gepa_kwargs`, those that we know under another name."""
ACCEPTANCE = {"strict_improvement": "strict", "improvement_or_equal": "improvement_or_equal"}
SELECTIONS = ("pareto", "current_best", "epsilon_greedy")


class GEPA(dspy.GEPA):  # type: ignore[misc]
    """Reflective prompt evolution of DSPy programs, with `dspy.GEPA`'s arguments and these besides.

    Args:
        metric: called with (gold, pred, trace, pred_name, pred_trace), as `dspy.GEPA` calls it.
        policy: what to do with stale steps: "reflective", "guarded" or "full".
        schedule: "async", or "sync" for one step at a time.
        concurrency: requests in flight at once; None = `num_threads`, else 64.
        limits: further limits, as `flashevolve.optimize` takes them.
        budget: a `flashevolve.Budget` beside the metric calls: tokens, dollars, seconds.
        models: role ("task", "reflect", "repair") -> model of ours that answers instead of the
            program's LM, such as "sim/h100-qwen3-8b".
        world: a file with a simulated world of your own.
        options: what `dspy.GEPA` takes. `log_dir` is the run directory; one that exists is resumed.
    """

    def __init__(
        self,
        metric: Callable[..., Any],
        *,
        policy: str = "reflective",
        schedule: str = "async",
        concurrency: int | None = None,
        limits: Mapping[str, Any] | None = None,
        budget: Budget | None = None,
        models: Mapping[str, Any] | None = None,
        world: str | Path | None = None,
        **options: Any,
    ) -> None:
        known = inspect.signature(dspy.GEPA.__init__).parameters
        for name in options:
            if name not in known:
                raise TypeError(f"GEPA() has no argument {name!r}.{nearest(name, known)}")
        super().__init__(metric, **options)
        self.policy = policy
        self.schedule = schedule
        self.concurrency = concurrency
        self.limits = dict(limits or {})
        self.budget = budget
        self.models = dict(models or {})
        self.world = world
        self.result: Result | None = None
        """What the last `compile` came to, in our words."""
        self._algorithm_options = _algorithm_options(self)

    def compile(
        self,
        student: Any,
        *,
        trainset: list[Any],
        teacher: Any = None,
        valset: list[Any] | None = None,
    ) -> Any:
        """Returns a copy of `student` with the best instructions found.

        Args:
            student: the program; it is not changed.
            trainset: examples to learn from.
            teacher: not supported, as in `dspy.GEPA`.
            valset: examples that rank the candidates; None = `trainset`.

        Raises:
            FlashEvolveError: a mistake that one line explains.
        """
        seed = _seed(student, trainset, teacher)
        self._set_budget(len(seed), len(trainset), None if valset is None else len(valset))
        if valset is None:
            logger.warning("no valset: expected one that trainset is no part of, using trainset")
        given = {"train": trainset, "val": valset or trainset}
        table = {f"{s}/{n}": e for s, found in given.items() for n, e in enumerate(found)}
        # Apart, since who reflects waits for an LM that answers.
        threads = DaemonThreads(self._n_requests(), "flashevolve-dspy-reflect")
        answering = DaemonThreads(ANSWERING, "flashevolve-dspy-lm")
        try:
            roles = _Roles(student, self.reflection_lm, self.models, answering)
            program = Program(
                self._adapter(roles.student, roles.reflect),
                roles.task,
                self.metric_fn,
                table,
                keep_outputs=self.track_best_outputs,
            )
            run = self._run(seed, program, roles, threads, table)
            self.result = result = run.result()
        finally:
            threads.shutdown(wait=False)
            answering.shutdown(wait=False)
        build = self._adapter(student, self.reflection_lm).build_program
        best = build(dict(result.best))
        if self.track_stats:
            assert run.state is not None, "a run that has a result has a state"
            best.detailed_results = detailed(
                run.state,
                program,
                build,
                run_dir=run.dir,
                seed=self.seed,
                track_outputs=self.track_best_outputs,
            )
        return best

    def _set_budget(self, n_components: int, n_train: int, n_val: int | None) -> None:
        """Sets `max_metric_calls` as DSPy's `compile` does."""
        if self.auto is not None:
            n = AUTO_RUN_SETTINGS[self.auto]["n"]
            n_examples = n_train if n_val is None else n_val
            self.max_metric_calls = self.auto_budget(
                num_preds=n_components, num_candidates=n, valset_size=n_examples
            )
        elif self.max_full_evals is not None:
            self.max_metric_calls = self.max_full_evals * (n_train + (n_val or 0))

    def _n_requests(self) -> int:
        if self.concurrency is not None:
            return self.concurrency
        chosen = dspy.settings.num_threads
        if chosen in (None, DSPY_THREADS):
            chosen = CONCURRENCY
        return int(self.num_threads or chosen)

    def _adapter(self, student: Any, reflection_lm: Any) -> Any:
        return DspyAdapter(
            student_module=student,
            metric_fn=self.metric_fn,
            feedback_map={
                name: _feedback(self.metric_fn, name, predictor)
                for name, predictor in student.named_predictors()
            },
            failure_score=self.failure_score,
            add_format_failure_as_feedback=self.add_format_failure_as_feedback,
            reflection_lm=reflection_lm,
            custom_instruction_proposer=self.custom_instruction_proposer,
            warn_on_score_mismatch=self.warn_on_score_mismatch,
            reflection_minibatch_size=self.reflection_minibatch_size,
        )

    def _run(
        self,
        seed: Mapping[str, str],
        program: Program,
        roles: "_Roles",
        threads: DaemonThreads,
        table: Mapping[str, Any],
    ) -> Run:
        own = self.custom_instruction_proposer
        bridge = Bridge(
            program=program,
            threads=threads,
            whole=own is not None and not isinstance(own, InstructionProposer),
        )
        options = {**self._algorithm_options, "merge": self.use_merge and len(seed) > 1}
        settings = settings_from(
            seed=seed,
            algorithm=DspyGEPA(bridge=bridge, **options),
            policy=self.policy,
            schedule=self.schedule,
            budget=_merged(self.budget, self.max_metric_calls),
            models=roles.models,
            rng_seed=self.seed or 0,
            run_dir=self.log_dir,
            concurrency=self._n_requests(),
            limits={"threads": self.num_threads or self._n_requests(), **self.limits},
            failure_score=self.failure_score,
            perfect_score=self.perfect_score,
            metered=True,
            world=self.world,
            has_run=True,
        )
        splits = Splits(train=_examples(table, "train"), val=_examples(table, "val"))
        run = Run(prepare(settings, splits=splits, run=program.run, score=program.score))
        logger.info("GEPA: %s metric calls at most, in %s", self.max_metric_calls, run.dir)
        return run


_OWN = inspect.signature(GEPA.__init__)
_THEIRS = inspect.signature(dspy.GEPA.__init__)
GEPA.__signature__ = inspect.Signature([  # type: ignore[attr-defined]
    *[p for p in _THEIRS.parameters.values() if p.name != "self"],
    *[
        p for p in _OWN.parameters.values()
        if p.name not in _THEIRS.parameters and p.kind is p.KEYWORD_ONLY
    ],
])  # fmt: skip
"""What `help` shows: DSPy's arguments, then ours."""


@dataclass(frozen=True)
class _Answering:
    """Who answers for a role: a user's LM, or a configured model."""

    lm: Any
    model: Any


class _Roles:
    """The LMs of a compile by role, metered: `task`, `reflect`, and one for each further LM."""

    def __init__(
        self, student: Any, reflection_lm: Any, given: Mapping[str, Any], threads: DaemonThreads
    ) -> None:
        self._threads = threads
        self._given = given
        self.models: dict[str, Any] = {
            role: model for role, model in given.items() if role not in ("task", "reflect")
        }
        lm = dspy.settings.lm
        predictors = student.named_predictors()
        if lm is None and "task" in given:
            lm = dspy.LM("openai/task")  # Only its capabilities are looked at.
        if lm is None and not all(p.lm is not None for _, p in predictors):
            raise ConfigError(
                "expected an LM for the program, found none. Set one: "
                "dspy.configure(lm=dspy.LM('openai/gpt-4o-mini'))"
            )
        self._known: dict[int, Any] = {}
        self.task = self._metered(lm, "task")
        self.reflect = self._metered(reflection_lm, "reflect")
        self.student = student.deepcopy()
        for (_, copied), (_, own) in zip(
            self.student.named_predictors(), student.named_predictors(), strict=True
        ):
            if own.lm is not None:
                copied.lm = self._known.get(id(own.lm)) or self._further(own.lm)

    def _further(self, lm: Any) -> Any:
        n = 2 + sum(role.startswith("task-") for role in self.models)
        return self._metered(lm, "task" if "task" not in self.models else f"task-{n}")

    def _metered(self, lm: Any, role: str) -> Any:
        if lm is None:
            return None
        model = self._given.get(role)
        self.models[role] = self._model(lm) if model is None else model
        self._known[id(lm)] = found = metered(lm, role, own=model is None)
        return found

    def _model(self, lm: Any) -> Model:
        client = DspyClient(lm, self._threads)
        price = client.price()
        most = lm.kwargs.get("max_completion_tokens") or lm.kwargs.get("max_tokens")
        return Model(
            str(lm.model),
            client=client,
            price=None if price is None else Price(
                input_usd_per_mtok=price.input_usd_per_mtok,
                output_usd_per_mtok=price.output_usd_per_mtok,
            ),
            **({"max_output_tokens": most} if most else {}),
        )  # fmt: skip


def _algorithm_options(optimizer: Any) -> dict[str, Any]:
    """Returns our algorithm's settings for an optimizer's. Raises `ConfigError`."""
    if optimizer.candidate_selection_strategy not in SELECTIONS:
        raise ConfigError(
            f"candidate_selection_strategy: expected one of {', '.join(SELECTIONS)}, found "
            f"{optimizer.candidate_selection_strategy!r:.80}"
        )
    if optimizer.component_selector not in ("round_robin", "all"):
        raise ConfigError(
            f"component_selector: expected 'round_robin' or 'all', found "
            f"{optimizer.component_selector!r:.80}. Own selectors are not supported yet"
        )
    for name in ("use_wandb", "use_mlflow"):
        if getattr(optimizer, name):
            raise ConfigError(
                f"{name}: expected False, found True. Follow the run with `flashevolve show` or "
                "its events instead"
            )
    options = {
        "minibatch": optimizer.reflection_minibatch_size,
        "selection": optimizer.candidate_selection_strategy,
        "components": optimizer.component_selector,
        "skip_perfect": optimizer.skip_perfect_score,
        "merge_max": UNLIMITED
        if optimizer.max_merge_invocations is None
        else optimizer.max_merge_invocations,
    }
    for name, value in optimizer.gepa_kwargs.items():
        if name not in THROUGH:
            raise ConfigError(
                f"gepa_kwargs: expected {', '.join(THROUGH)}, found {name!r}."
                f"{nearest(name, THROUGH)}"
            )
        if name == "acceptance_criterion" and value not in ACCEPTANCE:
            raise ConfigError(
                f"gepa_kwargs: expected acceptance_criterion to be one of {', '.join(ACCEPTANCE)}, "
                f"found {value!r:.80}"
            )
        options[THROUGH[name]] = ACCEPTANCE.get(value, value)
    return options


UNLIMITED = 1_000_000
"""Merges, where the user set no limit."""


def _seed(student: Any, trainset: Any, teacher: Any) -> dict[str, str]:
    """Returns the instructions to start from. Raises `ConfigError` or `DataError`."""
    if teacher is not None:
        raise ConfigError("teacher: expected None, since GEPA has no use for one, found a program")
    if not trainset:
        raise DataError("trainset: expected at least one dspy.Example, found none")
    if enumerate_flex_submodules(student):
        raise ConfigError(
            "expected a program whose instructions evolve, found a dspy.Flex in it, whose code "
            "does. Use dspy.GEPA for it"
        )
    seed = {name: p.signature.instructions for name, p in student.named_predictors()}
    if not seed:
        raise ConfigError(
            f"expected a program with predictors, found none in {type(student).__name__}. Give it "
            "a dspy.Predict, or another module that holds one, as an attribute"
        )
    return seed


def _feedback(metric: Callable[..., Any], name: str, predictor: Any) -> Callable[..., Any]:
    """Returns how the metric is asked about one predictor; a bare score becomes a sentence."""

    def feedback(
        predictor_output: Any,
        predictor_inputs: Any,
        module_inputs: Any,
        module_outputs: Any,
        captured_trace: Any,
    ) -> Any:
        own_trace = [(predictor, predictor_inputs, predictor_output)]
        said = metric(module_inputs, module_outputs, captured_trace, name, own_trace)
        if not hasattr(said, "feedback"):
            return {"score": said, "feedback": f"This trajectory got a score of {said}."}
        if said["feedback"] is None:
            said["feedback"] = f"This trajectory got a score of {said['score']}."
        return said

    return feedback


def _merged(budget: Budget | None, metric_calls: int) -> Budget:
    if budget is None:
        return Budget(metric_calls=metric_calls)
    least = min(metric_calls, budget.metric_calls or metric_calls)
    given = {name: getattr(budget, name) for name in ("proposals", "tokens", "usd", "seconds")}
    return Budget(metric_calls=least, grace_s=budget.grace_s, **given)


def _examples(table: Mapping[str, Any], split: Split) -> tuple[Example, ...]:
    """Returns an example for each instance: its id, and a digest by which a resume knows it."""
    return tuple(
        Example(id=name, data={"digest": _digest(name, instance)}, place=f"{split}set")
        for name, instance in table.items()
        if name.startswith(f"{split}/")
    )


def _digest(name: str, instance: Any) -> str:
    fields = dict(instance.items()) if hasattr(instance, "items") else repr(instance)
    # What is no JSON counts by its type: its repr may hold an address in memory.
    text = json.dumps([name, fields], sort_keys=True, default=lambda v: type(v).__qualname__)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


