"""Charged runs: a whole simulated run whose CPU takes virtual time, watched while it goes on.

Engine, clock, store (on disk, as a simulated run has it) and the bookkeeping of calls are charged
as measured, a constant for each request stands for the HTTP client that a simulation lacks. Reader,
serving model, lengths, scoring and the watching itself are not charged.

Nothing is kept of a call but numbers: runs with thousands of requests in flight would fill the
memory with texts otherwise.
"""

import tempfile
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter

from flashevolve.bench.served import SERVED
from flashevolve.bench.trace import Best
from flashevolve.engine.session import Session
from flashevolve.engine.state import RunState
from flashevolve.events import (
    CallReserved,
    CallSettled,
    DrainStarted,
    GapChecked,
    PoolChanged,
    Record,
    StageEnded,
)
from flashevolve.llm.messages import Message
from flashevolve.prepare import Prepared
from flashevolve.simulate.ceiling import RecordedCall
from flashevolve.simulate.charged import ChargedLoop
from flashevolve.simulate.loop import run_virtual
from flashevolve.simulate.prefix import prefix_blocks, text_of
from flashevolve.store.writer import StoreWriter

READ_AT_ONCE = 500
"""Events that wait to be looked at: enough to make the reading of clocks cheap."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """What happened between two times of a run."""

    seconds: float
    calls: int
    tokens_out: int
    proposals: int
    sweeps: int
    busy_s: float
    """CPU that was charged."""
    in_flight: float
    """Requests in flight, on average."""

    @property
    def utilisation(self) -> float:
        """The share of the time for which the process computed: 1 = its limit."""
        return self.busy_s / self.seconds

    @property
    def calls_per_s(self) -> float:
        """Requests answered per second."""
        return self.calls / self.seconds


class Watch:
    """Adds up a run's events as they come; sees the state as it is at that moment."""

    def __init__(self, state: RunState, loop: ChargedLoop) -> None:
        self.bests: list[Best] = []
        self.gaps: Counter[int] = Counter()
        """Gap -> how often it was found."""
        self.counts: dict[str, array[float]] = {}
        """What was counted, such as proposed -> when."""
        self.end_s: float | None = None
        """The deadline; None before it."""
        self._state = state
        self._loop = loop
        self._settled_s, self._latency_s = array("d"), array("d")
        self._tokens_out = array("q")
        self._sent: dict[int, tuple[int, Sequence[int]]] = {}
        """Requests under way: the longest answer that they allow, and the prompt's blocks."""
        self._served: dict[int, RecordedCall] = {}
        self._unread: list[Record] = []
        self._ticks = [(0.0, 0.0)]
        """(seconds of the run, seconds charged by then)."""

    def __call__(self, record: Record) -> None:
        """Takes part as an observer; its own work is free, and done for many records at once."""
        self._unread.append(record)
        # What is the best now must be asked now.
        if len(self._unread) >= READ_AT_ONCE or isinstance(record.event, PoolChanged):
            self.read()

    def read(self) -> None:
        """Takes note of all that came; call it before anything is asked, within the loop or not."""
        unread, self._unread = self._unread, []
        with self._loop.free:
            for record in unread:
                self._take(record)
            if unread:
                self._tick(unread[-1].t_s)

    def served(self) -> list[RecordedCall]:
        """Returns what each call answered before the deadline cost, in order of reservation."""
        return [self._served[call] for call in sorted(self._served)]

    def window(self, from_s: float, to_s: float) -> Window:
        """Returns what happened between two times."""
        inside = [i for i, t_s in enumerate(self._settled_s) if from_s < t_s <= to_s]
        seconds = to_s - from_s
        # Little's law: what is under way is what ends per second times how long it took.
        return Window(
            seconds=seconds,
            calls=len(inside),
            tokens_out=sum(self._tokens_out[i] for i in inside),
            proposals=self._counted("proposed", from_s, to_s),
            sweeps=self._counted("swept", from_s, to_s),
            busy_s=self._charged_s(to_s) - self._charged_s(from_s),
            in_flight=sum(self._latency_s[i] for i in inside) / seconds,
        )

    def _counted(self, name: str, from_s: float, to_s: float) -> int:
        return sum(from_s < t_s <= to_s for t_s in self.counts.get(name, ()))

    def _tick(self, t_s: float) -> None:
        self._ticks.append((t_s, self._loop.charged_s()))

    def _charged_s(self, at_s: float) -> float:
        """Returns the seconds charged by then, between two readings in proportion."""
        after = bisect_left(self._ticks, (at_s, 0.0))
        if after == len(self._ticks):
            return self._ticks[-1][1]
        (t0_s, c0_s), (t1_s, c1_s) = self._ticks[max(0, after - 1)], self._ticks[after]
        return c0_s + (c1_s - c0_s) * ((at_s - t0_s) / (t1_s - t0_s) if t1_s > t0_s else 1.0)

    def _take(self, record: Record) -> None:
        match record.event:
            case CallReserved() as event if self.end_s is None:
                messages = [Message(**message) for message in event.request["messages"]]
                blocks = array("Q", prefix_blocks(text_of(messages)))
                self._sent[event.call] = (event.request["max_output_tokens"], blocks)
            case CallSettled() as event if self.end_s is None:
                self._settle(event, record.t_s)
            case GapChecked(gap=gap):
                self.gaps[gap] += 1
            case StageEnded(counts=str(name)):
                self.counts.setdefault(name, array("d")).append(record.t_s)
            case PoolChanged():
                self._compare(record.t_s)
            case DrainStarted(reason="deadline"):
                self.end_s = record.t_s
            case _:
                pass

    def _settle(self, event: CallSettled, t_s: float) -> None:
        most_tokens, blocks = self._sent.pop(event.call)
        if event.status not in SERVED:
            return
        self._settled_s.append(t_s)
        self._latency_s.append(event.latency_s)
        self._tokens_out.append(event.usage.tokens_out)
        self._served[event.call] = RecordedCall(
            input_tokens=event.usage.tokens_in,
            output_tokens=event.usage.tokens_out,
            prefix_blocks=blocks,
            max_output_tokens=most_tokens,
            latency_s=event.latency_s,
        )

    def _compare(self, t_s: float) -> None:
        best = self._state.pool.best()
        if best is not None and (not self.bests or best.artifact != self.bests[-1].artifact):
            self.bests.append(Best(t_s=t_s, artifact=best.artifact, val=best.mean))


@dataclass(frozen=True, kw_only=True)
class Charged:
    """A charged run, over."""

    watch: Watch
    state: RunState
    end_s: float
    """The deadline, or the last event's time if the run ended before."""


def run_charged(prepared: Prepared, per_call_s: float) -> Charged:
    """Runs what was prepared, with its store in a directory that is removed afterwards."""
    payload = TypeAdapter(prepared.workflow.payload)
    state = RunState(prepared.workflow.new_pool(), prepared.limits, payload.validate_python)
    encode = partial(payload.dump_python, mode="json")
    loop = ChargedLoop(per_call_s=per_call_s)
    watch = Watch(state, loop)
    with tempfile.TemporaryDirectory() as directory:
        writer = StoreWriter.create(Path(directory) / "run", "inline")
        try:
            session = Session(prepared.plan(prepared.start, {}), writer, state, encode, writer)
            session.observe(watch)
            run_virtual(session.run(), loop)
        finally:
            writer.close()
    watch.read()
    return Charged(
        watch=watch, state=state, end_s=state.t_s if watch.end_s is None else watch.end_s
    )
