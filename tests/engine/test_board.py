from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from flashevolve.engine.board import Board, Lane


def two_lanes(capacity: int = 1, workers: int = 1) -> Board:
    return Board([Lane("a", workers, capacity), Lane("b", workers, capacity)])


def test_a_finished_item_without_room_ahead_keeps_its_slot() -> None:
    board = two_lanes()
    a, b = board.lanes["a"], board.lanes["b"]
    board.put(1, "b")
    board.put(2, "a")
    board.take(a)
    board.pass_on(2, "a", "b")
    board.put(3, "a")
    assert board.head(a) is None
    assert board.waiting("b") == [1, 2]
    assert board.take(b) == 1
    board.unblock()
    assert board.head(a) == 3
    assert list(b.forward) == [2]


def test_what_comes_back_is_served_before_what_goes_forward_and_needs_no_room() -> None:
    board = two_lanes()
    lane = board.lanes["a"]
    board.put(1, "a")
    board.put(2, "b")
    board.take(board.lanes["b"])
    board.pass_on(2, "b", "a", back=True)
    assert not board.has_room("a")
    assert [board.head(lane), board.take(lane)] == [2, 2]


def test_a_blocked_item_can_be_dropped_and_frees_its_slot() -> None:
    board = two_lanes()
    board.put(1, "b")
    board.put(2, "a")
    board.take(board.lanes["a"])
    board.pass_on(2, "a", "b")
    board.drop_waiting(2, "b")
    assert board.lanes["a"].has_slot
    assert board.waiting("b") == [1]


def test_lanes_are_filled_from_the_last_to_the_first() -> None:
    assert [lane.name for lane in two_lanes().backwards()] == ["b", "a"]


NAMES = ("a", "b", "c")


class AnyTraffic(RuleBasedStateMachine):
    """Random traffic over three lanes, with a declared way back from each to each before it."""

    @initialize(workers=st.integers(1, 3), capacity=st.integers(1, 2), credits=st.integers(1, 8))
    def begin(self, workers: int, capacity: int, credits: int) -> None:
        self.board = Board([Lane(name, workers, capacity) for name in NAMES])
        self.capacity = capacity
        self.credits = credits
        self.live: set[int] = set()
        self.n = 0

    def running(self) -> list[tuple[int, str]]:
        return sorted((t, lane.name) for lane in self.board.lanes.values() for t in lane.running)

    def settle(self) -> None:
        """What the engine does after each change: unblock and take until nothing moves."""
        self.board.unblock()
        for lane in self.board.backwards():
            while self.board.head(lane) is not None:
                self.board.take(lane)
                self.board.unblock()

    @rule(enter=st.sampled_from(NAMES))
    def start(self, enter: str) -> None:
        if len(self.live) < self.credits and self.board.has_room(enter):
            self.n += 1
            self.live.add(self.n)
            self.board.put(self.n, enter)

    @rule()
    def pump(self) -> None:
        self.settle()

    @precondition(lambda self: self.running())
    @rule(data=st.data())
    def finish_one(self, data: st.DataObject) -> None:
        ticket, name = data.draw(st.sampled_from(self.running()))
        to = data.draw(st.sampled_from([*NAMES, None]))
        if to is None:
            self.board.leave(ticket, name)
            self.live.remove(ticket)
        else:
            back = NAMES.index(to) <= NAMES.index(name)
            self.board.pass_on(ticket, name, to, back=back)

    @precondition(lambda self: any(self.board.waiting(name) for name in NAMES))
    @rule(data=st.data())
    def drop_one_that_waits(self, data: st.DataObject) -> None:
        pairs = [(t, name) for name in NAMES for t in self.board.waiting(name)]
        ticket, name = data.draw(st.sampled_from(pairs))
        self.board.drop_waiting(ticket, name)
        self.live.remove(ticket)

    @invariant()
    def every_item_is_in_exactly_one_place(self) -> None:
        places: list[int] = []
        for lane in self.board.lanes.values():
            places += [*lane.forward, *lane.back, *lane.running, *(t for t, _ in lane.blocked)]
        assert sorted(places) == sorted(self.live)

    @invariant()
    def no_lane_exceeds_its_slots_or_its_room(self) -> None:
        for lane in self.board.lanes.values():
            assert len(lane.running) + len(lane.blocked) <= lane.workers
            assert len(lane.forward) <= self.capacity

    @invariant()
    def whatever_waits_there_is_something_that_can_run(self) -> None:
        self.settle()
        assert bool(self.running()) == bool(self.live)


TestAnyTraffic = AnyTraffic.TestCase
TestAnyTraffic.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
