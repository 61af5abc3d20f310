"""Board: which item is where. Queues, worker slots and blocked items; pure bookkeeping.

Invariants: an item is in exactly one place; a stage's running and blocked items hold its worker
slots and never exceed them; a forward queue never exceeds its capacity. A back edge has a queue of
its own, without bound (credits bound it), and is served first, so a declared cycle cannot deadlock.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass
class Lane:
    """The queues and slots of one stage."""

    name: str
    workers: int
    capacity: int
    forward: deque[int] = field(default_factory=deque)
    back: deque[int] = field(default_factory=deque)
    running: set[int] = field(default_factory=set)
    blocked: deque[tuple[int, str]] = field(default_factory=deque)
    """Items that are done here and wait for room in the named stage; each holds its slot."""

    @property
    def n_queued(self) -> int:
        """Items that wait for a worker."""
        return len(self.forward) + len(self.back)

    @property
    def has_slot(self) -> bool:
        """True if a worker is free."""
        return len(self.running) + len(self.blocked) < self.workers

    @property
    def has_room(self) -> bool:
        """True if the forward queue takes one more."""
        return len(self.forward) < self.capacity


class Board:
    """All lanes of a workflow, in its order."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self.lanes = {lane.name: lane for lane in lanes}

    def backwards(self) -> Iterator[Lane]:
        """Yields the lanes from the last stage to the first: later work goes first."""
        return iter(list(self.lanes.values())[::-1])

    def has_room(self, stage: str) -> bool:
        """Says whether a new item may enter the stage's queue."""
        return self.lanes[stage].has_room

    def put(self, ticket: int, stage: str, *, back: bool = False) -> None:
        """Queues an item; over a back edge, or on resume, room is not asked for."""
        lane = self.lanes[stage]
        (lane.back if back else lane.forward).append(ticket)

    def head(self, lane: Lane) -> int | None:
        """Returns the item that the lane's free worker takes next, or None."""
        if not lane.has_slot:
            return None
        queue = lane.back or lane.forward
        return queue[0] if queue else None

    def take(self, lane: Lane) -> int:
        """Gives the lane's head a worker."""
        ticket = (lane.back or lane.forward).popleft()
        lane.running.add(ticket)
        return ticket

    def leave(self, ticket: int, stage: str) -> None:
        """Removes an item that has ended, from wherever in the stage it is."""
        lane = self.lanes[stage]
        lane.running.discard(ticket)
        for queue in (lane.forward, lane.back):
            if ticket in queue:
                queue.remove(ticket)

    def pass_on(self, ticket: int, stage: str, to: str, *, back: bool = False) -> None:
        """Moves a finished item on; without room ahead it keeps its slot until there is some."""
        lane = self.lanes[stage]
        lane.running.remove(ticket)
        if back or self.lanes[to].has_room:
            self.put(ticket, to, back=back)
        else:
            lane.blocked.append((ticket, to))

    def unblock(self) -> None:
        """Moves blocked items into the room that there is now, later stages first."""
        for lane in self.backwards():
            while lane.blocked and self.lanes[lane.blocked[0][1]].has_room:
                ticket, to = lane.blocked.popleft()
                self.put(ticket, to)

    def waiting(self, stage: str) -> list[int]:
        """Returns the items queued for the stage, or blocked on their way to it."""
        lane = self.lanes[stage]
        blocked = [t for other in self.lanes.values() for t, to in other.blocked if to == stage]
        return [*lane.back, *lane.forward, *blocked]

    def drop_waiting(self, ticket: int, stage: str) -> None:
        """Removes an item that is queued for the stage or blocked on its way to it."""
        self.leave(ticket, stage)
        for lane in self.lanes.values():
            lane.blocked = deque(entry for entry in lane.blocked if entry[0] != ticket)
