"""Checkers about letters, their case, and the edges of a text."""

from collections.abc import Mapping

from flashevolve.workloads.instructions.further.parts import sentences
from flashevolve.workloads.instructions.text import counted, filled_lines, words
from flashevolve.workloads.instructions.verdict import (
    Checker,
    Letter,
    Letters,
    Line,
    Phrase,
    Position,
    Sign,
    Verdict,
)


def forbidden(answer: str, *, letter: Sign) -> Verdict:
    """`letter` does not occur, in any case."""
    found = answer.casefold().count(letter.casefold())
    if answer.strip() and not found:
        return Verdict(True, "Its letters are fine.")
    return Verdict(
        False,
        f'The letter "{letter}" must not appear anywhere; it appears {counted(found, "time")}.',
    )


def sentence_start(answer: str, *, letter: Letter) -> Verdict:
    """The first letter of every sentence is `letter`, in any case."""
    parts = sentences(answer)
    found = sum(words(part)[0][0].casefold() != letter.casefold() for part in parts)
    if parts and not found:
        return Verdict(True, "The openings of its sentences are fine.")
    return Verdict(
        False,
        f'Every sentence must start with the letter "{letter}"; '
        f"{found} of {len(parts)} sentences start differently.",
    )


def acrostic(answer: str, *, word: Letters) -> Verdict:
    """The first letters of the lines spell `word`, in any case."""
    firsts = [words(line)[:1] for line in filled_lines(answer)]
    spelt = "".join(first[0][0] if first else "?" for first in firsts)
    if spelt.casefold() == word.casefold():
        return Verdict(True, "The openings of its lines are fine.")
    return Verdict(
        False,
        f'The first letters of the lines must spell the word "{word}", one line for each letter; '
        "they do not.",
    )


def longest_word(answer: str, *, n: Position) -> Verdict:
    """No word has more than `n` letters."""
    found = max((sum(c.isalpha() for c in word) for word in words(answer)), default=0)
    if 0 < found <= n:
        return Verdict(True, "Its words are short enough.")
    return Verdict(
        False, f"Every word must have at most {counted(n, 'letter')}; the longest word has {found}."
    )


def title_case(answer: str) -> Verdict:
    """Every word that starts with a letter starts with a capital."""
    starts = [word[0] for word in words(answer) if word[0].isalpha()]
    found = sum(c.islower() for c in starts)
    if starts and not found:
        return Verdict(True, "Its letters are fine.")
    return Verdict(
        False,
        f"Every word must start with a capital letter; {found} of {len(starts)} words do not.",
    )


def sentence_opening(answer: str) -> Verdict:
    """The first word of every sentence is in capitals; others are free."""
    parts = sentences(answer)
    found = sum(not words(part)[0].isupper() for part in parts)
    if parts and not found:
        return Verdict(True, "The openings of its sentences are fine.")
    return Verdict(
        False,
        "The first word of every sentence must be in capital letters; "
        f"{found} of {len(parts)} sentences start differently.",
    )


def alternate_words(answer: str) -> Verdict:
    """The second, fourth, ... word is in capitals and the others are not."""
    written = words(answer)
    wrong = [
        word
        for i, word in enumerate(written)
        if (word != word.upper() if i % 2 else len(word) > 1 and word.isupper())
    ]
    if len(written) >= 2 and not wrong:
        return Verdict(True, "Its letters are fine.")
    return Verdict(
        False,
        "Every second word must be in capital letters and the words between must not; "
        f"{len(wrong)} of {len(written)} words are different.",
    )


def signature(answer: str, *, name: Line) -> Verdict:
    """The last of several lines is two hyphens, a space and `name`."""
    written = filled_lines(answer)
    if len(written) > 1 and written[-1].strip() == f"-- {name}":
        return Verdict(True, "Its close is fine.")
    return Verdict(
        False, f'The last line must be the signature "-- {name}" alone; it is different.'
    )


def first_and_last(answer: str, *, phrase: Phrase) -> Verdict:
    """The answer starts and ends with `phrase`, with more between them."""
    text, wanted = answer.strip().casefold(), phrase.casefold()
    bare = _unmarked(wanted)
    problem = "nothing stands between them"
    if not text.startswith(wanted):
        problem = "the start is different"
    elif not _unmarked(text).endswith(bare):
        problem = "the end is different"
    elif words(_unmarked(text)[len(wanted) : -len(bare)]):
        return Verdict(True, "Its edges are fine.")
    return Verdict(
        False,
        f'The answer must start with the phrase "{phrase}" and end with the same phrase; '
        f"{problem}.",
    )


# Not with a pattern: one that is bound to the end tries every mark of the text as its first.
def _unmarked(text: str) -> str:
    """Returns a text without the spaces and marks at its end."""
    end = len(text)
    while end and (text[end - 1].isspace() or text[end - 1] in ".!?,;:"):
        end -= 1
    return text[:end]


CHECKERS: Mapping[str, Checker] = {
    "letters:forbidden": forbidden,
    "letters:sentence_start": sentence_start,
    "letters:acrostic": acrostic,
    "letters:longest_word": longest_word,
    "case:title": title_case,
    "case:sentence_opening": sentence_opening,
    "case:alternate_words": alternate_words,
    "edges:signature": signature,
    "edges:first_and_last": first_and_last,
}
"""Id -> checker."""
