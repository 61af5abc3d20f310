"""Scoring: exact match and F1 of the answer, with what the searches found in the feedback.

Answers are compared as HotpotQA (Yang 2018) and SQuAD (Rajpurkar 2016) compare them: without case,
punctuation, articles and extra spaces. F1 is over the words that both have in common, counted as
often as they occur; yes and no are right or wrong as a whole.
"""

import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flashevolve.outcome import as_text
from flashevolve.workloads.hotpotqa.layout import answer, question, supporting
from flashevolve.workloads.replies import marked, without_thinking
from flashevolve.workloads.retrieval.hops import search_feedback, shown

_MARK = re.compile(r"^[^\w\n]*answer[^\w\n:]*:", re.IGNORECASE | re.MULTILINE)
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
WHOLE = frozenset({"yes", "no", "noanswer"})
"""Answers that share no credit with longer ones."""


def normalized(text: str) -> str:
    """Returns an answer as it is compared."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def said(output: Any) -> str:
    """Returns the answer in an output: what follows the last "Answer:", else all of the text.

    Thinking text is not part of it.
    """
    text = output.get("answer") if isinstance(output, Mapping) else output
    text = without_thinking(as_text(text))
    return next(marked(text, _MARK), text).strip()


def f1(given: str, wanted: str) -> float:
    """Returns the harmonic mean of precision and recall over words, in [0, 1]."""
    a, b = normalized(given), normalized(wanted)
    if a != b and (a in WHOLE or b in WHOLE):
        return 0.0
    n_common = sum((Counter(a.split()) & Counter(b.split())).values())
    n_words = len(a.split()) + len(b.split())
    return 2 * n_common / n_words if n_words else 0.0


@dataclass(frozen=True)
class Scoring:
    """A way of scoring; called with an example and an output, it returns score and feedback."""

    partly: bool = False
    """Whether the score is F1; else it is 1 for an exact match and 0 otherwise."""

    def __call__(self, example: Mapping[str, Any], output: Any) -> tuple[float, str]:
        """Returns a score in [0, 1] and feedback on the answer and on the searches."""
        wanted, given = answer(example), said(output)
        match = normalized(given) == normalized(wanted)
        share = f1(given, wanted)
        score = share if self.partly else float(match)
        feedback = f'Correct: the answer is "{wanted}".'
        if not match:
            feedback = f'Wrong: the answer should be exactly "{wanted}", it was "{shown(given)}".'
            if f" {normalized(wanted)} " in f" {normalized(given)} ":
                feedback += " It contains the right answer; no other words may stand around it."
            if self.partly:
                feedback += f" F1 over words: {share:.2f}."
        return score, f"{feedback} {search_feedback(supporting(example), output)}"

    def check_examples(self, examples: Iterable[Mapping[str, Any]]) -> None:
        """Raises `DataError` for the first example that could not be run or scored."""
        for example in examples:
            question(example)
            answer(example)
            supporting(example)


score = Scoring()
"""1 for an exact match."""
score_f1 = Scoring(partly=True)
"""F1 over words."""
