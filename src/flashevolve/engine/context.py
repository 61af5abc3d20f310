"""StageContext as stages get it: the engine's services, bound to one item, stage and visit.

The item owns what it asks for: requests run inside its task, so cancelling the item cancels them.
What goes on after a release is the visit's, and ends with the item too.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, cast

from flashevolve import events as ev
from flashevolve.artifact import Artifact
from flashevolve.engine.ask import EmbedAsk, GuardedAsk, OriginAsk
from flashevolve.engine.evaluation import EvaluationService, FreshKey, Place
from flashevolve.engine.item import Needs
from flashevolve.engine.release import Release
from flashevolve.engine.together import together
from flashevolve.engine.usercode import Attempt, SyncContext
from flashevolve.engine.workflow import StageContext, T
from flashevolve.errors import ConfigError
from flashevolve.llm.calls import CallService, Journal, Origin
from flashevolve.llm.errors import Empty, LLMError, Refused, Truncated
from flashevolve.llm.gateway.gateway import Gateway
from flashevolve.llm.messages import Message, Reply
from flashevolve.outcome import Outcome
from flashevolve.policies.draws import derived_rng
from flashevolve.pools.pool import Pool
from flashevolve.task import Example, Split


@dataclass
class Visit:
    """One item's stay in one stage, as far as its context must know."""

    ticket: int
    stage: str
    visit: int
    priority: tuple[int, ...]
    needs: Needs
    calls: Journal = field(default_factory=dict)
    outcomes: dict[FreshKey, ev.OutcomeRecorded] = field(default_factory=dict)
    """Recorded for this item, by this process too."""
    metric_calls: int = 0
    """Spent so far; at most `needs.metric_calls`."""
    declares_shared: bool = True
    """False if the stage declared no shared evaluations (`Needs.shared`)."""
    release: Release | None = None
    """None = the stage waits for all its requests."""
    declares_release: bool = False
    closed: bool = False
    """True once the item's end is recorded, so that nothing more may be spent."""

    def spend(self, *, fresh: bool, replicas: int) -> None:
        """Books one metric call of a task with so many replicas."""
        if self.closed:
            raise asyncio.CancelledError(f"item {self.ticket} has ended")
        if not fresh and replicas > 1 and not self.declares_shared:
            # Found at the first one: the budget of one call each would end amid the replicas.
            raise ConfigError(
                f"stage {self.stage!r}: expected evaluations with fresh=False to be declared as "
                f"Needs(shared=...), since task.replicas is {replicas}, found none declared. Mend "
                "the algorithm's `needs`, or set task.replicas = 1"
            )
        if self.metric_calls >= self.needs.metric_calls:
            raise AssertionError(
                f"stage {self.stage!r} declared {self.needs.metric_calls} metric calls "
                f"for item {self.ticket} and asks for more; mend its `needs` (evaluations with "
                f"fresh=False belong into `shared`)"
            )
        self.metric_calls += 1


@dataclass(frozen=True)
class Services:
    """What all contexts of a run share."""

    run_seed: int
    pool: Pool
    calls: CallService
    evaluation: EvaluationService
    gateway: Gateway | None = None
    """For clients that user code brings along; None = it may bring none."""


class BoundContext:
    """Implements `engine.workflow.StageContext`."""

    def __init__(self, services: Services, visit: Visit, map_key: str = "") -> None:
        self._services = services
        self._visit = visit
        self._map_key = map_key
        self._asked: Counter[tuple[object, ...]] = Counter()
        self._origin = self._new_origin(map_key, (visit.ticket, visit.stage, map_key))

    @property
    def pool(self) -> Pool:
        """The pool as it is now."""
        return self._services.pool

    def rng(self, purpose: str = "") -> Random:
        """Returns a generator for this item, stage, map key and purpose."""
        v = self._visit
        return derived_rng(self._services.run_seed, purpose, v.ticket, v.stage, self._map_key)

    def example(self, example_id: str) -> Example:
        """Returns an example of any split."""
        return self._services.evaluation.task.by_id[example_id]

    async def chat(
        self,
        role: str,
        messages: Sequence[Message],
        *,
        name: str = "",
        response_schema: Mapping[str, Any] | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Reply:
        """Asks a model; see `StageContext.chat`."""
        parameters: dict[str, Any] = {}
        if response_schema is not None:
            parameters["response_schema"] = response_schema
        if tools:
            parameters["tools"] = tuple(tools)
        calls, release = self._services.calls, self._visit.release
        if release is None:
            return await calls.chat(self._origin, role, messages, name=name, **parameters)
        asked = (self._map_key, role, name, repr((messages, parameters)))
        self._asked[asked] += 1
        key = (*asked, self._asked[asked])
        if key not in release.said:
            try:
                said = await calls.chat(self._origin, role, messages, name=name, **parameters)
            except (Refused, Truncated, Empty) as error:
                release.said[key] = error
                raise
            release.said[key] = said
        if isinstance(release.said[key], LLMError):
            raise release.said[key]
        return cast(Reply, release.said[key])

    async def map(
        self,
        function: Callable[[str, StageContext], Awaitable[T]],
        keys: Iterable[str],
        *,
        release: float | None = None,
    ) -> dict[str, T]:
        """Runs `function` for all keys at once; see `StageContext.map`."""

        async def one(key: str) -> T:
            inner = f"{self._map_key}/{key}" if self._map_key else key
            return await function(key, BoundContext(self._services, self._visit, inner))

        wanted = list(dict.fromkeys(keys))
        may = self._may_release(release)
        if may is None or (m := may.n_first(len(wanted), release)) == len(wanted):
            results = await together(one(key) for key in wanted)
            return dict(zip(wanted, results, strict=True))
        first, found = frozenset(wanted[:m]), dict[str, T]()

        async def whole(ready: "asyncio.Future[None]") -> None:
            async def noted(key: str) -> None:
                found[key] = await one(key)
                if first <= found.keys() and not ready.done():
                    ready.set_result(None)

            await together(noted(key) for key in wanted)

        await may.first(whole)
        return {key: found[key] for key in wanted[:m]}

    def _may_release(self, asked: float | None = None) -> Release | None:
        """Returns the visit's release, if this context may use it: the stage's own, no map's."""
        if asked is not None and not 0 < asked <= 1:
            raise ConfigError(
                f"stage {self._visit.stage!r}: expected release in (0, 1], got {asked!r}"
            )
        release = self._visit.release
        if asked is not None and asked < 1 and not self._visit.declares_release:
            raise ConfigError(
                f"stage {self._visit.stage!r} asks for release={asked:g} and declares none; give "
                "it Stage(release='rollout') or Stage(release='sweep')"
            )
        return None if self._map_key else release

    async def evaluate(
        self, artifact: Artifact, split: Split, example_ids: Sequence[str], *, fresh: bool
    ) -> dict[str, Outcome]:
        """Evaluates an artifact; see `StageContext.evaluate`."""
        v = self._visit
        place = Place(
            ticket=v.ticket,
            stage=v.stage,
            visit=v.visit,
            journal=v.outcomes,
            ask=self._ask,
            spend=partial(v.spend, fresh=fresh, replicas=self._services.evaluation.task.replicas),
        )
        return await self._services.evaluation.evaluate(
            place, artifact, split, example_ids, fresh=fresh, release=self._may_release()
        )

    @asynccontextmanager
    async def lent(
        self, map_key: str, sample: tuple[object, ...] | None = None
    ) -> AsyncIterator[SyncContext]:
        """Lends a sync function of the user's, which a stage calls in a thread, a `ctx` of its own.

        `map_key` sets its calls apart from others of the stage; `sample` says whose answers they
        may share, None = nobody's. What it must not swallow is raised when the block ends.
        """
        v, gateway = self._visit, self._services.gateway
        ask = GuardedAsk(self._ask(map_key, sample or (v.ticket, v.stage, map_key)))
        attempt = Attempt(
            ticket=v.ticket, stage=v.stage, visit=v.visit, artifact="", split="train",
            example="", replica=v.ticket, fresh=True,
        )  # fmt: skip
        door = None if gateway is None else gateway.door(ask)
        lent = SyncContext(ask, attempt, asyncio.get_running_loop(), door)
        try:
            yield lent
        except (Exception, asyncio.CancelledError):
            ask.raise_if_interrupted()
            raise
        finally:
            # A thread outlives its cancelled item; its requests must not.
            lent.close()
            if door is not None:
                await door.close()
        ask.raise_if_interrupted()

    def _ask(self, map_key: str, sample: tuple[object, ...]) -> EmbedAsk:
        return OriginAsk(self._services.calls, self._new_origin(map_key, sample))

    def _new_origin(self, map_key: str, sample: tuple[object, ...]) -> Origin:
        v = self._visit
        return Origin(
            ticket=v.ticket,
            stage=v.stage,
            visit=v.visit,
            map_key=map_key,
            priority=v.priority,
            sample=sample,
            journal=v.calls,
        )
