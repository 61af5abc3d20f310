"""Controller: lets the control policy look at the board now and then, and records what it decides.

The policy is asked when something has happened in the run and `tick_s` have passed since it was
asked last; there is no timer, so that nothing keeps a finished run alive and virtual time has
nothing to wait for. Facts come from the fold and the board. A stage whose number shrinks gives up a
worker after its current item. What was decided is an event, so that a resume goes on with it.
"""

from collections import Counter
from collections.abc import Set

from flashevolve import events as ev
from flashevolve.engine.board import Board
from flashevolve.engine.graph import REPAIR
from flashevolve.engine.intake import Intake
from flashevolve.engine.log import EventLog
from flashevolve.policies.control import Control, Meter, StageFacts, adaptive, paper


class Controller:
    """Changes the lanes' workers."""

    def __init__(self, control: Control, board: Board, log: EventLog, intake: Intake) -> None:
        self._control = control
        self._board = board
        self._log = log
        self._intake = intake
        now_s = log.now_s()
        self._meter = Meter(control.window_s, now_s)
        self._due_s = now_s + control.tick_s
        self._seen = Counter(log.state.staffing.written)
        if control.mode != "fixed":
            for name, workers in log.state.staffing.workers.items():
                if name in board.lanes:
                    board.lanes[name].workers = control.bounded(workers)

    def look(self, withheld: Set[str] = frozenset()) -> bool:
        """Counts what was written since the last time and, if it is time, decides.

        Call it when free workers have been given out: what is queued then, waits, but for the
        stages in `withheld`, where a free worker waits for a reservation. Says whether anything
        changed.
        """
        if self._control.mode == "fixed":
            return False
        now_s = self._log.now_s()
        for stage, n in (self._log.state.staffing.written - self._seen).items():
            for _ in range(n):
                self._meter.wrote(stage, now_s)
        self._seen = Counter(self._log.state.staffing.written)
        if now_s < self._due_s or self._log.state.drain is not None:
            return False
        self._due_s = now_s + self._control.tick_s
        facts = self._facts(now_s, withheld)
        if self._control.mode == "paper":
            decided = paper(self._control, facts, elapsed=self._meter.elapsed(now_s))
        else:
            decided = adaptive(self._control, facts)
        for change in decided:
            self._board.lanes[change.stage].workers = change.workers
            self._log.append(
                ev.WorkersChanged(stage=change.stage, workers=change.workers, reason=change.reason)
            )
        return bool(decided)

    def _facts(self, now_s: float, withheld: Set[str]) -> list[StageFacts]:
        written = self._meter.counts(now_s)
        full = self._intake.full()
        return [
            StageFacts(
                name=name,
                workers=lane.workers,
                n_written=written[name],
                ever_wrote=self._meter.ever_wrote(name),
                n_waiting=0 if name in withheld else len(self._board.waiting(name)),
                judged=name != REPAIR,
                accounts=self._intake.asked_by(name),
                full=full & self._intake.asked_by(name),
            )
            for name, lane in self._board.lanes.items()
        ]
