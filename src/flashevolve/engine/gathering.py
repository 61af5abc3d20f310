"""Gathering: several stale items judged by one call (`staleness.repair_batch`).

Items wait for the end of a call that is under way, and share the next; whoever completes a batch of
n with one base does not wait, but asks at once about itself and those who waited longest. Each item
gets one verdict, matched by its ticket and never by order. One of them, the leader, makes the call,
in its own task and journal. Invariants: at most one incomplete batch is asked about at a time; an
item waits for the end of at most one call; every item gets exactly one verdict; one without a
readable verdict is asked about alone, once; where a leader's call fails or is cancelled, each of
the others asks for itself, as does after a resume whoever was here at the kill.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from flashevolve.artifact import Artifact
from flashevolve.engine.graph import REPAIR
from flashevolve.engine.history import Told
from flashevolve.engine.item import Item
from flashevolve.engine.repair import (
    USELESS,
    Decided,
    Repairer,
    Verdict,
    decided_in,
    fenced,
    verdict_of,
)
from flashevolve.engine.workflow import StageContext
from flashevolve.llm.messages import user
from flashevolve.replies.errors import ReplyError
from flashevolve.replies.jsons import first_json_object
from flashevolve.templates import fill, template

ONCE = ("alone",)
"""Name of the one attempt that is left after a batch without a verdict on the item."""


class _Word(Enum):
    """What a waiting item may be told instead of a verdict."""

    LEAD = auto()
    MISSING = auto()
    LEADERLESS = auto()


@dataclass(eq=False)
class _Place:
    """One item that takes part."""

    item: Item[Any]
    ctx: StageContext
    told: "asyncio.Future[Verdict | _Word]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def tell(self, word: Verdict | _Word) -> None:
        """Wakes the item, unless it was cancelled."""
        if not self.told.done():
            self.told.set_result(word)


class Gathering:
    """Shares calls among the items that are in the stage `repair` at once."""

    def __init__(self, repairer: Repairer, size: int, alone: Collection[int] = ()) -> None:
        """`alone` are tickets that are asked about by themselves."""
        self._repairer = repairer
        self._size = size
        self._alone = alone
        self._waiting: list[_Place] = []
        self._busy = False
        """The call that incomplete batches wait for is under way, or its leader has been told."""

    async def judge(self, item: Item[Any], ctx: StageContext) -> Verdict:
        """Returns the model's verdict on one item."""
        if item.ticket in self._alone or not self._can_share(item, ctx):
            return await self._repairer.judge(item, ctx)
        place = _Place(item, ctx)
        if self._busy:
            others = self._partners(place)
            if len(others) == self._size - 1:
                return await self._lead(place, others, then=lambda: None)
            self._waiting.append(place)
            word = await self._word(place)
            if isinstance(word, Verdict):
                return word
            if word is _Word.MISSING:
                return await self._repairer.judge(item, ctx, ONCE)
            if word is _Word.LEADERLESS:
                return await self._repairer.judge(item, ctx)
        self._busy = True
        return await self._lead(place, self._partners(place), then=self._hand_on)

    def _can_share(self, item: Item[Any], ctx: StageContext) -> bool:
        is_stale = bool(self._repairer.history.missed([item]))
        return is_stale and self._repairer.case(item, ctx) is not None

    async def _word(self, place: _Place) -> Verdict | _Word:
        try:
            return await place.told
        except asyncio.CancelledError:
            if place in self._waiting:
                self._waiting.remove(place)
            elif not place.told.cancelled() and place.told.result() is _Word.LEAD:
                self._hand_on()
            raise

    async def _lead(
        self, leader: _Place, followers: list[_Place], *, then: Callable[[], None]
    ) -> Verdict:
        """Asks about a batch; `then` is called as soon as the call is over."""
        self._waiting = [place for place in self._waiting if place not in followers]
        try:
            if not followers:
                return await self._repairer.judge(leader.item, leader.ctx)
            try:
                batch = sorted([leader, *followers], key=lambda place: place.item.ticket)
                found = await self._ask(leader.ctx, batch)
            except BaseException:
                for place in followers:
                    place.tell(_Word.LEADERLESS)
                raise
        finally:
            then()
        for place in followers:
            place.tell(found.get(place.item.ticket, _Word.MISSING))
        verdict = found.get(leader.item.ticket)
        return verdict or await self._repairer.judge(leader.item, leader.ctx, ONCE)

    def _hand_on(self) -> None:
        """Lets the item that waits longest make the next call."""
        while self._waiting:
            place = self._waiting.pop(0)
            if not place.told.done():
                place.tell(_Word.LEAD)
                return
        self._busy = False

    def _partners(self, leader: _Place) -> list[_Place]:
        """Returns who waits for a verdict on the same base, at most as many as share a call."""
        case = self._repairer.case(leader.item, leader.ctx)
        found: list[_Place] = []
        for place in self._waiting:
            theirs = self._repairer.case(place.item, place.ctx)
            if case and theirs and theirs.base.id == case.base.id and not place.told.done():
                found.append(place)
        return found[: self._size - 1]

    async def _ask(self, ctx: StageContext, batch: list[_Place]) -> Mapping[int, Verdict]:
        """Returns the verdicts that could be read, by ticket."""
        version = ctx.pool.version
        told = self._repairer.history.told([place.item for place in batch], ctx)
        cases = {p.item.ticket: self._repairer.case(p.item, ctx) for p in batch}
        stale = {ticket: case.stale for ticket, case in cases.items() if case}
        base = next(case.base for case in cases.values() if case)
        question = user(batch_prompt(stale, base.artifact, told))
        try:
            reply = await ctx.chat(REPAIR, [question], name="batch")
            found = read_verdicts(reply.text, stale, base.artifact)
        except USELESS:
            return {}
        return {ticket: verdict_of(said, base, version, told) for ticket, said in found.items()}


def batch_prompt(stale: Mapping[int, Artifact], current: Artifact, told: Told) -> str:
    """Returns the question about several stale texts, each under its number."""
    texts = "\n\n".join(f"## Stale text {n}\n{fenced(text)}" for n, text in stale.items())
    values = {"stale": texts, "current": fenced(current), "updates": told.text}
    return fill(template(__package__, "repair_batch"), values)


def read_verdicts(text: str, numbers: Collection[int], current: Artifact) -> Mapping[int, Decided]:
    """Reads the verdicts on the texts with these numbers; those that cannot be read are left out.

    They stand in a mapping from number to verdict, or in a list of verdicts with a number each
    (`id`). Two verdicts on one text count as none. Raises `ReplyError` if there are no verdicts.
    """
    answers = first_json_object(text).get("verdicts")
    if isinstance(answers, dict):
        told = list(answers.items())
    elif isinstance(answers, list):
        told = [(answer.get("id"), answer) for answer in answers if isinstance(answer, dict)]
    else:
        raise ReplyError("expected 'verdicts', a mapping from the number of a text to its verdict")
    found: dict[int, list[Decided | None]] = {}
    for key, answer in told:
        for number in (n for n in numbers if str(n) == str(key).strip()):
            found.setdefault(number, []).append(_readable(answer, current))
    return {n: said[0] for n, said in found.items() if len(said) == 1 and said[0] is not None}


def _readable(answer: Any, current: Artifact) -> Decided | None:
    """Returns the verdict in a value that a model wrote; None if there is none."""
    try:
        return decided_in(answer, current) if isinstance(answer, dict) else None
    except ReplyError:
        return None
