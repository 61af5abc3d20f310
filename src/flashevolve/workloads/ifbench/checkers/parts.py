"""Parts: what IFBench takes for a sentence, a word and a token.

Its sentences are told by rules of their own, which are neither the Punkt algorithm that IFEval
counts with nor those of the further kinds: every ".", "?" and "!" ends one, so that "?!" ends two,
save for dots in abbreviations, numbers and addresses. Its words are what white space divides, with
ASCII punctuation left out. No library is needed.
"""

import re
import string
from functools import cache

from flashevolve.workloads.ifbench.checkers.data import EMOJI
from flashevolve.workloads.instructions.verdict import Verdict

EDGES = f"{string.punctuation} "
"""What is left out at both ends of a word or an answer."""

_OPENING = (
    r"(?:Mr|Mrs|Ms|Dr|Prof|Capt|Cpt|Lt|Wherever|"
    r"(?:He|She|It|They|Their|Our|We|But|However|That|This)\s)"
)
_MARK = re.compile(
    rf"""
      (?P<pause> \.{{2,}} )
    | (?P<closed>
          (?: (?:[A-Za-z]\.)?[A-Z]\.[A-Z]\. | (?<!\S)(?:Inc|Ltd|Jr|Sr|Co)\. ) (?=\ {_OPENING})
      )
    | (?P<kept>
          (?:Mrs?|Ms|St|Dr)\. | Ph\.D\. | \.(?=com|net|org|io|gov|edu|me) | (?<=\d)\.(?=\d)
        | (?:[A-Za-z]\.){{2,3}}(?!\.) | (?<!\S)(?:Inc|Ltd|Jr|Sr|Co|[A-Za-z])\.(?!\.)
      )
    | (?P<end> [.?!] )
    """,
    re.VERBOSE,
)
"""What can end a sentence: `pause` and `closed` end one where they end, `kept` ends none."""

_NO_MARKS = str.maketrans("", "", string.punctuation)
_TOKEN = re.compile(
    r"""
      \.{3} | -- | '' | '(?!\S)
    | [,:](?!\d) | [][(){}<>;@\#$%&*?!"“”„‘’«»`…—]
    | '(?:[sS]|[mM]|[dD]|ll|LL|re|RE|ve|VE)(?!\w)
    | (?:n't|N'T)(?!\w)
    | (?:(?!\.{3}|--|''|'(?!\S)|n't\b|N'T\b|'(?:s|m|d|ll|re|ve|S|M|D|LL|RE|VE)\b)
        (?:[^][(){}<>,:;@\#$%&*?!"“”„‘’«»`…—\s]|[,:](?=\d)))+
    """,
    re.VERBOSE,
)
_AFTER_LAST = " \t\n)]}>\"'»”’"
"""What may follow the full stop that ends a text."""
_DOTTED = re.compile(r"(?:[A-Za-z]\.)+|(?:Mrs?|Ms|St|Dr|Prof|Jr|Sr|Inc|Ltd|Co|vs|etc)\.")


def told(met: bool, rule: str, found: str) -> Verdict:
    """Returns the verdict: of a pass nothing is told, of a failure the rule and what was found."""
    return Verdict(True, "That is as asked.") if met else Verdict(False, f"{rule}; {found}.")


def sentences(text: str) -> list[str]:
    """Returns the sentences, stripped; none is empty.

    A quotation mark after a final mark is moved before it, so that the sentence ends in its mark.
    """
    flat = text.replace("\n", " ")
    found: list[str] = []
    start = 0
    for match in _MARK.finditer(flat):
        if match.lastgroup == "kept":
            continue
        one, start = flat[start : match.end()], match.end()
        quote = flat[start : start + 1]
        if match.lastgroup == "end" and (quote == '"' or one[-1] + quote == ".”"):
            one, start = f"{one[:-1]}{quote}{one[-1]}", start + 1
        found.append(one.strip())
    rest = flat[start:].strip()
    return [*found, rest] if rest else found


def unmarked(text: str) -> str:
    """Returns the text without ASCII punctuation; words that only it divided become one."""
    return text.translate(_NO_MARKS)


def plain_words(text: str) -> list[str]:
    """Returns what white space divides, without punctuation and in lower case."""
    return unmarked(text).lower().split()


def tokens(text: str) -> list[str]:
    """Returns words and marks, one by one, close to the Penn Treebank's tokens.

    "don't" is two tokens, a comma or a final dot is one, a hyphen or a dot within a word is part of
    it.
    """
    last = len(text.rstrip(_AFTER_LAST))
    return [
        part
        for match in _TOKEN.finditer(text)
        for part in _undotted(match[0], final=match.end() >= last)
    ]


@cache
def is_emoji(sign: str) -> bool:
    """Returns whether a character is an emoji by itself."""
    return any(low <= ord(sign) <= high for low, high in _ranges())


def _undotted(token: str, *, final: bool) -> list[str]:
    """Returns a token without its final dot, and the dot, unless it abbreviates within a text."""
    bare = token[:-1]
    if not bare.strip(".") or not token.endswith(".") or (not final and _DOTTED.fullmatch(token)):
        return [token]
    return [bare, "."]


@cache
def _ranges() -> list[tuple[int, int]]:
    bounds = [one.split("-") for one in EMOJI]
    return [(int(ends[0], 16), int(ends[-1], 16)) for ends in bounds]
