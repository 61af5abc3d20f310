"""Replies: what of a model's text is its answer.

Both functions take time in proportion to the text, whatever stands in it: models do repeat
themselves for thousands of tokens.
"""

import re
from collections.abc import Iterator

_TAG = re.compile(r"<(?P<end>/?)(?:think|thinking|thought)>", re.IGNORECASE)
_WORD = re.compile(r"\w")


def without_thinking(text: str) -> str:
    """Returns what stands outside of thinking tags, wherever they are.

    A thought without an end hides the rest, an end without a beginning hides what stands before.
    Clients of ours split off `<think>` blocks that open a reply; this is for all other thoughts.
    """
    if "<" not in text:
        return text
    kept: list[str] = []
    begin, is_thought = 0, False
    for tag in _TAG.finditer(text):
        if tag["end"]:
            kept = kept if is_thought else []
            begin, is_thought = tag.end(), False
        elif not is_thought:
            kept.append(text[begin : tag.start()])
            is_thought = True
    return " ".join(kept if is_thought else [*kept, text[begin:]])


def marked(text: str, mark: re.Pattern[str]) -> Iterator[str]:
    """Yields what follows each mark, such as "Answer:", the last one first.

    It is the rest of the line or, where that has no word, of the next line that has one, from its
    first word on. A mark without a word before the next mark is left out.
    """
    end = len(text)
    for match in reversed(list(mark.finditer(text))):
        word = _WORD.search(text, match.end(), end)
        if word is not None:
            yield text[word.start() : end].partition("\n")[0].strip()
        end = match.start()
