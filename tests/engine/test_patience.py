import pytest

from flashevolve.engine.item import End
from flashevolve.engine.patience import Patience
from flashevolve.errors import RunStopped
from flashevolve.llm.errors import RateLimited, Transient
from flashevolve.policies.stopping import STREAK, USELESS_STREAK

USELESS = End("skipped", "no fenced text", useless=True)


def test_failures_alike_in_one_stage_stop_the_run_whatever_their_text() -> None:
    patience = Patience(["rollout", "propose"])
    for n in range(STREAK - 1):
        assert patience.failed("propose", Transient(f"request {n}")) is None
    stopped = patience.failed("propose", Transient("request 9"))
    assert isinstance(stopped, RunStopped)
    assert str(stopped).startswith("the last 5 steps failed the same way, in stage 'propose': ")
    assert str(stopped).endswith("request 9. Mend the cause, then resume the run")


def test_a_success_in_the_same_stage_ends_a_streak_and_one_elsewhere_does_not() -> None:
    patience = Patience(["rollout", "propose"])
    for _ in range(STREAK - 1):
        patience.failed("propose", Transient("down"))
    patience.replied("rollout", None)
    assert patience.failed("propose", Transient("down")) is not None
    patience.replied("propose", None)
    assert patience.failed("propose", Transient("down")) is None


def test_failures_of_two_kinds_in_turn_stop_nothing() -> None:
    patience = Patience(["propose"])
    for _ in range(STREAK):
        assert patience.failed("propose", Transient("down")) is None
        assert patience.failed("propose", RateLimited("slow down")) is None


@pytest.mark.parametrize("n_before", [0, 3])
def test_replies_of_no_use_stop_the_run_after_a_longer_streak(n_before: int) -> None:
    patience = Patience(["propose"])
    for _ in range(n_before):
        patience.replied("propose", USELESS)
    if n_before:
        patience.replied("propose", None)
    for _ in range(USELESS_STREAK - 1):
        assert patience.replied("propose", USELESS) is None
    stopped = patience.replied("propose", USELESS)
    assert "the last 10 replies in stage 'propose' were of no use: no fenced text" in str(stopped)
