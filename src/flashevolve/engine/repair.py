"""Repair: a stale item is read together with what changed meanwhile, and accepted, patched or not.

FlashEvolve, section 3.2 (reflective policy). We show the updates in (v_i, v] that touch the item's
scopes, newest kept first under a cap and the cut marked; the model answers with one JSON object. A
patch is based on the workflow's `repair_base` and goes back to the gate, never into the pool. An
answer that cannot be read twice counts as discard.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from flashevolve.artifact import Artifact
from flashevolve.candidate import Candidate
from flashevolve.engine.graph import REPAIR
from flashevolve.engine.item import Item
from flashevolve.engine.workflow import StageContext, Workflow
from flashevolve.llm.errors import Empty, Refused, Truncated
from flashevolve.llm.messages import Message, assistant, user
from flashevolve.policies.staleness import GapRule, Update, updates_since
from flashevolve.replies.errors import ReplyError
from flashevolve.replies.fences import fence
from flashevolve.replies.jsons import first_json_object
from flashevolve.templates import fill, template

BYTES_PER_TOKEN = 4
"""English prose; only used to cap what is shown."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the repairing model said, and what it was shown."""

    verdict: Literal["accept", "patch", "discard"]
    reason: str
    version: int
    base: Candidate | None = None
    artifact: Artifact | None = None
    """The patched artifact; only with `patch`."""
    n_shown: int = 0
    n_cut: int = 0
    useless: bool = False
    """True if no verdict could be read; it then counts as discard."""


@dataclass(frozen=True, kw_only=True)
class Repairer:
    """Asks the model of role `repair` about stale items."""

    workflow: Workflow[Any]
    updates: Callable[[], Sequence[Update]]
    rule: GapRule
    history_tokens: int
    prompt: str | None = None
    """A template in place of the package's own."""

    async def judge(self, item: Item[Any], ctx: StageContext) -> Verdict:
        """Returns the model's verdict on one stale item."""
        version = ctx.pool.version
        base = self.workflow.repair_base(item, ctx.pool)
        stale = self.workflow.artifact(item)
        relevant = updates_since(self.updates(), item.version, item.reads, self.rule)
        if stale is None or base is None:
            reason = "nothing to patch: the workflow names no artifact or base"
            return Verdict(verdict="discard", reason=reason, version=version)
        shown, n_cut = self._capped(relevant)
        messages: list[Message] = [
            user(repair_prompt(self.prompt, stale, base.artifact, shown, n_cut))
        ]
        for attempt in ("", "again"):
            try:
                reply = await ctx.chat(REPAIR, messages, name=attempt)
                decided = read_verdict(reply.text, stale, base.artifact)
            except (ReplyError, Refused, Truncated, Empty) as error:
                reason = f"unreadable verdict: {error}"
                said = reply.text if isinstance(error, ReplyError) else ""
                messages = [*messages, assistant(said or "(no answer)"), user(correction(reason))]
                continue
            kind, reason, artifact = decided
            return Verdict(
                verdict=kind,
                reason=reason,
                version=version,
                base=base if kind == "patch" else None,
                artifact=artifact,
                n_shown=len(shown),
                n_cut=n_cut,
            )
        return Verdict(
            verdict="discard",
            reason=reason,
            version=version,
            n_shown=len(shown),
            n_cut=n_cut,
            useless=True,
        )

    def _capped(self, updates: Sequence[Update]) -> tuple[list[Update], int]:
        room = self.history_tokens * BYTES_PER_TOKEN
        kept: list[Update] = []
        for update in reversed(updates):
            room -= len(update.text.encode())
            if room < 0 and kept:
                break
            kept.append(update)
        return kept[::-1], len(updates) - len(kept)


def fenced(texts: Artifact) -> str:
    """Returns the components, each under its name and in a fence."""
    return "\n\n".join(f"### {name}\n{fence(text)}" for name, text in texts.items())


def repair_prompt(
    own: str | None, stale: Artifact, current: Artifact, updates: Sequence[Update], n_cut: int
) -> str:
    """Returns the question put to the repairing model; `own` = a template in place of ours."""
    history = "\n\n".join(f"Version {u.version}: {u.text}" for u in updates)
    if n_cut:
        history = f"({n_cut} older updates are not shown.)\n\n{history}"
    values = {"stale": fenced(stale), "current": fenced(current), "updates": history}
    return fill(own or template(__package__, "repair"), values)


def correction(problem: str) -> str:
    """Returns what is said after an answer that could not be read."""
    return fill(template(__package__, "again"), {"problem": problem})


def read_verdict(
    text: str, stale: Artifact, current: Artifact
) -> tuple[Literal["accept", "patch", "discard"], str, Artifact | None]:
    """Reads a verdict; raises `ReplyError` with one line on what is wrong with it."""
    answer = first_json_object(text)
    kind = answer.get("verdict")
    reason = str(answer.get("reason", ""))
    if kind == "accept" or kind == "discard":
        return kind, reason, None
    if kind != "patch":
        raise ReplyError(f"expected verdict accept, patch or discard, got {kind!r:.40}")
    components = answer.get("components")
    if not isinstance(components, dict) or not components:
        raise ReplyError("a patch needs 'components', a mapping of component name to text")
    for name, value in components.items():
        if name not in current:
            raise ReplyError(f"unknown component {name!r:.40}; expected one of {list(current)}")
        if not isinstance(value, str) or not value.strip():
            raise ReplyError(f"component {name!r} is not a text")
    return "patch", reason, current.replace(components)
