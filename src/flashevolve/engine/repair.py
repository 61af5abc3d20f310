"""Repair: a stale item is read together with what changed meanwhile, and accepted, patched or not.

FlashEvolve, section 3.2 (reflective policy). We show the updates in (v_i, v] that touch the item's
scopes, newest kept first under a cap and the cut marked; the model answers with one JSON object. A
patch is based on the workflow's `repair_base` and goes back to the gate, never into the pool. An
answer that cannot be read twice counts as discard. Policy `regenerate`, a control, asks the same
with the stale text withheld: whatever is written counts as a patch.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from flashevolve.artifact import Artifact
from flashevolve.candidate import Candidate
from flashevolve.engine.graph import REPAIR
from flashevolve.engine.history import History, Told
from flashevolve.engine.item import Item
from flashevolve.engine.workflow import StageContext, Workflow
from flashevolve.llm.errors import Empty, Refused, Truncated
from flashevolve.llm.messages import Message, assistant, user
from flashevolve.replies.errors import ReplyError
from flashevolve.replies.fences import fence
from flashevolve.replies.jsons import first_json_object
from flashevolve.templates import fill, template

USELESS = (ReplyError, Refused, Truncated, Empty)
"""What a call may end in that is no verdict, and no failure of the item either."""
TWICE = ("", "again")
"""Names of the two attempts at a verdict."""

Kind = Literal["accept", "patch", "discard"]
Decided = tuple[Kind, str, Artifact | None]
"""Verdict, reason and, with a patch, the new texts."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the repairing model said, and what it was shown."""

    verdict: Kind
    reason: str
    version: int
    base: Candidate | None = None
    artifact: Artifact | None = None
    """The patched artifact; only with `patch`."""
    n_shown: int = 0
    n_cut: int = 0
    useless: bool = False
    """True if no verdict could be read; it then counts as discard."""


Judge = Callable[[Item[Any], StageContext], Awaitable[Verdict]]
"""Judges one item; what the stage `repair` runs."""


@dataclass(frozen=True)
class Case:
    """What there is to judge."""

    stale: Artifact
    base: Candidate
    """Whose child a patch becomes."""


@dataclass(frozen=True, kw_only=True)
class Repairer:
    """Asks the model of role `repair` about items."""

    workflow: Workflow[Any]
    history: History
    prompt: str | None = None
    """A template in place of the package's own."""
    withholds: bool = False
    """True if the stale text is not shown (policy `regenerate`)."""

    async def judge(
        self, item: Item[Any], ctx: StageContext, attempts: Sequence[str] = TWICE
    ) -> Verdict:
        """Returns the model's verdict on one item; asks at most once per name in `attempts`."""
        version = ctx.pool.version
        case = self.case(item, ctx)
        told = self.history.told([item], ctx)
        if case is None:
            reason = "nothing to patch: the workflow names no artifact or base"
            # Only a control asks about what is not stale, and must not discard what is fine.
            return Verdict(
                verdict="discard" if told.n_missed else "accept", reason=reason, version=version
            )
        messages: list[Message] = [user(self._question(case, told))]
        reason = ""
        for attempt in attempts:
            try:
                reply = await ctx.chat(REPAIR, messages, name=attempt)
                decided = self._read(reply.text, case)
            except USELESS as error:
                reason = f"unreadable verdict: {error}"
                said = reply.text if isinstance(error, ReplyError) else ""
                again = correction(reason, withheld=self.withholds)
                messages = [*messages, assistant(said or "(no answer)"), user(again)]
                continue
            return verdict_of(decided, case.base, version, told)
        return Verdict(
            verdict="discard",
            reason=reason,
            version=version,
            n_shown=len(told.shown),
            n_cut=told.n_cut,
            useless=True,
        )

    def case(self, item: Item[Any], ctx: StageContext) -> Case | None:
        """Returns what there is to judge now; None if the workflow names no artifact or base."""
        base = self.workflow.repair_base(item, ctx.pool)
        stale = self.workflow.artifact(item)
        return None if stale is None or base is None else Case(stale, base)

    def _question(self, case: Case, told: Told) -> str:
        if self.withholds:
            return regenerate_prompt(case.base.artifact, told)
        return repair_prompt(self.prompt, case.stale, case.base.artifact, told)

    def _read(self, text: str, case: Case) -> Decided:
        if self.withholds:
            return read_regenerated(text, case.base.artifact)
        return read_verdict(text, case.base.artifact)


def verdict_of(decided: Decided, base: Candidate, version: int, told: Told) -> Verdict:
    """Returns what was decided, with what the model had been shown."""
    kind, reason, artifact = decided
    return Verdict(
        verdict=kind,
        reason=reason,
        version=version,
        base=base if kind == "patch" else None,
        artifact=artifact,
        n_shown=len(told.shown),
        n_cut=told.n_cut,
    )


# -- questions ---------------------------------------------------------------------------------


def fenced(texts: Artifact) -> str:
    """Returns the components, each under its name and in a fence."""
    return "\n\n".join(f"### {name}\n{fence(text)}" for name, text in texts.items())


def repair_prompt(own: str | None, stale: Artifact, current: Artifact, told: Told) -> str:
    """Returns the question put to the repairing model; `own` = a template in place of ours.

    Ours does not call stale what missed no update.
    """
    values = {"stale": fenced(stale), "current": fenced(current), "updates": told.text}
    ours = "repair" if told.n_missed else "repair_fresh"
    return fill(own or template(__package__, ours), values)


def regenerate_prompt(current: Artifact, told: Told) -> str:
    """Returns the question of policy `regenerate`, which no word of a stale text enters."""
    values = {"current": fenced(current), "updates": told.text}
    return fill(template(__package__, "regenerate"), values)


def correction(problem: str, *, withheld: bool = False) -> str:
    """Returns what is said after an answer that could not be read."""
    name = "regenerate_again" if withheld else "again"
    return fill(template(__package__, name), {"problem": problem})


# -- answers -----------------------------------------------------------------------------------


def read_verdict(text: str, current: Artifact) -> Decided:
    """Reads a verdict; raises `ReplyError` with one line on what is wrong with it."""
    return decided_in(first_json_object(text), current)


def read_regenerated(text: str, current: Artifact) -> Decided:
    """Reads a text that was written anew, as a patch; raises `ReplyError`."""
    answer = first_json_object(text)
    return "patch", str(answer.get("reason", "")), _patched(answer, current)


def decided_in(answer: dict[str, Any], current: Artifact) -> Decided:
    """Returns the verdict that a JSON object holds; raises `ReplyError`."""
    kind = answer.get("verdict")
    reason = str(answer.get("reason", ""))
    if kind == "accept" or kind == "discard":
        return kind, reason, None
    if kind != "patch":
        raise ReplyError(f"expected verdict accept, patch or discard, got {kind!r:.40}")
    return "patch", reason, _patched(answer, current)


def _patched(answer: dict[str, Any], current: Artifact) -> Artifact:
    components = answer.get("components")
    if not isinstance(components, dict) or not components:
        raise ReplyError("a patch needs 'components', a mapping of component name to text")
    for name, value in components.items():
        if name not in current:
            raise ReplyError(f"unknown component {name!r:.40}; expected one of {list(current)}")
        if not isinstance(value, str) or not value.strip():
            raise ReplyError(f"component {name!r} is not a text")
    return current.replace(components)
