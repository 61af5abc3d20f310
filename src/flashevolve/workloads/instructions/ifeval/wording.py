"""IFEval's instructions about words, letters, case, language and commas."""

import re
from collections.abc import Mapping
from typing import Annotated

from flashevolve.workloads.instructions.language import LANGUAGES, language
from flashevolve.workloads.instructions.text import counted, quoted
from flashevolve.workloads.instructions.verdict import (
    Checker,
    Count,
    LanguageCode,
    Relation,
    Sign,
    Text,
    Texts,
    Verdict,
    reachable,
    related,
)

_BETWEEN_TOKENS = re.compile(r"""\s|[;@#$%&*?!"`‘“”„«»()\[\]{}<>‒–—―]|[,:](?!\d)|\.{2,}|--""")
"""Separates what counts as one word in capitals: "U.S.", "DON'T" and "AND/OR" are one each."""

_KeywordBound = Annotated[Verdict, reachable("frequency", "relation")]
_LetterBound = Annotated[Verdict, reachable("let_frequency", "let_relation")]
_CapitalBound = Annotated[Verdict, reachable("capital_frequency", "capital_relation")]


def existence(answer: str, *, keywords: Texts) -> Verdict:
    """All keywords occur, in any case, also inside of longer words.

    The reference reads keywords as regular expressions; here they are plain text.
    """
    absent = [word for word in keywords if not _times(answer, word)]
    if not absent:
        return Verdict(True, "It mentions what it should mention.")
    return Verdict(
        False,
        f"The answer must contain each of {quoted(keywords)}, in any case; "
        f"it lacks {quoted(absent)}.",
    )


def frequency(answer: str, *, keyword: Text, frequency: Count, relation: Relation) -> _KeywordBound:
    """The keyword occurs at least or less than `frequency` times, also inside of longer words.

    The reference reads the keyword as a regular expression; here it is plain text.
    """
    found = _times(answer, keyword.strip())
    if related(found, relation, frequency):
        return Verdict(True, "It repeats itself as it should.")
    return Verdict(
        False,
        f'The text "{keyword.strip()}" must appear {relation} {counted(frequency, "time")}, in any '
        f"case and also inside of longer words; it appears {counted(found, 'time')}.",
    )


def forbidden_words(answer: str, *, forbidden_words: Texts) -> Verdict:
    """None of the words occurs as a whole word, in any case.

    The reference reads words as regular expressions; here they are plain text.
    """
    found = [
        word
        for word in forbidden_words
        if re.search(rf"\b{re.escape(word)}\b", answer, flags=re.IGNORECASE)
    ]
    if not found:
        return Verdict(True, "It avoids what it should avoid.")
    return Verdict(
        False,
        f"None of the words {quoted(forbidden_words)} may appear, in any case; "
        f"{quoted(found)} {'does' if len(found) == 1 else 'do'}.",
    )


def letter_frequency(
    answer: str, *, letter: Sign, let_frequency: Count, let_relation: Relation
) -> _LetterBound:
    """The letter or sign occurs at least or less than `let_frequency` times, in any case."""
    found = answer.lower().count(letter.lower())
    if related(found, let_relation, let_frequency):
        return Verdict(True, "Its spelling is fine.")
    return Verdict(
        False,
        f'The letter "{letter}" must appear {let_relation} {counted(let_frequency, "time")}, '
        f"counted in both cases; it appears {counted(found, 'time')}.",
    )


def response_language(answer: str, *, language: LanguageCode) -> Verdict:
    """The answer is in the language with that ISO 639-1 code.

    A text that tells no language passes. The reference asks langdetect, which is no longer kept
    and guesses at random; py3langid decides here.
    """
    wanted = LANGUAGES[language]
    found = _named(answer)
    if found in (None, wanted):
        return Verdict(True, "Its language is fine.")
    return Verdict(
        False,
        f"The whole answer must be written in {wanted} and in no other language; "
        f"it reads as {found}.",
    )


def capital_word_frequency(
    answer: str, *, capital_frequency: Count, capital_relation: Relation
) -> _CapitalBound:
    """At least or less than so many words are all in capitals, one-letter words included.

    The reference counts the tokens of nltk, where "DON'T", "CANNOT", "GONNA", "GOTTA", "WANNA",
    "GIMME", "LEMME", "'TIS" and "'TWAS" are two each.
    """
    found = sum(token.isupper() for token in _BETWEEN_TOKENS.split(answer))
    if related(found, capital_relation, capital_frequency):
        return Verdict(True, "Its emphasis is fine.")
    return Verdict(
        False,
        f"The number of words all in capital letters must be {capital_relation} "
        f"{capital_frequency}, where words of one letter such as I count; it is {found}.",
    )


def english_capital(answer: str) -> Verdict:
    """The answer is in English and without small letters.

    A text that tells no language passes as English. For the language see `response_language`.
    """
    return _english(answer, answer.isupper(), sum(map(str.islower, answer)), "capital", "small")


def english_lowercase(answer: str) -> Verdict:
    """The answer is in English and without capital letters.

    A text that tells no language passes as English. For the language see `response_language`.
    """
    return _english(answer, answer.islower(), sum(map(str.isupper, answer)), "small", "capital")


def no_comma(answer: str) -> Verdict:
    """No comma anywhere."""
    found = answer.count(",")
    if not found:
        return Verdict(True, "Its punctuation is fine.")
    return Verdict(False, f"The answer must contain no comma at all; it has {found}.")


def _english(answer: str, alike: bool, n_others: int, wanted: str, other: str) -> Verdict:
    # The language costs far more to tell than the case.
    found = _named(answer) if alike else None
    if alike and found in (None, "English"):
        return Verdict(True, "Its letters are fine.")
    problem = f"it has {counted(n_others, f'{other} letter')}" if n_others else "it has no letter"
    if alike:
        problem = f"it reads as {found}"
    return Verdict(
        False,
        f"The answer must be in English and every letter must be a {wanted} letter; {problem}.",
    )


def _times(answer: str, text: str) -> int:
    return len(re.findall(re.escape(text), answer, flags=re.IGNORECASE))


def _named(answer: str) -> str | None:
    code = language(answer)
    return None if code is None else LANGUAGES[code]


CHECKERS: Mapping[str, Checker] = {
    "keywords:existence": existence,
    "keywords:frequency": frequency,
    "keywords:forbidden_words": forbidden_words,
    "keywords:letter_frequency": letter_frequency,
    "language:response_language": response_language,
    "change_case:capital_word_frequency": capital_word_frequency,
    "change_case:english_capital": english_capital,
    "change_case:english_lowercase": english_lowercase,
    "punctuation:no_comma": no_comma,
}
"""Id of an instruction -> its checker."""
