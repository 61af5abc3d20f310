from dataclasses import replace
from typing import Any

from flashevolve.artifact import Artifact
from flashevolve.bench.ahead import ahead, lost_tokens
from flashevolve.events import PoolChanged, StageTaken
from flashevolve.pools.pareto import confirm, insert, retract
from tests.bench.made import a_trace, admit, call, end, select, settle


def sweep(ticket: int) -> StageTaken:
    return StageTaken(ticket=ticket, stage="evaluate", visit=1)


def change(ticket: int, op: Any, step: Any, missed: int | None = None) -> PoolChanged:
    made = admit(ticket, "0.5", 0.0, ())
    assert isinstance(made, PoolChanged)
    return replace(made, ops=[op], speculation=step, missed=missed)


def believed(ticket: int, score: float) -> PoolChanged:
    artifact = Artifact({"system": f"0.{ticket}"})
    op = insert(artifact, parents=(0,), scores={"v": score}, ticket=ticket, reference=0)
    return change(ticket, op, "inserted")


def a_run() -> list[tuple[float, Any]]:
    """The seed; 2 is believed after 10 s and kept; 3 after 20 s and retracted, with a child 4."""
    return [
        (0.0, select(1)), (0.0, sweep(1)), (50.0, admit(1, "0.1", 0.4, ())),
        (50.0, end(1, "committed")),
        (100.0, select(2, (0,))), (100.0, sweep(2)), (110.0, believed(2, 0.9)),
        (100.0, select(3, (0,))), (100.0, sweep(3)), (120.0, believed(3, 0.9)),
        (125.0, select(4, (2,))), (125.0, call(1, 4)), (126.0, settle(1, 4, 30, 1.0)),
        (130.0, call(2, 3)), (131.0, settle(2, 3, 70, 1.0)),
        (150.0, change(2, confirm(1, {"v": 0.8}), "confirmed")), (150.0, end(2, "committed")),
        (150.0, change(3, retract(2), "retracted", missed=2)), (150.0, end(3, "rejected")),
    ]  # fmt: skip


def test_a_parent_is_there_when_it_may_be_selected() -> None:
    found = ahead(a_trace(a_run()))
    assert found["available_s"] == (50 + 10 + 20) / 3
    assert found["foretold"] == 2


def test_without_speculation_nothing_is_foretold() -> None:
    found = ahead(a_trace(a_run()[:4]))
    assert (found["foretold"], found["precision"], found["recall"]) == (0, None, None)


def test_precision_and_recall_compare_with_the_best_when_the_sweep_began() -> None:
    plain = [(200.0, select(5, (0,))), (200.0, sweep(5)), (260.0, admit(5, "0.7", 0.95, (0,)))]
    found = ahead(a_trace([*a_run(), *plain]))
    # Two were believed, one of them kept its promise; of two that succeeded one was believed.
    assert found["precision"] == 0.5
    assert found["recall"] == 0.5


def test_what_was_built_on_a_retracted_candidate_is_lost() -> None:
    found = lost_tokens(a_trace(a_run()))
    assert found == {"lost_token_share": 0.3, "missed_token_share": 0.3}
