"""Text: how answers are taken apart into words, sentences, paragraphs and lines.

All checkers count with these helpers, so that a word is the same thing in every rule and in every
feedback sentence. An answer is normalized once, before any checker sees it: its line ends are
"\\n". Sentences come from a library that the core does without; it is imported when first needed.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from flashevolve.errors import ConfigError

_WORD = re.compile(r"\w+(?:[-'’]\w+)*")
_WORD_RUN = re.compile(r"\w+")


def normalized(answer: str) -> str:
    """Returns the answer with "\\n" for all line ends."""
    return answer.replace("\r\n", "\n").replace("\r", "\n")


def words(text: str) -> list[str]:
    """Returns the words; "don't" and "well-known" are one each, a number is a word."""
    return _WORD.findall(text)


def word_runs(text: str) -> list[str]:
    """Returns the runs of letters, digits and underscores: what IFEval calls words.

    "don't" is two.
    """
    return _WORD_RUN.findall(text)


def lines(text: str) -> list[str]:
    """Returns the lines between the first and the last that are not blank; "" has none."""
    return text.strip("\n").split("\n") if text.strip() else []


def filled_lines(text: str) -> list[str]:
    """Returns the lines that are not blank."""
    return [line for line in text.split("\n") if line.strip()]


def paragraphs(text: str) -> list[str]:
    """Returns the parts between blank lines, stripped; none is empty."""
    parts = re.split(r"\n\s*\n", text)
    return [part.strip() for part in parts if part.strip()]


def occurrences(text: str, phrase: str) -> int:
    """Returns how often a word or phrase occurs, as whole words, in any case."""
    return len(re.findall(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, flags=re.IGNORECASE))


def sentences(text: str) -> list[str]:
    """Returns the sentences, stripped, none without a letter or digit."""
    found = (sentence.strip() for sentence in _segment(text))
    return [sentence for sentence in found if _WORD_RUN.search(sentence)]


def quoted(items: Iterable[str]) -> str:
    """Returns `"a", "b" and "c"`, as feedback names things."""
    marked = [f'"{item}"' for item in items]
    return " and ".join(filter(None, [", ".join(marked[:-1]), *marked[-1:]]))


def missing(package: str, purpose: str) -> ConfigError:
    """Returns the line for a package that is not installed."""
    return ConfigError(
        f"instructions: expected the package {package}, which {purpose}, found it not installed. "
        f"Get it with: pip install 'flashevolve[instructions]'"
    )


def _segment(text: str) -> list[str]:
    return list(_segmenter()("en", text))


@cache
def _segmenter() -> Any:
    try:
        from sentencex import segment
    except ImportError:
        raise missing("sentencex", "finds sentences") from None
    return segment
