"""Parts of a text as the further kinds need them beside `text`: sentences, places, final marks.

They need no library: a sentence is told by its final mark alone, so that data of these kinds can be
scored with what is always installed. An abbreviation's dot therefore ends a sentence.
"""

import re

from flashevolve.workloads.instructions.text import paragraphs, words

_BREAK = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"'”’)\]*]))\s+")
_NUMBER_OF_ITEM = re.compile(r"^([ \t]*)\d+\. ", re.MULTILINE)
_CLOSING = "\"'”’)]}*"


def sentences(text: str) -> list[str]:
    """Returns the sentences, none without a word; a blank line ends one as well.

    The number of a list's item is not a sentence.
    """
    blocks = paragraphs(_NUMBER_OF_ITEM.sub(r"\1", text))
    return [one for block in blocks for one in _BREAK.split(block) if words(one)]


def places(text: str, phrase: str) -> list[int]:
    """Returns where a word or phrase begins, in any case, standing as a whole word."""
    pattern = rf"(?<!\w){re.escape(phrase)}(?!\w)"
    return [match.start() for match in re.finditer(pattern, text, flags=re.IGNORECASE)]


def end_mark(sentence: str) -> str:
    """Returns the mark that a sentence ends in, before closing signs; "" if it has none."""
    bare = sentence.rstrip().rstrip(_CLOSING)
    return bare[-1] if bare and bare[-1] in ".!?" else ""
