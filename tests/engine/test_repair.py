from flashevolve.artifact import Artifact
from flashevolve.engine.history import Told
from flashevolve.engine.repair import fenced, repair_prompt
from flashevolve.policies.staleness import Update

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
