"""IFEval's instructions about the number of words, sentences and paragraphs."""

import re
from collections.abc import Mapping
from typing import Annotated

from flashevolve.workloads.instructions.text import counted, segments, shortened, word_runs
from flashevolve.workloads.instructions.verdict import (
    Checker,
    Count,
    Position,
    Relation,
    Rule,
    Verdict,
    reachable,
    related,
)

DIVIDER = "***"
_OPENING = re.compile(r"""'*"*([^.,?!'"]*)""")
"""A paragraph's first word, without the quotes before it and whatever follows a mark."""

FirstWord = Annotated[
    str,
    Rule("one word without marks", lambda text: bool(re.fullmatch(r"""[^\s.,?!'"]+""", text))),
]
_WordBound = Annotated[Verdict, reachable("num_words", "relation")]
# Even a text without a word is one sentence.
_SentenceBound = Annotated[Verdict, reachable("num_sentences", "relation", least=2)]
_Placed = Annotated[
    Verdict,
    Rule(
        "nth_paragraph to be at most num_paragraphs",
        lambda *, nth_paragraph, num_paragraphs, **_: bool(nth_paragraph <= num_paragraphs),
    ),
]


def number_words(answer: str, *, num_words: Count, relation: Relation) -> _WordBound:
    """At least or less than `num_words` words."""
    found = len(word_runs(answer))
    if related(found, relation, num_words):
        return Verdict(True, "Its size is fine.")
    return Verdict(
        False, f"The answer must have {relation} {counted(num_words, 'word')}; it has {found}."
    )


def number_sentences(answer: str, *, num_sentences: Count, relation: Relation) -> _SentenceBound:
    """At least or less than `num_sentences` sentences, as the Punkt algorithm finds them."""
    found = len(segments(answer))
    if related(found, relation, num_sentences):
        return Verdict(True, "It has the right number of statements.")
    return Verdict(
        False,
        f"The answer must have {relation} {counted(num_sentences, 'sentence')}, where only a full "
        f"stop, a question mark or an exclamation mark ends one; it has {found}.",
    )


def number_paragraphs(answer: str, *, num_paragraphs: Count) -> Verdict:
    """Exactly so many paragraphs with `***` between two of them, none of them empty."""
    parts = [part.strip() for part in answer.split(DIVIDER)]
    found = sum(map(bool, parts))
    hollow = not all(parts[1:-1])
    if found == num_paragraphs and not hollow:
        return Verdict(True, "Its layout is fine.")
    problem = "there is nothing between two dividers" if hollow else f"{found} were found"
    return Verdict(
        False,
        f"There must be exactly {counted(num_paragraphs, 'paragraph')} with the divider "
        f'"{DIVIDER}" between two of them, and blank lines do not divide; {problem}.',
    )


def nth_paragraph_first_word(
    answer: str, *, num_paragraphs: Position, nth_paragraph: Position, first_word: FirstWord
) -> _Placed:
    """Exactly so many paragraphs with a blank line between two; the nth starts with the word.

    As in the reference, two blank lines in a row hold an empty paragraph, which counts when the
    nth one is looked up and does not count in the number. Where there can be no nth one, the
    reference draws another; here such an example is refused.
    """
    parts = [part.strip() for part in answer.split("\n\n")]
    found = sum(map(bool, parts))
    chosen = parts[nth_paragraph - 1] if nth_paragraph <= found else ""
    word = _first_word(chosen)
    if found == num_paragraphs and chosen and word == first_word.lower():
        return Verdict(True, "Its paragraphs are fine.")
    problem = f"{found} were found"
    if found == num_paragraphs:
        start = f'paragraph {nth_paragraph} starts with "{shortened(word)}"'
        problem = start if chosen else "one is empty"
    return Verdict(
        False,
        f"There must be exactly {counted(num_paragraphs, 'paragraph')} with one blank line between "
        f'two of them, and paragraph {nth_paragraph} must start with the word "{first_word}"; '
        f"{problem}.",
    )


def _first_word(paragraph: str) -> str:
    match = _OPENING.match(paragraph.split()[0]) if paragraph else None
    return match[1].lower() if match else ""


CHECKERS: Mapping[str, Checker] = {
    "length_constraints:number_words": number_words,
    "length_constraints:number_sentences": number_sentences,
    "length_constraints:number_paragraphs": number_paragraphs,
    "length_constraints:nth_paragraph_first_word": nth_paragraph_first_word,
}
"""Id of an instruction -> its checker."""
