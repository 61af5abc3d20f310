"""Roles: what a message wants done, judged from the message alone.

Four roles: to answer a request; to improve a text from examples with feedback (reflect); to give a
verdict on a text that was written against an older one, or to write the next version where such a
text is withheld (repair); to make one text of several (merge). A role follows from what is shown
(examples, versions, several texts) together with the family of words that asks for it, so that a
template may be worded in many ways.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from flashevolve.simulate.labels import CURRENT, TEXT
from flashevolve.simulate.prompt import Prompt, paragraphs
from flashevolve.simulate.sections import first_block

Role = Literal["answer", "reflect", "repair", "merge"]

VERDICTS = ("accept", "patch", "discard")
"""The verdicts that a repair may give; they are part of the form, as JSON keys are."""

_TEXTS = re.compile(
    r"(?i)\b(?:instructions?|prompts?|guidelines?|guidance|playbooks?|texts?|directions?|rules?|"
    r"wordings?|lessons?|reflections?|insights?|notes?|advice|versions?|component|parameter)\b"
)
_IMPROVE = re.compile(
    r"(?i)\b(?:improv\w+|rewrit\w+|revis\w+|rework\w*|refin\w+|better|new|redraft\w*|updat\w+|"
    r"propos\w+|edit\w*|strengthen\w*|sharpen\w*)\b"
)
_MERGE = re.compile(
    r"(?i)\b(?:merg(?:e|es|ed|ing)|combin\w+|consolidat\w+|unif(?:y|ies|ied)|fus(?:e|es|ed|ing)|"
    r"reconcil\w+|synthesi[sz]\w+|aggregat\w+|condens\w+|join(?:ed|ing|s)?|"
    r"(?:in)?to (?:a single|one))\b"
)
_FEEDBACK = re.compile(
    r"(?i)\b(?:feedback|critiques?|criticisms?|evaluat\w+|remarks?|comments?|assess\w+|reviews?|"
    r"judge\w*|graded?|said about|corrections?)\b"
)
_EXAMPLES = re.compile(
    r"(?i)\b(?:examples?|inputs?|cases?|samples?|tasks?|questions?|attempts?|requests?)\b"
)
_COMPONENTS = re.compile(r'"components"\s*:')
"""A part of the form, as the verdicts are."""
_SHOWS = re.compile(r"^\s*(?:`{3}|~{3}|#{1,6} |<\w+>|\**[A-Z][\w' ()-]{2,40}\**:)", re.MULTILINE)
_MEMBER = re.compile(r"(?:\b(?:[A-Z]|[ivx]+|first|second|third|one|two|three)\b|\d+)", re.I)


def infer_role(prompt: Prompt) -> Role:
    """Returns the role that a prompt implies."""
    # Most requests show nothing at all, and this is asked of every one of them.
    if prompt.fields is None and not _SHOWS.search(prompt.whole):
        return "answer"
    if asks_for_verdict(prompt.whole) or asks_for_components(prompt):
        return "repair"
    if not (_MERGE.search(prompt.whole) or _IMPROVE.search(prompt.whole)):
        return "answer"
    says = f"{prompt.says}\n{prompt.tail}"
    if not _TEXTS.search(says):
        return "answer"
    if _IMPROVE.search(says) and current_text(prompt) is not None:
        judged = _judged(prompt) or _FEEDBACK.search(says)
        if judged and (prompt.traces or _EXAMPLES.search(says)):
            return "reflect"
    if _MERGE.search(says) and not prompt.traces and len(shown_texts(prompt)) >= 2:
        return "merge"
    return "answer"


def current_text(prompt: Prompt) -> str | None:
    """Returns the text that is to be improved; None if the prompt shows none.

    It stands in the first fenced block that no example holds, in a field, or under a heading of its
    own; a heading that does not say that it is the current one counts only beside feedback.
    """
    outside = [part for part in prompt.parts if not part.in_example]
    named = [part for part in outside if part.kind in (CURRENT, TEXT)]
    texts = [first_block(named), first_block(outside)]
    texts += [part.text for part in named if part.kind == CURRENT]
    if _judged(prompt):
        texts += [part.text for part in named]
    return next((text for text in texts if text and text.strip()), None)


def shown_texts(prompt: Prompt) -> Mapping[str, str]:
    """Returns the texts that a prompt shows side by side, by heading or caption."""
    blocks = {
        f"{k} {caption}": block
        for k, (caption, block) in enumerate(b for part in prompt.parts for b in part.blocks)
        if block.strip() and not block.lstrip().startswith("{")
    }
    if len(blocks) >= 2:
        return blocks
    series: dict[str, dict[str, str]] = {}
    for part in prompt.parts:
        if part.path and part.text.strip():
            stem = _series(part.path[-1])
            if stem is not None:
                series.setdefault(stem, {})[part.path[-1]] = part.text
    texts = max(series.values(), key=len, default={})
    if len(texts) >= 2 and prompt.parts[-1].text in texts.values():
        # What follows the last text after a blank line belongs to the prompt, as with examples.
        *others, last = texts
        n_usual = max(len(paragraphs(texts[name])) for name in others)
        texts[last] = "\n\n".join(paragraphs(texts[last])[:n_usual])
    return texts


def _judged(prompt: Prompt) -> bool:
    return any(trace.feedback.strip() for trace in prompt.traces)


@lru_cache(maxsize=1_024)
def _series(heading: str) -> str | None:
    """Returns what a heading has in common with others of its series; None = of no series."""
    stem, n_marks = _MEMBER.subn("", heading.replace("_", " "))
    return " ".join(stem.lower().split()) if n_marks else None


def asks_for_verdict(text: str) -> bool:
    """Tells whether a message wants to know what is to become of a text."""
    words = set(re.findall(r"[a-z]+", text.lower()))
    return {"json", "verdict"} <= words and sum(word in words for word in VERDICTS) >= 2


def asks_for_components(prompt: Prompt) -> bool:
    """Tells whether a text is to be written anew as JSON, with no examples to learn from."""
    if not (_COMPONENTS.search(prompt.whole) and re.search(r"(?i)\bjson\b", prompt.whole)):
        return False
    return not prompt.traces and current_text(prompt) is not None
