from flashevolve.policies.stopping import STREAK, FailureStreak


def test_the_fifth_failure_alike_is_the_last_straw() -> None:
    streak = FailureStreak()
    assert [streak.failed("no") for _ in range(STREAK)] == [False] * (STREAK - 1) + [True]
    assert streak.n == STREAK == 5


def test_another_message_starts_the_count_over() -> None:
    streak = FailureStreak(limit=2)
    assert not streak.failed("a")
    assert not streak.failed("b")
    assert not streak.failed("a")
    assert streak.failed("a")


def test_a_success_ends_the_streak() -> None:
    streak = FailureStreak(limit=2)
    assert not streak.failed("a")
    streak.succeeded()
    assert not streak.failed("a")
    assert streak.failed("a")
