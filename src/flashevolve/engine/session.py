"""Session: one process's share of a run, from the first event it writes to the last.

It wires the engine's parts around one event log, starts or resumes, runs the engine, scores seed
and best on the test split, and records the end. It reads no configuration and opens no file: what
it needs is handed in, so that tests run the same code in virtual time with a store in memory.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal, Protocol, cast

from flashevolve import events as ev
from flashevolve.artifact import Artifact
from flashevolve.engine.conclusion import Journals
from flashevolve.engine.context import BoundContext, Services, Visit
from flashevolve.engine.engine import Engine, Options
from flashevolve.engine.evaluation import EvaluationService, FreshKey
from flashevolve.engine.funds import BudgetExhausted, Funds
from flashevolve.engine.gathering import Gathering
from flashevolve.engine.graph import REPAIR, build
from flashevolve.engine.history import History
from flashevolve.engine.intake import Intake
from flashevolve.engine.item import Needs
from flashevolve.engine.log import EventLog, Observer, Writer
from flashevolve.engine.repair import Judge, Repairer
from flashevolve.engine.shared import SharedScores, Stored
from flashevolve.engine.state import Codec, RunState
from flashevolve.engine.usercode import LatencyOf, UserCode
from flashevolve.engine.workflow import Stage, Workflow
from flashevolve.errors import RunStopped
from flashevolve.llm.calls import CallService, Endpoint, Journal, Reuse, journal_of
from flashevolve.llm.errors import Fatal, LLMError
from flashevolve.llm.gateway.gateway import Gateway
from flashevolve.llm.gateway.known import known_to
from flashevolve.llm.retry import RetryPolicy
from flashevolve.outcome import Usage
from flashevolve.policies.budget import Resource
from flashevolve.policies.staleness import GapRule
from flashevolve.policies.staleness import History as Shown
from flashevolve.task import Task

TEST_STAGE = "test"
TEST_TICKETS: Mapping[Literal["seed", "best"], int] = {"seed": -1, "best": -2}
ASIDE_MARGIN = 1.25
"""The best prompt is longer than the seed, and answers vary; a quarter more covers most of it."""


class Past(Stored, Protocol):
    """What a session reads of the store."""

    def journal_calls(self, ticket: int) -> Sequence[tuple[ev.CallReserved, ev.CallSettled | None]]:
        """Returns the recorded calls of one item."""
        ...

    def journal_outcomes(self, ticket: int) -> Sequence[ev.OutcomeRecorded]:
        """Returns the recorded outcomes of one item."""
        ...


EndpointsFor = Callable[[Callable[[str, int, str], None]], Mapping[str, Sequence[Endpoint]]]
"""Builds the endpoints; is given what their limiters report changes to."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that a session needs, ready made."""

    workflow: Workflow[Any]
    task: Task
    seed: Artifact
    endpoints: EndpointsFor
    options: Options
    history_tokens: int
    repair_prompt: str | None = None
    """A template in place of the package's own."""
    repair_batch: int = 1
    """Most items that one call for repair judges."""
    history: Shown = "full"
    """Which updates the repairing model is shown."""
    gap_rule: GapRule
    max_threads: int
    max_parallel: int
    retry: RetryPolicy
    start: ev.RunStarted
    """Appended if the run is new."""
    reuse: Reuse | None = None
    """Looks up answers that another run has paid for."""
    score_latency_s: LatencyOf | None = None
    """What scoring takes in a simulated world; None = its real time."""
    gateway_port: int = 0
    """Where user code's own clients reach us; 0 = any port that is free."""
    key_envs: frozenset[str] = frozenset()
    """Environment variables that hold the models' keys, which no child process may see."""
    changes: Mapping[str, Any]
    """Settings that differ from the recorded ones; told in `RunResumed`."""


class Session:
    """One process's share of a run."""

    def __init__(
        self, plan: Plan, writer: Writer, state: RunState, encode: Codec, past: Past | None = None
    ) -> None:
        self.state = state
        self._plan = plan
        self._writer = writer
        self._encode = encode
        self._past = past
        self._observers: list[Observer] = []
        self._engine: Engine | None = None
        self._testing: asyncio.Future[None] | None = None
        self._stop_requests = 0

    def observe(self, observer: Observer) -> None:
        """Adds an observer of durable events; call it before `run`."""
        self._observers.append(observer)

    def stop(self) -> None:
        """First call: stages under way finish, nothing new starts. Second: they are cancelled."""
        self._stop_requests += 1
        if self._engine is not None:
            self._obey(self._engine)
        if self._testing is not None and self._stop_requests > 1:
            self._testing.cancel()

    def _obey(self, engine: Engine) -> None:
        if self._stop_requests == 1:
            engine.stop()
        elif self._stop_requests > 1:
            engine.cancel()

    async def run(self) -> str:
        """Runs and returns the reason for the end; raises what ended the run early."""
        log = self._log()
        endpoints = self._plan.endpoints(_limit_reporter(log))
        known = known_to(endpoints, self._plan.workflow.roles)
        gateway = Gateway(known, self._plan.gateway_port, self._plan.key_envs)
        code = UserCode(self._plan.max_threads, self._plan.score_latency_s, gateway)
        funds = Funds(self.state.ledger)
        shared = SharedScores(log.durable, self._past)
        evaluation = EvaluationService(self._plan.task, code, log, self._plan.max_parallel, shared)
        plan, run_seed = self._plan, self._plan.options.rng_seed
        roles = plan.workflow.roles
        intake = _intake(plan, endpoints)
        calls = CallService(endpoints, log, funds, plan.retry, run_seed, plan.reuse, roles, intake)
        services = Services(run_seed, self.state.pool, calls, evaluation, gateway)
        try:
            gateway.reserve()
            journals = self._begin(log, evaluation)
            self._set_aside(log, funds)
            engine = self._new_engine(log, funds, services, journals, intake)
            self._engine = engine
            self._obey(engine)
            try:
                reason = await engine.run()
                if reason != "stop" and not await self._scored_test(log, funds, services):
                    reason = "stop"
            except asyncio.CancelledError:
                self._end(log, "stop", True, "cancelled")
                raise
            except BaseException as error:
                self._end(log, "failed", True, f"{type(error).__name__}: {error}")
                raise
            self._end(log, reason, reason == "stop", "")
            return reason
        finally:
            code.close()
            await gateway.close()
            for endpoint in {id(e.model): e for es in endpoints.values() for e in es}.values():
                await endpoint.model.close()
            # Last, since a full disk makes them fail.
            log.snapshot()
            await log.flush()

    # -- beginning -------------------------------------------------------------------------------

    def _log(self) -> EventLog:
        loop = asyncio.get_running_loop()
        began_s, before_s = loop.time(), self.state.t_s
        log = EventLog(
            self._writer, self.state, lambda: before_s + loop.time() - began_s, self._encode
        )
        for observer in self._observers:
            log.observe(observer)
        return log

    def _begin(self, log: EventLog, evaluation: EvaluationService) -> Journals:
        if self.state.started is None:
            log.append(self._plan.start)
            return {}
        orphans = list(self.state.calls.values())
        settled = [_orphaned(call) for call in orphans]
        resumed = ev.RunResumed(
            changes=dict(self._plan.changes), orphans=[call.call for call in orphans]
        )
        log.append(resumed, *settled)
        if self._past is None:
            return {}
        evaluation.resume()
        return {ticket: _journals(self._past, ticket) for ticket in self.state.in_flight}

    def _new_engine(
        self,
        log: EventLog,
        funds: Funds,
        services: Services,
        journals: Journals,
        intake: Intake,
    ) -> Engine:
        plan = self._plan
        repair: Stage[Any] | None = None
        if plan.options.staleness.asks:
            # It answers with a verdict, which the engine alone understands.
            repair = Stage(name=REPAIR, run=cast(Any, self._judge()))
        graph = build(plan.workflow, repair)
        return Engine(
            plan.workflow, graph, plan.options, log, funds, services, self._encode, journals, intake
        )

    def _judge(self) -> Judge:
        """Returns what judges an item that the policy asks a model about."""
        plan = self._plan
        repairer = Repairer(
            workflow=plan.workflow,
            history=History(
                lambda: self.state.updates, plan.gap_rule, plan.history_tokens, plan.history
            ),
            prompt=plan.repair_prompt,
            withholds=plan.options.staleness.policy == "regenerate",
        )
        if plan.repair_batch == 1:
            return repairer.judge
        # Who was judged when a process died may have lost its leader, and is asked alone.
        alone = {t for t, flight in self.state.in_flight.items() if flight.stage == REPAIR}
        return Gathering(repairer, plan.repair_batch, alone).judge

    def _set_aside(self, log: EventLog, funds: Funds) -> None:
        """Keeps the cost of scoring on test from being spent, once the seed's cost is known."""
        n_test, n_val = len(self._plan.task.test), len(self._plan.task.val)
        if not n_test or not funds.ledger.limits.keys() & {"tokens", "usd"}:
            return

        def measure(_: ev.Record | None = None) -> None:
            first = self.state.first_cost
            if first and not funds.aside and self._testing is None:
                share = 2 * ASIDE_MARGIN * n_test / max(1, n_val)
                # Scoring on test is no metric call. The last request, too, reserves its worst case.
                worst = self.state.worst_call
                funds.aside = {
                    "tokens": share * first["tokens"] + worst["tokens"],
                    "usd": share * first["usd"] + worst["usd"],
                }

        measure()
        log.observe(measure)

    # -- ending ----------------------------------------------------------------------------------

    async def _scored_test(self, log: EventLog, funds: Funds, services: Services) -> bool:
        """Scores on the test split; False if a second `stop` cancelled it."""
        self._testing = asyncio.ensure_future(self._score_test(log, funds, services))
        try:
            await self._testing
        except asyncio.CancelledError:
            if self._stop_requests > 1:
                return False
            raise
        except Fatal as error:
            raise RunStopped(str(error)) from error
        return True

    async def _score_test(self, log: EventLog, funds: Funds, services: Services) -> None:
        """Scores seed and best on the test split, once each, seed first."""
        best = self.state.pool.best()
        if best is None or not self._plan.task.test:
            return
        funds.aside = {}
        subjects: list[tuple[Literal["seed", "best"], int, Artifact]] = [
            ("seed", 0, self._plan.seed),
            ("best", best.id, best.artifact),
        ]
        for which, candidate, artifact in subjects:
            done = self.state.tests.get(which)
            if done is None or done.mean is None or done.candidate != candidate:
                log.append(await self._test(services, which, candidate, artifact))

    async def _test(
        self,
        services: Services,
        which: Literal["seed", "best"],
        candidate: int,
        artifact: Artifact,
    ) -> ev.TestScored:
        ids = [example.id for example in self._plan.task.test]
        ticket = TEST_TICKETS[which]
        calls, outcomes = _journals(self._past, ticket) if self._past else ({}, {})
        visit = Visit(
            ticket=ticket,
            stage=TEST_STAGE,
            visit=1,
            priority=(-len(self._plan.workflow.stages) - 1, ticket),
            needs=Needs(shared=len(ids)).booked(self._plan.task.replicas),
            calls=calls,
            outcomes=dict(outcomes),
        )
        context = BoundContext(services, visit)
        try:
            scored = await context.evaluate(artifact, "test", ids, fresh=False)
        except BudgetExhausted as error:
            reason = f"too little budget left: {error.resource}"
            return ev.TestScored(which=which, candidate=candidate, mean=None, n=0, reason=reason)
        except Fatal:
            raise
        except LLMError as error:
            return ev.TestScored(
                which=which, candidate=candidate, mean=None, n=0, reason=f"{error.kind}: {error}"
            )
        mean = fmean(outcome.score for outcome in scored.values())
        return ev.TestScored(which=which, candidate=candidate, mean=mean, n=len(scored))

    def _end(self, log: EventLog, reason: str, resumable: bool, detail: str) -> None:
        counters = dict(sorted(self.state.counters.items()))
        log.append(
            ev.RunEnded(reason=reason, resumable=resumable, detail=detail, counters=counters)
        )


def _limit_reporter(log: EventLog) -> Callable[[str, int, str], None]:
    def report(account: str, limit: int, reason: str) -> None:
        log.append(ev.LimitChanged(account=account, limit=limit, reason=reason))

    return report


def _intake(plan: Plan, endpoints: Mapping[str, Sequence[Endpoint]]) -> Intake:
    """Returns what lets steps begin; only `adaptive` asks the limiters."""
    if not plan.options.adapts:
        return Intake(())
    limiters = {id(e.limiter): e.limiter for es in endpoints.values() for e in es}
    return Intake(limiters.values(), plan.workflow.stages[0].name)


def _orphaned(call: ev.CallReserved) -> ev.CallSettled:
    """A call that was in flight when its process died may have been billed in full."""
    usage = Usage(calls=1, tokens_in=call.tokens, usd=call.usd)
    return ev.CallSettled(
        call=call.call,
        ticket=call.ticket,
        status="orphaned",
        usage=usage,
        usage_known=False,
        reply=None,
        error="in flight when the process died",
    )


def _journals(past: Past, ticket: int) -> tuple[Journal, Mapping[FreshKey, ev.OutcomeRecorded]]:
    outcomes: dict[FreshKey, ev.OutcomeRecorded] = {
        (o.stage, o.visit, o.artifact, o.example, o.replica): o
        for o in past.journal_outcomes(ticket)
    }
    return journal_of(past.journal_calls(ticket)), outcomes


def limits_of(
    *, metric_calls: int | None, proposals: int | None, tokens: int | None, usd: float | None
) -> dict[Resource, float]:
    """Returns the ledger's limits: only what is limited has an entry."""
    given: dict[Resource, float | None] = {
        "metric_calls": metric_calls,
        "proposals": proposals,
        "tokens": tokens,
        "usd": usd,
    }
    return {resource: limit for resource, limit in given.items() if limit is not None}
