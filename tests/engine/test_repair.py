import json
from functools import partial
from random import Random
from typing import Any

import pytest

from flashevolve import events as ev
from flashevolve.artifact import Artifact
from flashevolve.engine.history import WITHHELD, Told
from flashevolve.engine.repair import (
    correction,
    fenced,
    read_regenerated,
    read_verdict,
    regenerate_prompt,
    repair_prompt,
)
from flashevolve.llm.errors import LLMError
from flashevolve.llm.messages import Request
from flashevolve.policies.staleness import N_PAST, History, Policy, Update
from flashevolve.replies.errors import ReplyError
from tests.engine.test_resume import check_everything, cut, state_that_matters
from tests.fakes.audit import Audit
from tests.fakes.runs import Bench, echo
from tests.fakes.workflows import HeadWorkflow, Reduction, SolveEvolve

STALE, CURRENT = Artifact({"a": "old {{updates}}"}), Artifact({"a": "new"})


def test_a_text_that_holds_a_fence_stays_inside_a_longer_one() -> None:
    assert fenced(Artifact({"a": "x\n```\ny\n```"})) == "### a\n````\nx\n```\ny\n```\n````"


def test_the_question_shows_both_texts_and_the_updates_with_what_was_cut() -> None:
    updates = [Update(version=3, scopes=("a",), text="better")]
    asked = repair_prompt(None, STALE, CURRENT, Told(updates, n_cut=2, n_missed=3))
    assert "## Stale text\n### a\n```\nold {{updates}}\n```" in asked
    assert "## Current text\n### a\n```\nnew\n```" in asked
    assert "(2 older updates are not shown.)\n\nVersion 3: better" in asked
    assert '{"verdict": "accept" | "patch" | "discard"' in asked


def test_a_users_template_replaces_the_packages() -> None:
    asked = repair_prompt(
        "{{stale}} or {{current}}? {{updates}}!", STALE, CURRENT, Told(n_missed=1)
    )
    assert asked == "### a\n```\nold {{updates}}\n``` or ### a\n```\nnew\n```? !"


def test_what_missed_no_update_is_not_called_stale() -> None:
    asked = repair_prompt(None, STALE, CURRENT, Told([Update(3, ("a",), "better")]))
    assert "stale" not in asked.replace(str(STALE["a"]), "").lower()
    assert "## Proposed text\n### a\n```\nold" in asked
    assert "## Latest updates\nVersion 3: better" in asked


def test_without_history_the_question_is_the_same_but_for_the_updates() -> None:
    updates = [Update(3, ("a",), "better")]
    full = repair_prompt(None, STALE, CURRENT, Told(updates, n_missed=1))
    none = repair_prompt(None, STALE, CURRENT, Told(n_missed=1, withheld=True))
    assert none == full.replace("Version 3: better", WITHHELD)


# -- regenerate --------------------------------------------------------------------------------


def test_the_stale_text_is_withheld_and_all_else_is_shown() -> None:
    told = Told([Update(3, ("a",), "better")], n_cut=2, n_missed=3)
    asked = regenerate_prompt(CURRENT, told)
    judged = repair_prompt(None, STALE, CURRENT, told)
    for shown in ("## Current text\n### a\n```\nnew\n```", f"## Updates since\n{told.text}"):
        assert shown in asked
        assert shown in judged
    assert "old" not in asked.replace("older", "")
    assert "stale" not in asked.lower()
    assert '"components"' in asked


def test_whatever_is_written_anew_is_a_patch() -> None:
    text = json.dumps({"verdict": "discard", "reason": "so", "components": {"a": "newest"}})
    assert read_regenerated(text, CURRENT) == ("patch", "so", Artifact({"a": "newest"}))
    assert read_verdict(text, CURRENT) == ("discard", "so", None)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"verdict": "accept"}, "a patch needs 'components'"),
        ({"components": {"b": "x"}}, r"unknown component 'b'; expected one of \['a'\]"),
        ({"components": {"a": " "}}, "component 'a' is not a text"),
    ],
)
def test_what_is_no_text_of_a_component_is_refused(answer: Any, message: str) -> None:
    with pytest.raises(ReplyError, match=message):
        read_regenerated(json.dumps(answer), CURRENT)


def test_the_correction_asks_for_what_was_asked_for() -> None:
    assert "verdict" not in correction("no JSON", withheld=True)
    assert '"verdict"' in correction("no JSON")
    assert "(no JSON)" in correction("no JSON", withheld=True)


# -- controls in a run -------------------------------------------------------------------------

CROWD: dict[str, Any] = {"in_flight": 24, "workers": 24, "concurrency": 24, "n_val": 5}


def crowd(policy: Policy, **changes: Any) -> Bench:
    return Bench(partial(Reduction, n=40), **{**CROWD, "policy": policy, **changes})


def questions(bench: Bench) -> list[str]:
    """Returns what the repairing model was asked, first attempts only."""
    return [
        str(e.request["messages"][0]["content"])
        for e in bench.store.events(ev.CallReserved)
        if e.stage == "repair" and e.name == ""
    ]


def check(bench: Bench, n_records: int = 0, gate: str = "check") -> None:
    names = [stage.name for stage in bench.fresh_workflow().stages]
    book = Audit(bench, names, gate)
    book.writes = False
    check_everything(bench, book, n_records)
    book.finished(resumable=False)


def test_regenerate_asks_at_the_same_point_and_writes_one_patch_per_item() -> None:
    logs = {}
    for policy in ("reflective", "regenerate"):
        bench = crowd(policy)
        bench.run()
        check(bench)
        kinds = [
            (r.t_s, r.event.kind, getattr(r.event, "ticket", None)) for r in bench.store.records
        ]
        first = next(
            i
            for i, r in enumerate(bench.store.records)
            if isinstance(r.event, ev.CallReserved) and r.event.stage == "repair"
        )
        logs[policy] = kinds[: first + 1]
    assert logs["reflective"] == logs["regenerate"]
    repaired = bench.store.events(ev.ItemRepaired)
    assert repaired
    assert {e.verdict for e in repaired} == {"patch"}
    assert len(questions(bench)) == len(repaired)
    stages = [(e.ticket, e.stage) for e in bench.store.events(ev.StageTaken)]
    for event in repaired:
        own = [stage for ticket, stage in stages if ticket == event.ticket]
        assert own[own.index("repair") + 1] == "check"


def never_readable(request: Request, rng: Random) -> str | LLMError:
    return "I would rather not." if "JSON" in str(request.messages) else echo(request, rng)


def test_a_text_that_cannot_be_read_twice_is_discarded_under_regenerate_too() -> None:
    bench = crowd("regenerate", answer=never_readable, in_flight=6)
    bench.run()
    check(bench)
    repaired = bench.store.events(ev.ItemRepaired)
    assert repaired
    assert {e.verdict for e in repaired} == {"discard"}
    calls = [e for e in bench.store.events(ev.CallReserved) if e.stage == "repair"]
    assert len(calls) == 2 * len(repaired)


def test_withheld_and_shuffled_updates_are_counted_as_they_were_shown() -> None:
    none, shuffled, full = (crowd("reflective", history=h) for h in HISTORIES)
    for bench in (none, shuffled, full):
        bench.run()
        check(bench)
    assert {e.n_updates_shown for e in none.store.events(ev.ItemRepaired)} == {0}
    assert all(WITHHELD in asked for asked in questions(none))
    assert not any(WITHHELD in asked for asked in questions(shuffled) + questions(full))
    assert questions(shuffled) != questions(full)


HISTORIES: tuple[History, ...] = ("none", "shuffled", "full")


@pytest.mark.parametrize("policy", ["reflective", "regenerate"])
def test_always_asks_about_every_item_that_passed_the_gate_under_sync_too(policy: Policy) -> None:
    bench = Bench(Reduction, policy=policy, when="always", in_flight=1, workers=1, n_val=5)
    bench.run()
    check(bench)
    checked = bench.store.events(ev.GapChecked)
    first = {e.ticket: e for e in reversed(checked)}.values()
    assert {(e.gap, e.verdict) for e in first} == {(0, "repair")}
    assert {e.ticket for e in bench.store.events(ev.ItemRepaired)} == {e.ticket for e in first}


@pytest.mark.parametrize("workflow", [Reduction, SolveEvolve])
@pytest.mark.parametrize("history", HISTORIES)
def test_a_control_that_is_killed_anywhere_ends_the_same_one_step_at_a_time(
    workflow: type[HeadWorkflow], history: History
) -> None:
    def new() -> Bench:
        return Bench(
            lambda setup: workflow(setup, 6),
            policy="reflective",
            when="always",
            history=history,
            in_flight=1,
            n_val=3,
        )

    whole = new()
    expected = state_that_matters(whole.run())
    assert questions(whole)
    for n_records in whole.store.boundaries[::3]:
        bench = new()
        bench.store = cut(whole, n_records)
        assert state_that_matters(bench.run()) == expected
        graph = bench.fresh_workflow()
        check(bench, n_records, graph.gate or [stage.name for stage in graph.stages][-1])


def test_past_updates_are_remembered_for_controls_alone_and_only_so_many() -> None:
    plain, control = crowd("reflective"), crowd("reflective", history="shuffled")
    versions = [u.version for u in control.run().updates]
    assert versions == sorted(versions)[-N_PAST:]
    assert len(versions) > len(plain.run().updates)


class Baseless(Reduction):
    """Names no base, as a workflow does that knows no repair."""

    def repair_base(self, item: Any, pool: Any) -> None:
        return None


def test_what_has_no_base_goes_on_unless_it_is_stale() -> None:
    bench = Bench(Baseless, policy="reflective", when="always", in_flight=10, workers=10)
    bench.run()
    gaps = {e.ticket: e.gap for e in bench.store.events(ev.GapChecked) if e.verdict == "repair"}
    for event in bench.store.events(ev.ItemRepaired):
        assert event.verdict == ("discard" if gaps[event.ticket] else "accept")
    assert set(gaps.values()) > {0}
    assert questions(bench) == []
