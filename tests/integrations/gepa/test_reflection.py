"""A reflective dataset survives its payload, and is asked about as gepa asks."""

import json
from typing import Any

import pytest
from gepa.image import Image
from gepa.strategies.instruction_proposal import InstructionProposalSignature
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.errors import ConfigError
from flashevolve.integrations.gepa.reflection import (
    check_template,
    from_json,
    question,
    to_json,
)


class Thing:
    def __str__(self) -> str:
        return "a thing"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(Thing()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def asked(records: list[Any], template: str | None = None) -> Any:
    return InstructionProposalSignature.prompt_renderer(
        {
            "current_instruction_doc": "now",
            "dataset_with_feedback": records,
            "prompt_template": template,
        }
    )


@given(st.lists(st.dictionaries(st.text(), values, max_size=3), min_size=1, max_size=3))
def test_a_question_from_a_payload_is_the_question_that_gepa_asks(records: list[Any]) -> None:
    stored = json.loads(json.dumps(to_json({"p": records}), allow_nan=False))
    assert question(None, "p", "now", from_json(stored)["p"]) == asked(records)


def test_images_survive_and_are_shown() -> None:
    picture = Image(base64_data="AAAA", media_type="image/png")
    records = [{"Shown": picture, "More": [picture]}]
    stored = json.loads(json.dumps(to_json({"p": records})))
    restored = from_json(stored)["p"]
    assert restored == records
    found = question(None, "p", "now", restored)
    assert found == asked(records)
    assert found[0]["content"][1]["image_url"]["url"] == "data:image/png;base64,AAAA"


def test_a_template_may_be_one_for_all_or_one_for_each() -> None:
    own = "<curr_param> and <side_info>"
    records = [{"Feedback": "more"}]
    assert question(own, "p", "now", records) == asked(records, own)
    assert question({"p": own}, "p", "now", records) == asked(records, own)
    assert question({"p": own}, "q", "now", records) == asked(records)


def test_a_template_that_would_show_nothing_is_refused() -> None:
    check_template("<curr_param> and <side_info>", ["p"])
    with pytest.raises(ConfigError, match=r"hold.* found none of <side_info>. Add it"):
        check_template("<curr_param>", ["p"])
    with pytest.raises(ConfigError, match=r"reflection_prompt_template\['q'\]: expected a compone"):
        check_template({"q": "<curr_param> <side_info>"}, ["p"])
