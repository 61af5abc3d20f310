"""IFBench's instructions about how many, and about shares: `count:*` and `ratio:*`."""

import re
from collections.abc import Mapping
from typing import Annotated

from flashevolve.workloads.ifbench.checkers.data import CONJUNCTIONS, NAMES, PRONOUNS, STOP_WORDS
from flashevolve.workloads.ifbench.checkers.parts import (
    EDGES,
    plain_words,
    sentences,
    told,
    unmarked,
)
from flashevolve.workloads.instructions.text import counted, quoted, word_runs
from flashevolve.workloads.instructions.verdict import (
    Checker,
    Count,
    Position,
    Rule,
    Text,
    Verdict,
)

N_KEYWORDS = (1, 2, 3, 5, 7)
"""How often `count:keywords_multiple` wants its five keywords."""
_STOP_WORDS = frozenset(STOP_WORDS)
_PRONOUNS = frozenset(PRONOUNS)
_JAPANESE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_MARKS = ".,!?;:"
_Percent = Annotated[int, Rule("a whole number from 0 to 100", lambda n: 0 <= n <= 100)]
_InRange = Annotated[
    Verdict,
    Rule(
        "min_words to be at most max_words",
        lambda *, min_words, max_words: bool(min_words <= max_words),
    ),
]


def word_count_range(answer: str, *, min_words: Count, max_words: Count) -> _InRange:
    """From `min_words` to `max_words` runs of letters and digits."""
    found = len(word_runs(answer))
    return told(
        min_words <= found <= max_words,
        f"The answer must have between {min_words} and {counted(max_words, 'word')}",
        f"it has {found}",
    )


def unique_word_count(answer: str, *, N: Position) -> Verdict:
    """At least `N` different words, whatever their case and the marks around them.

    As in the reference, all that is nothing but marks counts as one more word.
    """
    found = len({word.strip(EDGES) for word in answer.lower().split()})
    return told(
        found >= N,
        f"The answer must use at least {counted(N, 'different word')}",
        f"it uses {found}",
    )


def conjunctions(answer: str, *, small_n: Count) -> Verdict:
    """At least `small_n` coordinating conjunctions.

    As in the reference, the same one in another case or with another mark counts again.
    """
    found = {one for one in answer.split() if one.strip(EDGES).lower() in CONJUNCTIONS}
    return told(
        len(found) >= small_n,
        f"The answer must use at least {small_n} different ones of the conjunctions "
        f"{quoted(sorted(CONJUNCTIONS))}",
        f"it uses {len(found)}",
    )


def person_names(answer: str, *, N: Position) -> Verdict:
    """At least `N` of the fifty names, spelled with their capitals, also within longer words."""
    found = sum(name in answer for name in NAMES)
    return told(
        found >= N,
        f"The answer must mention at least {counted(N, 'different name')} from the request's list "
        "of names",
        f"it mentions {found}",
    )


def numbers(answer: str, *, N: Count) -> Verdict:
    """Exactly `N` runs of digits; punctuation within a number does not divide it."""
    found = len(re.findall(r"\d+", unmarked(answer)))
    return told(
        found == N,
        f"The answer must have exactly {counted(N, 'number')} written in digits",
        f"it has {found}",
    )


def punctuation(answer: str) -> Verdict:
    """All of . , ! ? ; : and, beside the signs of these, an interrobang: ?!, !? or one sign."""
    mark = next((one for one in ("?!", "!?", "‽") if one in answer), "")
    others = answer if mark == "‽" else answer.replace(mark, "", 1)
    missing = [sign for sign in _MARKS if sign not in others]
    return told(
        bool(mark) and not missing,
        "The answer must use each of the marks . , ! ? ; : at least once and, besides, the "
        "interrobang ?!",
        f"it lacks {' '.join([*missing, *([] if mark else ['?!'])])}",
    )


def words_japanese(answer: str, *, N: Position) -> Verdict:
    """Every `N`-th word holds a Japanese character; numbers and bare marks need none."""
    every = [word.strip(EDGES) for word in answer.split()[N - 1 :: N]]
    wrong = sum(bool(w) and not w.isdigit() and not _JAPANESE.search(w) for w in every)
    return told(
        not wrong,
        f"Of every {counted(N, 'word')}, the last one must be in Japanese script",
        f"{wrong} of {len(every)} are not",
    )


def pronouns(answer: str, *, N: Count) -> Verdict:
    """At least `N` pronouns, the same one as often as it occurs."""
    found = sum(word in _PRONOUNS for word in plain_words(answer.replace("/", " ")))
    return told(
        found >= N,
        f"The answer must have at least {counted(N, 'pronoun')} such as I, you, his or themselves",
        f"it has {found}",
    )


def keywords_multiple(
    answer: str, *, keyword1: Text, keyword2: Text, keyword3: Text, keyword4: Text, keyword5: Text
) -> Verdict:
    """The five keywords occur 1, 2, 3, 5 and 7 times, in any case, also within longer words."""
    keywords = (keyword1, keyword2, keyword3, keyword4, keyword5)
    found = [answer.lower().count(keyword.strip().lower()) for keyword in keywords]
    wanted = ", ".join(
        f'"{keyword.strip()}" {n}' for keyword, n in zip(keywords, N_KEYWORDS, strict=True)
    )
    return told(
        tuple(found) == N_KEYWORDS,
        f"The keywords must occur exactly so many times: {wanted}",
        f"they occur {', '.join(map(str, found))} times",
    )


def stop_words(answer: str, *, percentage: _Percent) -> Verdict:
    """At most so many percent of the words are stop words."""
    words = word_runs(answer)
    share = 100 * sum(w.lower() in _STOP_WORDS for w in words) / len(words) if words else 100.0
    return told(
        bool(words) and share <= percentage,
        f"At most {percentage} % of the words may be stop words, which are words such as the, of, "
        "is or you",
        f"{share:.0f} % are",
    )


def sentence_type(answer: str) -> Verdict:
    """Twice as many sentences end in a full stop as in a question mark."""
    stops, questions, _ = _ends(answer)
    return told(
        stops == 2 * questions,
        "There must be exactly two sentences that end in a full stop for each one that ends in a "
        "question mark",
        f"there are {stops} and {questions}",
    )


def sentence_balance(answer: str) -> Verdict:
    """As many sentences end in a full stop as in a question mark and an exclamation mark."""
    found = _ends(answer)
    return told(
        len(set(found)) == 1,
        "As many sentences must end in a full stop as in a question mark and as in an exclamation "
        "mark",
        f"there are {found[0]}, {found[1]} and {found[2]}",
    )


def overlap(answer: str, *, reference_text: Text, percentage: _Percent) -> Verdict:
    """So many percent, give or take 2, of the different runs of three characters are the text's.

    As in the reference, a trigram is of characters, and its share is taken of the answer's.
    """
    own, others = _trigrams(answer), _trigrams(reference_text)
    share = 100 * len(own & others) / len(own) if own else 0.0
    return told(
        bool(own) and percentage - 2 <= share <= percentage + 2,
        f"From {percentage - 2} to {percentage + 2} % of the answer's different sequences of three "
        "characters must also be in the reference text",
        f"{share:.0f} % are",
    )


def sentence_words(answer: str) -> Verdict:
    """Three sentences with as many characters each.

    As in the reference, it is not looked at whether their words differ.
    """
    lengths = [len(one) for one in sentences(answer)]
    return told(
        len(lengths) == 3 and len(set(lengths)) == 1,
        "There must be exactly 3 sentences with the same number of characters, and with different "
        "words",
        f"they have these numbers of characters: {', '.join(map(str, lengths[:6]))}",
    )


def _ends(answer: str) -> tuple[int, int, int]:
    parts = sentences(answer)
    return (
        sum(one.endswith(".") for one in parts),
        sum(one.endswith("?") for one in parts),
        sum(one.endswith("!") for one in parts),
    )


def _trigrams(text: str) -> set[str]:
    return {text[at : at + 3] for at in range(len(text) - 2)}


CHECKERS: Mapping[str, Checker] = {
    "count:word_count_range": word_count_range,
    "count:unique_word_count": unique_word_count,
    "count:conjunctions": conjunctions,
    "count:person_names": person_names,
    "count:numbers": numbers,
    "count:punctuation": punctuation,
    "count:words_japanese": words_japanese,
    "count:pronouns": pronouns,
    "count:keywords_multiple": keywords_multiple,
    "ratio:stop_words": stop_words,
    "ratio:sentence_type": sentence_type,
    "ratio:sentence_balance": sentence_balance,
    "ratio:overlap": overlap,
    "ratio:sentence_words": sentence_words,
}
"""Id of an instruction -> its checker."""
