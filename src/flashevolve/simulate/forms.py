"""Forms: how a reply holds the text that was asked for.

Named fields, a JSON object or a fenced block, whichever the prompt asks for in its own words; the
bare text if it asks for none of them. What a prompt shows does not count: a text under discussion
may well speak of JSON or of backticks.
"""

import json
import random
import re
from collections.abc import Collection

from flashevolve.replies.fences import fence
from flashevolve.simulate.fields import ASIDES
from flashevolve.simulate.prompt import Prompt

_KEY = re.compile(r'"([A-Za-z_]\w*)"\s*:')
_WANTS_JSON = re.compile(
    r"(?i)\b(?:answer|reply|respond|return|give|output|write|produce)\b[^.\n]*\bjson\b"
)
_WANTS_FENCE = re.compile(r"(?i)`{3}|~{3}|\bfenced?\b|\bbackticks?\b|\bcode block")


def wrap(text: str, aside: str, prompt: Prompt, shown: Collection[str], rng: random.Random) -> str:
    """Returns the reply that holds `text`.

    `aside` is said where the form leaves room for it; `shown` are the texts that the prompt is
    about.
    """
    if prompt.fields is not None:
        return prompt.fields.render(text, aside, rng)
    lines = {line for one in shown for line in one.splitlines()}
    # The end of a prompt may be the end of an example, which counts for less than its own words.
    for said in (prompt.says, prompt.tail):
        own = "\n".join(line for line in said.splitlines() if line not in lines)
        if keys := _json_keys(own, prompt):
            values = {key: aside if key in ASIDES else text for key in keys}
            return json.dumps(values, ensure_ascii=False)
        if _WANTS_FENCE.search(own):
            return f"{aside}\n\n{fence(text)}"
    return text


def _json_keys(said: str, prompt: Prompt) -> tuple[str, ...]:
    """Returns the keys of the JSON object that is asked for; empty = none is."""
    asked = _WANTS_JSON.search(said)
    if not asked:
        return ()
    skeletons = [block for part in prompt.parts for _, block in part.blocks]
    shown = [one for one in skeletons if one.lstrip().startswith("{") and _KEY.search(one)]
    keys = _KEY.findall(said, asked.start()) or [k for one in shown[-1:] for k in _KEY.findall(one)]
    return tuple(dict.fromkeys(keys)) or ("text",)
