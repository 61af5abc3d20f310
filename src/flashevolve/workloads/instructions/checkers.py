"""Checkers: one small pure function per kind of constraint.

Each takes the answer and the constraint's parameters and returns whether the answer meets it, and
one feedback sentence. Eight kinds hold a *house rule* that no request spells out (the bullet
marker, the brackets of a title, what counts as a word, ...): it stands here and in the feedback of
a failure, and nowhere else. A failure's sentence states the whole rule first and what was found
after a semicolon, so that it can be understood without the answer.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Verdict(NamedTuple):
    """Whether a constraint is met, and one sentence about it."""

    passed: bool
    feedback: str


BULLET = "* "
SEPARATOR = "***"
TITLE_OPEN, TITLE_CLOSE = "<<", ">>"
POSTSCRIPT = "P.S."
JSON_KEY = "answer"
KEYWORD_TIMES = 2


def minimum_words(answer: str, *, n: int) -> Verdict:
    """At least `n` words; house rule: title and postscript are not counted."""
    found = _count_words(_body(answer))
    if found >= n:
        return Verdict(True, "The answer is long enough.")
    return Verdict(
        False,
        f"The answer needs at least {n} words and the title and the postscript do not count; "
        f"it has {found}.",
    )


def maximum_words(answer: str, *, n: int) -> Verdict:
    """At most `n` words, of all there are, and at least one."""
    found = _count_words(answer)
    if 0 < found <= n:
        return Verdict(True, "The answer is short enough.")
    return Verdict(False, f"The answer may have at most {n} words; it has {found}.")


def no_commas(answer: str) -> Verdict:
    """No commas; house rule: no semicolons either."""
    found = answer.count(",") + answer.count(";")
    if answer.strip() and not found:
        return Verdict(True, "Its punctuation is fine.")
    return Verdict(False, f"The answer must contain no commas and no semicolons; it has {found}.")


def lowercase(answer: str) -> Verdict:
    """No capital letter anywhere."""
    found = sum(c.isupper() for c in answer)
    if answer.strip() and not found:
        return Verdict(True, "Its letters are fine.")
    return Verdict(False, f"Every letter must be lowercase; {found} are not.")


def keywords(answer: str, *, words: list[str]) -> Verdict:
    """All of `words` occur, in any case; house rule: each at least twice."""
    counts = {word: len(_occurrences(answer, word)) for word in words}
    missing = [word for word, n in counts.items() if n < KEYWORD_TIMES]
    if not missing:
        return Verdict(True, "It holds the wanted terms.")
    found = " and ".join(f'"{word}" appears {counts[word]} times' for word in missing)
    return Verdict(False, f"Each keyword must appear at least twice; {found}.")


def forbidden_word(answer: str, *, word: str) -> Verdict:
    """`word` does not occur, in any case."""
    found = len(_occurrences(answer, word))
    if answer.strip() and not found:
        return Verdict(True, "It avoids what it should avoid.")
    return Verdict(False, f'The word "{word}" must not appear anywhere; it appears {found} times.')


def bullets(answer: str, *, n: int) -> Verdict:
    """Exactly `n` bullet lines; house rule: a bullet line begins with an asterisk and a space."""
    found = sum(line.startswith(BULLET) for line in answer.splitlines())
    if found == n:
        return Verdict(True, "Its list is fine.")
    return Verdict(
        False,
        f'There must be exactly {n} bullet lines and each must begin with "{BULLET}"; '
        f"{found} such lines were found.",
    )


def sentences(answer: str, *, n: int) -> Verdict:
    """Exactly `n` sentences, told by their final marks."""
    found = len(re.findall(r"\w[^.!?]*[.!?]", answer))
    if found == n:
        return Verdict(True, "It has the right number of statements.")
    return Verdict(False, f"There must be exactly {n} sentences; {found} were found.")


def paragraphs(answer: str, *, n: int) -> Verdict:
    """Exactly `n` paragraphs; house rule: a line of three asterisks between two of them."""
    parts = re.split(rf"^{re.escape(SEPARATOR)}\s*$", answer, flags=re.MULTILINE)
    found = sum(bool(part.strip()) for part in parts)
    if found == n:
        return Verdict(True, "Its layout is fine.")
    return Verdict(
        False,
        f'There must be exactly {n} paragraphs with a separator line "{SEPARATOR}" between them; '
        f"{found} were found.",
    )


def title(answer: str) -> Verdict:
    """A title; house rule: on the first line, in double angular brackets."""
    first = answer.strip().partition("\n")[0].strip()
    inner = first.removeprefix(TITLE_OPEN).removesuffix(TITLE_CLOSE)
    if len(first) - len(inner) == len(TITLE_OPEN + TITLE_CLOSE) and inner.strip():
        return Verdict(True, "Its heading is fine.")
    return Verdict(
        False,
        f'The title must stand on the first line between "{TITLE_OPEN}" and "{TITLE_CLOSE}"; '
        "the first line is different.",
    )


def quoted(answer: str) -> Verdict:
    """The whole answer stands in double quotation marks."""
    text = answer.strip()
    if len(text) > 2 and text[0] == text[-1] == '"':
        return Verdict(True, "Its outer marks are fine.")
    return Verdict(
        False, "The whole answer must be wrapped in double quotation marks; they are missing."
    )


def starts_with(answer: str, *, phrase: str) -> Verdict:
    """The answer starts with exactly `phrase`."""
    if answer.lstrip().startswith(phrase):
        return Verdict(True, "Its opening is fine.")
    return Verdict(
        False, f'The answer must start with the phrase "{phrase}"; it starts differently.'
    )


def ends_with(answer: str, *, phrase: str) -> Verdict:
    """The answer ends with `phrase`; house rule: alone on the very last line."""
    if answer.rstrip().rpartition("\n")[2].strip() == phrase and answer.strip() != phrase:
        return Verdict(True, "Its close is fine.")
    return Verdict(
        False,
        f'The closing phrase "{phrase}" must stand alone on the very last line with nothing '
        "after it; the last line is different.",
    )


def postscript(answer: str) -> Verdict:
    """A postscript; house rule: its line begins with `P.S.`, spelled like that."""
    for line in answer.splitlines():
        if line.startswith(POSTSCRIPT) and line.removeprefix(POSTSCRIPT).strip():
            return Verdict(True, "Its afterthought is fine.")
    return Verdict(
        False,
        f'The postscript must stand on its own line and begin with "{POSTSCRIPT}"; '
        "no such line was found.",
    )


def json_object(answer: str) -> Verdict:
    """One JSON object; house rule: the text stands under the key `answer`."""
    try:
        value = json.loads(answer)
    except ValueError:
        value = None
    if isinstance(value, dict) and isinstance(value.get(JSON_KEY), str) and value[JSON_KEY].strip():
        return Verdict(True, "Its structure is fine.")
    return Verdict(
        False,
        f'The answer must be one JSON object with its text under the key "{JSON_KEY}"; it is not.',
    )


CHECKERS: Mapping[str, Callable[..., Verdict]] = {
    f.__name__: f
    for f in (
        minimum_words,
        maximum_words,
        no_commas,
        lowercase,
        keywords,
        forbidden_word,
        bullets,
        sentences,
        paragraphs,
        title,
        quoted,
        starts_with,
        ends_with,
        postscript,
        json_object,
    )
}
"""Kind of constraint -> its checker."""


def check(answer: str, constraint: Mapping[str, Any]) -> Verdict:
    """Applies the checker that `constraint["kind"]` names to the other entries as parameters."""
    parameters = {name: value for name, value in constraint.items() if name != "kind"}
    return CHECKERS[constraint["kind"]](answer, **parameters)


def _body(answer: str) -> str:
    """Returns the answer without its title and postscript lines."""
    lines = answer.strip().splitlines()
    if lines and (lines[0].startswith(("#", TITLE_OPEN, "Title:", "**"))):
        lines = lines[1:]
    return "\n".join(li for li in lines if not re.match(r"(?i)p\.?s\b|postscript", li))


def _count_words(text: str) -> int:
    return len(re.findall(r"\w[\w'’-]*", text))


def _occurrences(text: str, word: str) -> list[str]:
    return re.findall(rf"\b{re.escape(word)}\b", text, flags=re.IGNORECASE)
