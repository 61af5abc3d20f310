import signal

import pytest

from flashevolve.cli.signals import EXIT_CODE, Interrupts, interrupts


def test_the_first_two_ask_the_run_to_stop_and_the_third_leaves(
    capfd: pytest.CaptureFixture[str],
) -> None:
    done: list[object] = []
    asked = Interrupts(lambda: done.append("stop"), done.append)
    asked()
    assert asked.news() == ["stopping: steps under way finish, nothing new starts; "
                            "Ctrl-C again cancels them"]  # fmt: skip
    asked()
    asked()
    assert done == ["stop", "stop", EXIT_CODE]
    assert "exiting at once" in capfd.readouterr().err


def test_each_is_told_once() -> None:
    asked = Interrupts(lambda: None)
    asked()
    asked()
    assert [line.split(":")[0] for line in asked.news()] == ["stopping", "cancelling"]
    assert asked.news() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_both_signals_count_within_the_block_only(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with interrupts(lambda: None) as asked:
        signal.raise_signal(number)
        assert asked.count == 1
    assert signal.getsignal(number) is before
