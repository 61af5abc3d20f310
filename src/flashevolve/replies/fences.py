"""Fences: the text that a model put between triple backticks.

A reply without a fenced text is an error and never the text itself: an apology or a plan must not
be mistaken for a new prompt.
"""

import re

from flashevolve.replies.errors import ReplyError

__all__ = ["ReplyError", "fence", "fenced_text"]

_FENCE = re.compile(r"`{3,}")
_LANGUAGE_TAG = re.compile(r"[ \t]*\S*[ \t]*\r?\n")


def fenced_text(reply: str) -> str:
    """Returns what stands between the first and the last fence, stripped, without language tag.

    First and last, because a text that itself holds fenced blocks is then kept whole. Raises
    `ReplyError` if there are fewer than two fences or nothing between them.
    """
    fences = list(_FENCE.finditer(reply))
    if not fences:
        raise ReplyError("expected one block between ``` fences, found no fence")
    if len(fences) == 1:
        raise ReplyError("expected one block between ``` fences, found a single fence")
    content = reply[fences[0].end() : fences[-1].start()]
    if tag := _LANGUAGE_TAG.match(content):
        content = content[tag.end() :]
    if not content.strip():
        raise ReplyError("expected a text between the ``` fences, found nothing")
    return content.strip()


def fence(text: str) -> str:
    """Returns `text` between fences longer than any run of backticks in it."""
    longest = max((len(run.group()) for run in _FENCE.finditer(text)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}\n{text}\n{ticks}"
