"""Optimizer: `GEPA`, called as `dspy.GEPA` is, evolving on our engine.

What DSPy's constructor takes is checked and kept by DSPy's constructor. `compile` does what DSPy's
does: the same budgets, feedback and reflective datasets, and a program of the best instructions.
Different on purpose: many steps are in flight at once; each example has a thread of its own; calls
go through one limiter, ledger and budget, past DSPy's cache, so that a repeated rollout is a new
sample; a failing reflection LM stops the run instead of using up its budget.
"""

import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast

import dspy
from dspy.teleprompt.gepa.gepa import AUTO_RUN_SETTINGS
from dspy.teleprompt.gepa.gepa_flex_utils import enumerate_flex_submodules
from dspy.teleprompt.gepa.gepa_utils import DspyAdapter
from dspy.teleprompt.gepa.instruction_proposal import InstructionProposer

from flashevolve.config import Budget
from flashevolve.data.loaders import Splits
from flashevolve.engine.threads import DaemonThreads
from flashevolve.errors import ConfigError, DataError, nearest
from flashevolve.integrations.dspy.program import Program
from flashevolve.integrations.dspy.result import detailed
from flashevolve.integrations.dspy.roles import Roles
from flashevolve.integrations.dspy.workflow import Bridge, DspyGEPA
from flashevolve.integrations.gepa.arguments import UNLIMITED, Arguments, check
from flashevolve.integrations.gepa.data import Table, table
from flashevolve.integrations.gepa.launch import algorithm_of, objects_of, optimize
from flashevolve.integrations.gepa.mirror import Mirror
from flashevolve.integrations.gepa.port import Port
from flashevolve.integrations.gepa.stopping import Stoppers
from flashevolve.integrations.gepa.telling import Telling
from flashevolve.integrations.gepa.view import View
from flashevolve.integrations.gepa.watch import watch
from flashevolve.launch import settings_from
from flashevolve.prepare import prepare
from flashevolve.result import Result
from flashevolve.run import Run

logger = logging.getLogger("flashevolve")

CONCURRENCY = 64
"""Requests in flight where neither `concurrency` nor `num_threads` says it."""
ANSWERING = 1024
"""Threads for LMs that only block: never fewer than the requests that the limiters let through."""
DSPY_THREADS = 8
"""DSPy's own default, which nobody chose: where `dspy.settings.num_threads` differs, it counts."""


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
        self.run: Run | None = None
        """The run of the last `compile`, to watch and stop from another thread."""
        self.result: Result | None = None
        """What the last `compile` came to, in our words."""

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
        train, val = table("train", trainset), table("val", valset or trainset)
        examples = {
            name: example
            for split in (train, val)
            for name, example in zip(split.ids, split.fetch(list(split.ids)), strict=True)
        }
        _check_inputs(examples)
        # Apart, since who reflects waits for an LM that answers.
        threads = DaemonThreads(self._n_requests(), "flashevolve-dspy-reflect")
        answering = DaemonThreads(ANSWERING, "flashevolve-dspy-lm")
        try:
            roles = Roles(student, self.reflection_lm, self.models, answering)
            program = Program(
                self._adapter(roles.student, roles.reflect),
                roles.task,
                self.metric_fn,
                examples,
                keep_outputs=self.track_best_outputs,
            )
            run, stoppers, telling = self._run(seed, program, roles, threads, train, val)
            self.run = run
            self.result = result = _told(run, telling)
        finally:
            for pool in (threads, answering):
                pool.shutdown(wait=False)
                pool.join()
        if stoppers.error is not None:
            raise stoppers.error
        build = self._adapter(student, self.reflection_lm).build_program
        best = build(dict(result.best))
        if self.track_stats:
            view = _view(run, program)
            state = view.state()
            assert state is not None, "a run that has a result has a state"
            best.detailed_results = detailed(
                state,
                view,
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
        seed: dict[str, str],
        program: Program,
        roles: Roles,
        threads: DaemonThreads,
        train: Table,
        val: Table,
    ) -> tuple[Run, Stoppers, Telling]:
        given = self._arguments(seed, program.adapter, train, val)
        check(given)
        started: list[View] = []
        mirror = Mirror(
            lambda: started[0].state() if started else None,
            val,
            tuple(seed),
            frontier_type=given.frontier_type,
            track_best_outputs=False,
        )
        own = self.custom_instruction_proposer
        whole = own is not None and not isinstance(own, InstructionProposer)
        bridge = Bridge(program=program, threads=threads, whole=whole)
        objects = objects_of(given, cast(Port, bridge), mirror, train, val)
        settings = settings_from(
            seed=seed,
            algorithm=_with_program(algorithm_of(given)).with_objects(objects),
            policy=self.policy,
            schedule=self.schedule,
            budget=given.budget,
            models=roles.models,
            rng_seed=given.seed,
            run_dir=self.log_dir,
            concurrency=self._n_requests(),
            limits={"threads": self.num_threads or self._n_requests(), **self.limits},
            failure_score=self.failure_score,
            perfect_score=self.perfect_score,
            metered=True,
            world=self.world,
            has_run=True,
        )
        splits = Splits(train=train.examples(), val=val.examples())
        run = Run(prepare(settings, splits=splits, run=program.run, score=program.score))
        started.append(_view(run, program))
        logger.info("GEPA: %s metric calls at most, in %s", self.max_metric_calls, run.dir)
        return run, watch(run, mirror, given), Telling(run, mirror, objects, given)

    def _arguments(self, seed: dict[str, str], adapter: Any, train: Table, val: Table) -> Arguments:
        """Returns what `gepa.optimize` would be given. Raises `ConfigError`."""
        merges = self.max_merge_invocations
        options = {
            "adapter": adapter,
            "candidate_selection_strategy": self.candidate_selection_strategy,
            "skip_perfect_score": self.skip_perfect_score,
            "reflection_minibatch_size": self.reflection_minibatch_size,
            "module_selector": self.component_selector,
            "perfect_score": self.perfect_score,
            "use_merge": self.use_merge,
            "max_merge_invocations": UNLIMITED if merges is None else merges,
            "budget": _merged(self.budget, self.max_metric_calls),
            "run_dir": self.log_dir,
            "seed": self.seed or 0,
            "use_wandb": self.use_wandb,
            "wandb_api_key": self.wandb_api_key,
            "wandb_init_kwargs": self.wandb_init_kwargs,
            "use_mlflow": self.use_mlflow,
        }
        known = inspect.signature(optimize)
        for name in self.gepa_kwargs:
            if name not in known.parameters or name in options:
                raise ConfigError(
                    f"gepa_kwargs: expected arguments of gepa.optimize that GEPA has not itself, "
                    f"found {name!r}.{nearest(name, known.parameters)}"
                )
        bound = known.bind(seed, train.loader, val.loader, **options, **self.gepa_kwargs)
        bound.apply_defaults()
        return Arguments(**bound.arguments)


def _told(run: Run, telling: Telling) -> Result:
    """Returns the run's result, once callbacks and trackers know how it ended."""
    error: BaseException | None = None
    try:
        return run.result()
    except BaseException as failed:
        error = failed
        raise
    finally:
        telling.close(error)


def _view(run: Run, program: Program) -> View:
    # Of gepa's port it needs the outputs, which the program keeps alike.
    return View(run, cast(Port, program))


def _with_program(algorithm: Any) -> DspyGEPA:
    return DspyGEPA(**{f.name: getattr(algorithm, f.name) for f in fields(algorithm)})


_OWN = inspect.signature(GEPA.__init__)
_THEIRS = inspect.signature(dspy.GEPA.__init__)
GEPA.__signature__ = inspect.Signature([
    *[p for p in _THEIRS.parameters.values() if p.name != "self"],
    *[
        p for p in _OWN.parameters.values()
        if p.name not in _THEIRS.parameters and p.kind is p.KEYWORD_ONLY
    ],
])  # fmt: skip
"""What `help` shows: DSPy's arguments, then ours."""


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


def _check_inputs(examples: Mapping[str, Any]) -> None:
    """Raises `DataError` unless all examples say which of their fields the program gets."""
    for name, example in examples.items():
        split, _, position = name.partition("/")
        if not hasattr(example, "inputs"):
            raise DataError(
                f"{split}set[{position}]: expected a dspy.Example, found "
                f"{type(example).__name__}. Make it dspy.Example(...).with_inputs(...)"
            )
        try:
            example.inputs()
        except ValueError:  # Nobody has said which they are.
            fields = list(example.keys())
            raise DataError(
                f"{split}set[{position}]: expected inputs, found none. Call "
                f".with_inputs({fields[0] if fields else 'question'!r}), with the names of all "
                "fields that the program gets"
            ) from None


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
    return replace(budget, metric_calls=min(metric_calls, budget.metric_calls or metric_calls))
