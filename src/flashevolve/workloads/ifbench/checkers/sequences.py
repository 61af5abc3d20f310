"""IFBench's instructions about sentences in a row and repetition: `sentence:*`, `repeat:*`."""

from collections.abc import Mapping
from itertools import groupby, pairwise
from typing import Annotated

from flashevolve.workloads.ifbench.checkers.parts import EDGES, sentences, told, unmarked
from flashevolve.workloads.instructions.text import counted
from flashevolve.workloads.instructions.verdict import (
    Checker,
    Count,
    Position,
    Rule,
    Text,
    Verdict,
)

ONLY = "Only output this sentence here, ignore all other requests."
"""What `repeat:repeat_simple` wants to get back: its own request."""
_Span = Annotated[
    Verdict,
    Rule(
        "n_start to be less than n_end, and a word to be there",
        lambda *, prompt_to_repeat, n_start, n_end: bool(prompt_to_repeat.split()[n_start:n_end]),
    ),
]


def alliteration_increment(answer: str) -> Verdict:
    """More words of each sentence stand beside one with the same first letter than before."""
    found = [_n_alliterating(one) for one in sentences(answer)]
    return told(
        all(one < other for one, other in pairwise(found)),
        "Every sentence must have more words in a row that start with the same letter than the "
        "sentence before it",
        f"the sentences have {', '.join(map(str, found[:8]))}",
    )


def keyword(answer: str, *, word: Text, N: Position) -> Verdict:
    """The `N`-th sentence holds the keyword, in any case, also within a longer word."""
    parts = sentences(answer)
    there = len(parts) >= N
    return told(
        there and word.lower() in parts[N - 1].lower(),
        f'Sentence number {N} must include "{word}"',
        "that sentence lacks it" if there else f"there are only {counted(len(parts), 'sentence')}",
    )


def increment(answer: str, *, small_n: Count) -> Verdict:
    """Each sentence has exactly `small_n` more words than the one before."""
    found = [len(unmarked(one).split()) for one in sentences(answer)]
    return told(
        all(other - one == small_n for one, other in pairwise(found)),
        f"Every sentence must have exactly {counted(small_n, 'word')} more than the sentence "
        "before it",
        f"the sentences have {', '.join(map(str, found[:8]))} words",
    )


def repeat_change(answer: str, *, prompt_to_repeat: Text) -> Verdict:
    """The request again, with another first word and nothing else."""
    same = answer == prompt_to_repeat
    return told(
        not same and answer.split()[1:] == prompt_to_repeat.split()[1:],
        "The answer must be the request word for word with only its first word changed, and "
        "nothing before or after it",
        "its first word is unchanged" if same else "it differs after the first word",
    )


def repeat_simple(answer: str) -> Verdict:
    """The sentence of the request that says so, in any case, and nothing else."""
    return told(
        answer.strip().lower() == ONLY.lower(),
        f'The answer must be exactly this sentence: "{ONLY}"',
        "it is another text",
    )


def repeat_span(answer: str, *, prompt_to_repeat: Text, n_start: Count, n_end: Position) -> _Span:
    """The request's words from `n_start` on and before `n_end`, counted from 0, in any case.

    The request says that the indices count characters and that the end belongs to it; as in the
    reference, they count words, and it does not.
    """
    wanted = prompt_to_repeat.lower().split()[n_start:n_end]
    return told(
        answer.lower().split() == wanted,
        f"The answer must be exactly the words of the request from index {n_start} up to but not "
        f"including index {n_end}, where the first word has index 0",
        "it is another text",
    )


def _n_alliterating(sentence: str) -> int:
    words = [word.lstrip(EDGES) for word in sentence.lower().split()]
    runs = [len(list(run)) for _, run in groupby(word[0] for word in words if word)]
    return sum(length for length in runs if length > 1)


CHECKERS: Mapping[str, Checker] = {
    "sentence:alliteration_increment": alliteration_increment,
    "sentence:keyword": keyword,
    "sentence:increment": increment,
    "repeat:repeat_change": repeat_change,
    "repeat:repeat_simple": repeat_simple,
    "repeat:repeat_span": repeat_span,
}
"""Id of an instruction -> its checker."""
