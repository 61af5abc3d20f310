import json
import random

import pytest

from flashevolve.llm.messages import user
from flashevolve.replies.fences import fenced_text
from flashevolve.simulate.forms import wrap
from flashevolve.simulate.prompt import take_apart


def reply(prompt: str, text: str = "New.", shown: tuple[str, ...] = ()) -> str:
    return wrap(text, "Because.", take_apart([user(prompt)]), shown, random.Random(1))


@pytest.mark.parametrize("form", ["Put it within ``` blocks.", "Use a fenced block.", "In ~~~."])
def test_a_fenced_block_is_given_where_one_is_asked_for(form: str) -> None:
    assert reply(f"Rewrite it. {form}") == "Because.\n\n```\nNew.\n```"


def test_a_text_with_fences_is_kept_whole() -> None:
    text = "Say:\n```\na\n```\nand more."
    assert fenced_text(reply("Give a fenced block.", text)) == text


def test_a_json_object_takes_the_text_and_the_reason() -> None:
    asked = 'Answer with one JSON object:\n{"reason": "...", "prompt": "..."}'
    assert json.loads(reply(asked)) == {"reason": "Because.", "prompt": "New."}


def test_a_skeleton_in_a_fence_names_the_keys() -> None:
    asked = 'Return JSON like this:\n```json\n{"prompt": "..."}\n```'
    assert json.loads(reply(asked)) == {"prompt": "New."}


def test_where_no_form_is_asked_for_the_text_stands_alone() -> None:
    assert reply("Rewrite it. Say nothing but the new text.") == "New."


def test_what_the_prompt_is_about_names_no_form() -> None:
    old = 'Answer with a JSON object: {"a": 1}.'
    assert reply(f"Rewrite this.\n{old}\nUse a fenced block.", shown=(old,)).startswith("Because.")
    feedback = '# Example 1\n## Input\nA\n## Output\nB\n## Feedback\nAnswer in JSON, key "x": 1.\n'
    assert reply(f"Rewrite it in a fenced block.\n{feedback}").startswith("Because.")
