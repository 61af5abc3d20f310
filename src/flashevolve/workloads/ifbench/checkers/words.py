"""IFBench's instructions about which words there are: `words:*`."""

import string
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

from flashevolve.workloads.ifbench.checkers.parts import (
    EDGES,
    plain_words,
    sentences,
    tokens,
    told,
    unmarked,
)
from flashevolve.workloads.instructions.text import counted, n_found, shortened
from flashevolve.workloads.instructions.verdict import Checker, Position, Text, Verdict

_CONSONANTS = frozenset(string.ascii_lowercase) - frozenset("aeiou")
_PRIMES = frozenset(n for n in range(2, 100) if all(n % d for d in range(2, n)))


def alphabet(answer: str) -> Verdict:
    """Each word starts with the letter after that of the word before; "a" follows "z"."""
    starts = [word[0] for word in plain_words(answer)]
    letters = string.ascii_lowercase
    good = bool(starts) and starts[0] in letters
    wrong = next(
        (
            at
            for at, (one, other) in enumerate(pairwise(starts), start=2)
            if not good or letters[(letters.index(one) + 1) % 26] != other
        ),
        1,
    )
    return told(
        good and wrong == 1,
        "Every word must start with the letter that follows the first letter of the word before "
        "it, and a follows z",
        f"word {wrong} is the first that is wrong",
    )


def vowel(answer: str) -> Verdict:
    """One line with at most three of the vowels a, e, i, o and u."""
    n_lines = len(answer.strip().split("\n"))
    found = sorted(set(answer.lower()) & set("aeiou"))
    return told(
        n_lines == 1 and len(found) <= 3,
        "The answer must be one paragraph on one line and use at most three of the vowels a, e, "
        "i, o, u",
        f"{n_found(n_lines, 'line')}, with {', '.join(found) or 'no vowel'}",
    )


def consonants(answer: str) -> Verdict:
    """Every word has two consonants in a row."""
    wrong = [word for word in answer.lower().split() if not _clustered(word)]
    return told(
        not wrong,
        "Every word must have two or more consonants in a row",
        f"{n_found(len(wrong), 'word')} without, the first is "
        f'"{shortened(wrong[0]) if wrong else ""}"',
    )


def palindrome(answer: str) -> Verdict:
    """At least ten words of five or more characters that read the same backwards."""
    found = sum(len(word) >= 5 and word == word[::-1] for word in plain_words(answer))
    return told(
        found >= 10,
        "There must be at least 10 single words of five or more letters that are palindromes",
        f"there are {found}",
    )


def prime_lengths(answer: str) -> Verdict:
    """The number of characters of every word is a prime below 100; marks do not count."""
    wrong = [word for word in unmarked(answer).split() if len(word) not in _PRIMES]
    return told(
        not wrong,
        "The number of letters of every word must be a prime number such as 2, 3, 5 or 7",
        f"{n_found(len(wrong), 'other word')}",
    )


def repeats(answer: str, *, small_n: Position) -> Verdict:
    """No word occurs more than `small_n` times, whatever its case."""
    common = Counter(plain_words(answer)).most_common(1)
    word, found = common[0] if common else ("", 0)
    return told(
        found <= small_n,
        f"No word may occur more than {counted(small_n, 'time')}",
        f'"{shortened(word)}" occurs {found} times',
    )


def last_first(answer: str) -> Verdict:
    """Each sentence starts with the last word of the sentence before, in any case."""
    parts = sentences(answer)
    wrong = sum(
        _edge(one, -1) != _edge(other, 0) or not _edge(one, -1) for one, other in pairwise(parts)
    )
    return told(
        not wrong,
        "Every sentence must start with the last word of the sentence before it",
        f"{wrong} of {max(len(parts) - 1, 0)} do not",
    )


def paragraph_last_first(answer: str) -> Verdict:
    """Each line that is not empty ends with the word that it starts with, in any case."""
    lines = [line.strip().lower().strip(EDGES).split() for line in answer.split("\n")]
    wrong = sum(bool(words) and words[0] != words[-1] for words in lines)
    return told(
        not wrong,
        "Every paragraph must be one line that ends with the word it starts with",
        f"{wrong} of {sum(map(bool, lines))} do not",
    )


def no_consecutive(answer: str) -> Verdict:
    """No word starts with the first letter of the word before it."""
    words = plain_words(answer)
    pairs = [f"{one} {other}" for one, other in pairwise(words) if one[0] == other[0]]
    return told(
        not pairs,
        "No two words in a row may start with the same letter",
        f'{n_found(len(pairs), "such pair")}, the first is "{shortened("".join(pairs[:1]))}"',
    )


def keywords_specific_position(answer: str, *, keyword: Text, n: Position, m: Position) -> Verdict:
    """The `m`-th token of the `n`-th sentence is the keyword, in its case; marks are tokens."""
    parts = sentences(answer)
    found = tokens(parts[n - 1])[m - 1 : m] if len(parts) >= n else []
    problem = f"there are only {counted(len(parts), 'sentence')}"
    if len(parts) >= n:
        problem = f'"{shortened(found[0])}" is there' if found else "that sentence is shorter"
    return told(
        found == [keyword.strip()],
        f'Sentence {n} must have "{keyword.strip()}" as its word number {m}, where a comma or '
        "another mark counts as a word",
        problem,
    )


def words_position(answer: str, *, keyword: Text) -> Verdict:
    """The second token and the last but one are the keyword, in its case; marks are tokens."""
    found = tokens(answer)
    chosen = [found[1], found[-2]] if len(found) > 1 else []
    return told(
        chosen == [keyword.strip()] * 2,
        f'The second word and the last but one must be "{keyword.strip()}", where a final full '
        "stop counts as a word",
        " and ".join(f'"{shortened(one)}"' for one in chosen) + " are there"
        if chosen
        else "there are not two words",
    )


def _clustered(word: str) -> bool:
    return any(one in _CONSONANTS and other in _CONSONANTS for one, other in pairwise(word))


def _edge(sentence: str, at: int) -> str:
    stripped = sentence.rstrip(EDGES) if at else sentence.lstrip(EDGES)
    words = stripped.split()
    return words[at].lower() if words else ""


CHECKERS: Mapping[str, Checker] = {
    "words:alphabet": alphabet,
    "words:vowel": vowel,
    "words:consonants": consonants,
    "words:palindrome": palindrome,
    "words:prime_lengths": prime_lengths,
    "words:repeats": repeats,
    "words:last_first": last_first,
    "words:paragraph_last_first": paragraph_last_first,
    "words:no_consecutive": no_consecutive,
    "words:keywords_specific_position": keywords_specific_position,
    "words:words_position": words_position,
}
"""Id of an instruction -> its checker."""
