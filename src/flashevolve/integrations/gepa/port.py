"""Port: the only way to an adapter. Engine and adapter never meet elsewhere.

Invariants: at most `n_calls` calls of the adapter at once, one unless told otherwise or known to be
safe; a call that was begun keeps its place until its thread has left the adapter, whoever still
waits for it; what one step asks of a minibatch is one batch, unless the adapter is known to take
its examples one by one. What waits while the adapter is busy goes out together with the next call.
"""

import asyncio
import inspect
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flashevolve.artifact import Artifact
from flashevolve.engine.usercode import AsyncContext, SyncContext
from flashevolve.errors import ConfigError, TaskError
from flashevolve.integrations.gepa.batches import Texts, checked, checked_all, joined
from flashevolve.integrations.gepa.data import Table
from flashevolve.integrations.gepa.errors import failure
from flashevolve.integrations.gepa.keeping import taken
from flashevolve.integrations.gepa.threads import Threads, awaited
from flashevolve.outcome import Outcome
from flashevolve.task import Example, Split

TRACED = "rollout"
"""The stage whose evaluations are reflected on."""
CLOSE_GRACE_S = 5.0
"""What calls that nobody waits for any more get to leave the adapter when a run has ended."""


@dataclass
class _Ask:
    """One example that waits for its result."""

    example: str
    future: "asyncio.Future[tuple[Any, int]]"
    """(batch, place in it)."""
    context: AsyncContext


@dataclass(eq=False)
class _Unit:
    """Examples of one candidate that may be evaluated in one call."""

    candidate: Texts
    split: Split
    traces: bool
    whole: bool
    """Whether it must not be divided."""
    ticket: int
    asks: list[_Ask] = field(default_factory=list)


@dataclass(eq=False)
class _Job:
    """A call of another method."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    alone: bool
    """Whether it must not run beside another such call."""
    future: "asyncio.Future[Any]"


class Port:
    """Calls one adapter for one run; all methods belong to the run's event loop."""

    def __init__(
        self,
        adapter: Any,
        tables: Mapping[Split, Table],
        texts: Callable[[Mapping[str, str]], Texts],
        *,
        n_calls: int = 1,
        singly: bool = False,
        raises: bool = True,
        traces: bool = False,
    ) -> None:
        """Sets up; calls nothing.

        `n_calls`: calls of the adapter at once. `singly`: it takes even a minibatch's examples one
        by one. `raises`: what it raises ends the run. `traces`: of every fresh evaluation.
        """
        self.adapter = adapter
        self.outputs: dict[tuple[str, str], Any] = {}
        """(artifact hash, validation example id) -> what the adapter returned."""
        self.adapter_state: str | None = None
        """What the adapter said of its state after its last call, as JSON."""
        self.n_calls = n_calls
        self.raises = raises
        self._tables = tables
        self._texts = texts
        self._singly = singly
        self._traces = traces
        self._single = getattr(adapter, "evaluate_one", None)
        self._many = getattr(adapter, "batch_evaluate", None) if n_calls == 1 else None
        self._takes_traces = self._many is not None and _takes(self._many, "capture_traces")
        self._threads = Threads(n_calls)
        self._units: dict[tuple[object, ...], _Unit] = {}
        self._jobs: deque[_Job] = deque()
        self._n_busy = 0
        self._alone = False
        self._quiet = 0
        self._looks = False
        self._calls: set[asyncio.Task[None]] = set()
        self._traced: dict[int, list[tuple[list[str], Any]]] = {}

    # -- evaluations ------------------------------------------------------------

    async def run(self, artifact: Artifact, example: Example, ctx: AsyncContext) -> Outcome:
        """Evaluates one example, together with others; this is the task's `run`."""
        attempt = ctx.attempt
        traces = attempt.stage == TRACED or (self._traces and attempt.fresh)
        if self._single is not None:
            batch, place = await self._run_single(artifact, example, ctx), 0
        else:
            whole = attempt.fresh and not self._singly and (traces or self.n_calls == 1)
            owner = attempt.ticket if attempt.fresh else 0
            key = (artifact.hash, attempt.split, owner, attempt.stage if attempt.fresh else "")
            if key not in self._units:
                self._units[key] = _Unit(
                    self._texts(artifact), attempt.split, traces, whole, attempt.ticket
                )
            future = asyncio.get_running_loop().create_future()
            self._units[key].asks.append(_Ask(example.id, future, ctx))
            self._wake()
            batch, place = await future
        if attempt.split == "val" and not attempt.fresh:
            self.outputs[artifact.hash, example.id] = batch.outputs[place]
        return _outcome(batch, place)

    async def _run_single(self, artifact: Artifact, example: Example, ctx: AsyncContext) -> Any:
        """Asks an adapter of ours, which takes one example and blocks nobody."""
        assert self._single is not None
        attempt = ctx.attempt
        (instance,) = self._tables[attempt.split].fetch([example.id])
        try:
            batch = await self._single(instance, self._texts(artifact), ctx)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            raise failure("the evaluator", error, raises=self.raises) from error
        if attempt.stage == TRACED or (self._traces and attempt.fresh):
            self._traced.setdefault(attempt.ticket, []).append(([example.id], batch))
        return batch

    def take(self, ticket: int, ids: Sequence[str]) -> Any | None:
        """Returns the batch with traces of a step's examples, and forgets it.

        It may hold more of the minibatch than was asked for, where that was one call. None if one
        of them is not known, as after a resume.
        """
        units = self._traced.pop(ticket, [])
        # The last one counts: what was cancelled and asked again is there twice.
        by_example = {e: (known, batch) for known, batch in units for e in known}
        if any(e not in by_example for e in ids):
            return None
        batches = {id(by_example[e][1]): by_example[e][1] for e in ids}
        return joined(list(batches.values()))

    async def again(
        self,
        artifact: Artifact,
        split: Split,
        ids: Sequence[str],
        ctx: Any,
        lent: SyncContext | None = None,
    ) -> Any:
        """Evaluates a minibatch whose traces are lost, uncharged: its scores are recorded.

        `lent` is the way to our models for an adapter that is called in a thread.
        """
        candidate, instances = self._texts(artifact), self._tables[split].fetch(ids)
        if self._single is not None:
            return joined([await self._single(i, candidate, ctx) for i in instances])
        evaluate = self.adapter.evaluate
        if lent is not None:
            evaluate = at_work(lent, evaluate)
        batch = await self.call(evaluate, instances, candidate, True)
        return checked(batch, len(ids), "evaluate", traces=True)

    # -- other methods ------------------------------------------------------------

    async def call(self, function: Callable[..., Any], *arguments: Any, alone: bool = False) -> Any:
        """Calls another function of the user's; it takes a place like any call of the adapter.

        Raises what it raises. `alone`: never beside another such call, however many are allowed.
        """
        future = asyncio.get_running_loop().create_future()
        self._jobs.append(_Job(function, arguments, alone, future))
        self._wake()
        return await future

    def close(self) -> bool:
        """Lets the threads go, after the run; False if one hangs in the adapter."""
        return self._threads.close(CLOSE_GRACE_S)

    # -- what goes out next ------------------------------------------------------------

    def _wake(self) -> None:
        self._quiet = 0
        if not self._looks:
            self._looks = True
            asyncio.get_running_loop().call_soon(self._look)

    def _look(self) -> None:
        """Waits until nobody has come for a turn of the loop, so that a minibatch is complete."""
        self._quiet += 1
        if self._quiet < 2:
            asyncio.get_running_loop().call_soon(self._look)
            return
        self._looks = False
        self._dispatch()

    def _dispatch(self) -> None:
        while self._n_busy < self.n_calls:
            if (job := self._next_job()) is not None:
                self._begin(self._do(job))
            elif units := self._next_units():
                self._begin(self._evaluate(units))
            else:
                return

    def _begin(self, coroutine: Any) -> None:
        self._n_busy += 1
        task = asyncio.get_running_loop().create_task(coroutine)
        # The loop itself keeps only weak references.
        self._calls.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: "asyncio.Task[None]") -> None:
        self._calls.discard(task)
        self._n_busy -= 1
        if not task.cancelled():
            task.result()
            self._dispatch()

    def _next_job(self) -> _Job | None:
        for job in self._jobs:
            if not (job.alone and self._alone):
                self._jobs.remove(job)
                if job.future.done():
                    return self._next_job()
                self._alone |= job.alone
                return job
        return None

    def _next_units(self) -> list[_Unit]:
        """Takes what the next call evaluates out of what waits."""
        for unit in self._units.values():
            unit.asks = [ask for ask in unit.asks if not ask.future.done()]
        self._units = {key: unit for key, unit in self._units.items() if unit.asks}
        if self._many is not None:
            # A call has one way to be traced; who has waited longest decides which.
            first = next(iter(self._units.values()), None)
            taken = [
                unit
                for unit in self._units.values()
                if not self._takes_traces or unit.traces == first.traces  # type: ignore[union-attr]
            ]
            self._units = {k: u for k, u in self._units.items() if u not in taken}
            return taken
        for key, unit in self._units.items():
            # One example for each of several calls, so that none waits for another's.
            n = len(unit.asks) if unit.whole or self.n_calls == 1 else 1
            taken_asks, unit.asks = unit.asks[:n], unit.asks[n:]
            if not unit.asks:
                del self._units[key]
            part = _Unit(unit.candidate, unit.split, unit.traces, unit.whole, unit.ticket)
            part.asks = taken_asks
            return [part]
        return []

    # -- one call ------------------------------------------------------------

    async def _do(self, job: _Job) -> None:
        try:
            result = await self._threads.call(self._done, job)
        except asyncio.CancelledError:
            job.future.cancel()
            raise
        except Exception as error:
            if not job.future.done():
                job.future.set_exception(error)
        else:
            if not job.future.done():
                job.future.set_result(result)
        finally:
            if job.alone:
                self._alone = False

    def _done(self, job: _Job) -> Any:
        """In a thread: one call of another method."""
        result = awaited(job.function(*job.arguments))
        self.adapter_state = taken(self.adapter)
        return result

    async def _evaluate(self, units: list[_Unit]) -> None:
        leader = units[0].asks[0].context
        loop = asyncio.get_running_loop()
        sync = SyncContext(leader.chat, leader.attempt, loop, leader.door)
        leading = units[0].asks[0].future
        leading.add_done_callback(lambda _: sync.close())
        try:
            batches = await self._threads.call(self._evaluated, units, sync)
        except asyncio.CancelledError:
            if not leading.cancelled():
                self._fail(units, asyncio.CancelledError())
                raise
            self._ask_again(units)
        except Exception as error:
            if leading.cancelled():
                self._ask_again(units)
            else:
                method = "evaluate" if self._many is None else "batch_evaluate"
                self._fail(units, failure(f"the adapter's {method}", error, raises=self.raises))
        else:
            self._settle(units, batches)

    def _evaluated(self, units: list[_Unit], sync: SyncContext) -> list[Any]:
        """In a thread: one call of the adapter."""
        with sync.at_work():
            items = [
                (
                    dict(unit.candidate),
                    self._tables[unit.split].fetch([ask.example for ask in unit.asks]),
                )
                for unit in units
            ]
            traces = any(unit.traces for unit in units)
            if self._many is not None:
                options = {"capture_traces": traces} if self._takes_traces else {}
                sizes = [len(batch) for _, batch in items]
                many = awaited(self._many(items, **options))
                self.adapter_state = taken(self.adapter)
                return checked_all(many, sizes, traces=traces)
            ((candidate, instances),) = items
            n = len(instances)  # Now, since an adapter may empty what it is given.
            found = awaited(self.adapter.evaluate(instances, candidate, capture_traces=traces))
            self.adapter_state = taken(self.adapter)
            return [checked(found, n, "evaluate", traces=traces)]

    def _settle(self, units: list[_Unit], batches: list[Any]) -> None:
        for unit, batch in zip(units, batches, strict=True):
            if unit.traces and any(not ask.future.done() for ask in unit.asks):
                ids = [ask.example for ask in unit.asks]
                self._traced.setdefault(unit.ticket, []).append((ids, batch))
            for place, ask in enumerate(unit.asks):
                if not ask.future.done():
                    ask.future.set_result((batch, place))

    def _fail(self, units: list[_Unit], error: BaseException) -> None:
        for ask in (ask for unit in units for ask in unit.asks):
            if not ask.future.done():
                ask.future.set_exception(error)

    def _ask_again(self, units: list[_Unit]) -> None:
        """Puts back those whose call failed because the one that led it was cancelled."""
        for unit in units:
            unit.asks = [ask for ask in unit.asks if not ask.future.done()]
            if unit.asks:
                self._units[("again", id(unit))] = unit
        self._wake()


def at_work(context: SyncContext, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function as it is called in a thread: `context` is the current one there."""

    def call(*arguments: Any) -> Any:
        with context.at_work():
            return function(*arguments)

    return call


def check_adapter(adapter: Any) -> None:
    """Refuses an adapter that lacks what every step needs. Raises `ConfigError`."""
    for name, why in (
        ("evaluate", "evaluate(batch, candidate, capture_traces=False) -> EvaluationBatch"),
        (
            "make_reflective_dataset",
            "make_reflective_dataset(candidate, eval_batch, components_to_update)",
        ),
    ):
        if not callable(getattr(adapter, name, None)):
            raise ConfigError(
                f"adapter: expected a method {why}, found none in {type(adapter).__name__}. Add it"
            )


def _outcome(batch: Any, place: int) -> Outcome:
    found = getattr(batch, "objective_scores", None)
    objectives = {} if found is None else {name: float(v) for name, v in found[place].items()}
    score = float(batch.scores[place])
    return Outcome(score=score, output=batch.outputs[place], objectives=objectives)


def _takes(function: Callable[..., Any], name: str) -> bool:
    """Says whether a function may be given the keyword `name`."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.name == name or p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)


def no_score(example: Any, output: Any) -> Any:
    """Stands where a score function is expected: an adapter has scored already."""
    raise TaskError("expected the adapter to have scored, found an output that it did not make")
