import json
from pathlib import Path
from typing import Any

import pytest

from flashevolve.cli.main import invoke

Capture = pytest.CaptureFixture[str]


def printed(capsys: Capture, *arguments: str) -> list[dict[str, Any]]:
    assert invoke(["events", *arguments]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_all_events_come_in_order_without_holes(finished: Path, capsys: Capture) -> None:
    events = printed(capsys, str(finished))
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["kind"] == "run_started"
    assert events[-1]["kind"] == "run_ended"


def test_kinds_tickets_and_a_start_can_be_chosen(finished: Path, capsys: Capture) -> None:
    ends = printed(capsys, str(finished), "--kind", "item_ended", "--kind", "pool_changed")
    assert {event["kind"] for event in ends} == {"item_ended", "pool_changed"}
    first = printed(capsys, str(finished), "--ticket", "1")
    assert {event["ticket"] for event in first} == {1}
    assert printed(capsys, str(finished), "--after", str(ends[-1]["seq"]))[0]["seq"] > 1


def test_following_a_run_that_has_ended_ends(finished: Path, capsys: Capture) -> None:
    assert printed(capsys, str(finished), "--follow") == printed(capsys, str(finished))


def test_an_unknown_kind_names_the_nearest(finished: Path, capsys: Capture) -> None:
    assert invoke(["events", str(finished), "--kind", "item_end"]) == 2
    assert "Did you mean 'item_ended'?" in capsys.readouterr().err
