"""Parts of a text as the further kinds count them: words, sentences and lines.

They need no library: a sentence is told by its final marks, so that data of these kinds alone can
be scored with what is always installed. Nothing here returns an empty part.
"""

import re

_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_BREAK = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"'”’)\]*]))\s+")
_NUMBERED = re.compile(r"^(\s*)\d+\. ", re.MULTILINE)


def words(text: str) -> list[str]:
    """Returns the words; an apostrophe or a hyphen within one belongs to it."""
    return _WORD.findall(text)


def sentences(text: str) -> list[str]:
    """Returns the sentences: each ends in a mark before a space, or where its line block ends.

    An empty line ends a sentence as well, and the number of a list's item is none.
    """
    blocks = re.split(r"\n\s*\n", _NUMBERED.sub(r"\1", text))
    return [one for block in blocks for one in _BREAK.split(block.strip()) if words(one)]


def lines(text: str) -> list[str]:
    """Returns the lines that are not blank."""
    return [line for line in text.splitlines() if line.strip()]


def occurrences(text: str, phrase: str) -> list[int]:
    """Returns where a word or phrase begins, in any case, standing as a whole word."""
    pattern = rf"(?<!\w){re.escape(phrase)}(?!\w)"
    return [match.start() for match in re.finditer(pattern, text, flags=re.IGNORECASE)]


def end_mark(sentence: str) -> str:
    """Returns the mark that a sentence ends in, behind quotation marks; "" if it has none."""
    bare = sentence.rstrip().rstrip("\"'”’)]*")
    return bare[-1] if bare and bare[-1] in ".!?" else ""
