"""Workflow: what an algorithm tells the engine. Sources, stages, pool and commit rule, no more.

Nothing here knows of concurrency: a stage sees one item and a context; a source and a commit rule
see the pool and answer with data. The engine decides when, how many at once, and what to do about
what happened meanwhile.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

from flashevolve.artifact import Artifact
from flashevolve.candidate import Candidate
from flashevolve.engine.item import Commit, End, Goto, Item, Minimum, Needs, P, Selection
from flashevolve.llm.messages import Message, Reply
from flashevolve.outcome import Outcome
from flashevolve.policies.speculation import ReleaseKind
from flashevolve.pools.pool import Pool
from flashevolve.task import Example, Split

T = TypeVar("T")


class StageContext(Protocol):
    """What a stage may do besides computing. One per item and stage visit."""

    @property
    def pool(self) -> Pool:
        """The pool as it is now; to be read, never changed."""
        ...

    def rng(self, purpose: str = "") -> Random:
        """Returns a generator derived from (run seed, purpose, ticket, stage, map key)."""
        ...

    def example(self, example_id: str) -> Example:
        """Returns an example of any split."""
        ...

    async def chat(
        self,
        role: str,
        messages: Sequence[Message],
        *,
        name: str = "",
        response_schema: Mapping[str, Any] | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Reply:
        """Asks a model of `role`. Journaled: after a resume the recorded reply returns at once.

        Raises `LLMError` for `Refused`, `Truncated` and `Empty` answers; anything else that goes
        wrong ends the item or the run without passing through here.
        """
        ...

    async def map(
        self,
        function: Callable[[str, "StageContext"], Awaitable[T]],
        keys: Iterable[str],
        *,
        release: float | None = None,
    ) -> dict[str, T]:
        """Runs `function(key, context)` for all keys at once; returns results by key.

        The first exception cancels the others and is raised. In a stage that declares a release,
        the results may be those of a fixed prefix of the keys: as many as the fraction `release`
        says or, where it is None, the run's settings. Read only what is there.
        """
        ...

    async def evaluate(
        self, artifact: Artifact, split: Split, example_ids: Sequence[str], *, fresh: bool
    ) -> dict[str, Outcome]:
        """Evaluates an artifact; returns outcomes by example id.

        `fresh` = run it again whatever is known (replica = ticket); otherwise what was evaluated
        before, or is being evaluated now, is shared and costs no metric call. A shared score is
        the mean over the task's replicas, which are none of the algorithm's business. In a stage
        that declares a release, outcomes of some of the ids may be missing.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Stage(Generic[P]):
    """One stage of a workflow."""

    name: str
    run: Callable[[Item[P], StageContext], Awaitable[Item[P] | Goto[P] | End]]
    needs: Callable[[Item[P], Pool], Needs] = field(default=lambda item, pool: Needs())
    """An upper bound on what `run` will spend; what it does not spend is refunded."""
    routes: tuple[str, ...] = ()
    """Stages that `run` may name in a `Goto`, besides the following one."""
    counts: str | None = None
    """Counter raised when the stage passed or rejected an item (`proposed`, `screened`, ...)."""
    stands_for: Callable[[Item[P]], int] = field(default=lambda item: 1)
    """By how much it is raised: asked of the item that the stage returned or, if it rejected it, of
    the one that it was given."""
    release: ReleaseKind | None = None
    """What the stage can bear if its first fan-out returns early, should the run's settings say so.
    `rollout`: the item goes on with what is there, and what comes later is only paid for. `sweep`:
    the stage is run again when everything is there, and goes on only then; meanwhile the workflow
    is asked whether it believes in the item (`speculate`). None = it waits for everything."""


class Source(Protocol[P]):
    """What starts items. Asked in the workflow's order whenever a credit is free."""

    @property
    def name(self) -> str:
        """Names the source in events and in derived random draws."""
        ...

    def select(self, pool: Pool, rng: Random) -> Selection[P] | None:
        """Returns what to start now, or None if there is nothing to start."""
        ...


@runtime_checkable
class Capped(Protocol):
    """A source that may have only so many of its steps in flight; others need not say anything."""

    def cap(self, pool: Pool) -> int:
        """Returns how many may be in flight; with as many under way it is not asked for more."""
        ...


class Workflow(ABC, Generic[P]):
    """An algorithm, as the engine sees it."""

    name: ClassVar[str]
    payload: type[P]
    """The items' payload: a frozen dataclass that pydantic can read back from JSON."""
    sources: Sequence[Source[P]]
    stages: Sequence[Stage[P]]
    gate: ClassVar[str | None] = None
    """The stage after which the gap is checked; None = before commit."""
    cycles: ClassVar[frozenset[tuple[str, str]]] = frozenset()
    """Declared back edges (from, to); the repair stage's own is declared by the engine."""

    roles: ClassVar[tuple[str, ...]] = ("reflect",)
    """Roles that its stages ask, so that a missing model is found before anything is paid for."""

    def minimum(self) -> Minimum:
        """Returns what one whole step needs; a smaller budget is refused before it is spent."""
        return Minimum()

    @abstractmethod
    def new_pool(self) -> Pool:
        """Returns an empty pool."""

    @abstractmethod
    def commit(self, item: Item[P], pool: Pool) -> Commit | End:
        """Decides what an item that passed all stages does to the pool. Pure."""

    def learnt(
        self, item: Item[P], worked_s: Mapping[str, float], pool: Pool
    ) -> tuple[dict[str, Any], ...]:
        """Returns pool operations that keep what an item that ended, in whatever way, has shown.

        `worked_s` is stage -> seconds that it worked on the item; empty if a process died
        meanwhile. Like a selection's, the operations bump no version. Pure.
        """
        return ()

    def writes(self, item: Item[P]) -> tuple[str, ...]:
        """Returns the scopes that the commit overwrites; empty = the commit commutes with any."""
        return ()

    def rebase(self, item: Item[P], pool: Pool) -> Item[P] | None:
        """Returns the item redone onto the pool as it is, or None if that is not possible."""
        return None

    def speculate(self, item: Item[P], pool: Pool) -> Commit | None:
        """Returns what inserts an item's speculative candidate, or None. Pure.

        Asked when a `sweep` stage has a prefix of its outcomes, with the item as the stage returned
        it. The pool must be `pools.pool.Speculating`; `commit` then confirms the same candidate.
        """
        return None

    def confirms(self, item: Item[P], candidate: Candidate, pool: Pool) -> bool:
        """Says whether an item whose sweep is over bears out its speculative candidate. Pure.

        Raises `NotImplementedError` in workflows that never speculate.
        """
        raise NotImplementedError(f"{self.name} declares no speculation")

    def artifact(self, item: Item[P]) -> Artifact | None:
        """Returns the artifact that the item carries; None if it carries none yet."""
        return None

    def repair_base(self, item: Item[P], pool: Pool) -> Candidate | None:
        """Returns the candidate onto which a stale item is patched."""
        return pool.best()

    def patched(self, item: Item[P], base: Candidate, artifact: Artifact) -> P:
        """Returns the payload of the patched item, to enter at the gate with `base` as parent.

        Raises `NotImplementedError` in workflows that carry no artifact.
        """
        raise NotImplementedError(f"{self.name} declares no repair")


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a workflow is built from: data only, no user code."""

    seed: Artifact
    train_ids: tuple[str, ...]
    val_ids: tuple[str, ...]
    perfect_score: float = 1.0
    input: str | None = None
    """The one field of an example that the artifact is run on; None = user code sees them all."""


class Algorithm(Protocol):
    """An algorithm's configuration, which builds its workflow."""

    def workflow(self, setup: Setup) -> Workflow[Any]:
        """Returns the workflow for one run."""
        ...
