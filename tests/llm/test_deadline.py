from hypothesis import given
from hypothesis import strategies as st

from flashevolve.llm.deadline import FLOOR_S, MIN_SEEN, TailDeadline


def seen(latencies_s: list[float], cap_s: float = 600.0) -> TailDeadline:
    deadline = TailDeadline(cap_s)
    for latency_s in latencies_s:
        deadline.observe(latency_s)
    return deadline


def test_the_cap_holds_until_enough_answers_were_seen() -> None:
    assert seen([1.0] * (MIN_SEEN - 1)).seconds == 600.0
    assert seen([1.0] * MIN_SEEN).seconds == FLOOR_S


def test_the_deadline_follows_the_tail_and_not_the_mean() -> None:
    assert seen([1.0] * 95 + [30.0] * 5).seconds == 150.0


def test_what_was_waited_for_in_vain_raises_the_deadline() -> None:
    deadline = seen([20.0] * 100)
    before_s = deadline.seconds
    for _ in range(3):
        deadline.missed(deadline.seconds)
    assert deadline.seconds > before_s


def test_a_request_that_failed_at_once_says_nothing_of_the_tail() -> None:
    deadline = seen([20.0] * 100)
    before_s = deadline.seconds
    for _ in range(300):
        deadline.missed(0.01)
    assert deadline.seconds == before_s


@given(st.lists(st.floats(0, 1e4), max_size=400), st.floats(0.1, 1e4))
def test_the_deadline_never_exceeds_the_cap(latencies_s: list[float], cap_s: float) -> None:
    assert seen(latencies_s, cap_s).seconds <= cap_s
