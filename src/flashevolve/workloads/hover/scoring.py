"""Scoring: whether the searches found all pages that a claim takes, which share, or the label.

The first is what GEPA was published with; the label is the task of the public benchmark.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from flashevolve.outcome import as_text
from flashevolve.workloads.hover.layout import LABELS, claim, label, supporting
from flashevolve.workloads.replies import marked, without_thinking
from flashevolve.workloads.retrieval.hops import found_of, search_feedback, shown

_MARK = re.compile(
    r"^[^\w\n]*(?:label|verdict|answer)[^\w\n:]*:|\b(?:label|verdict|answer)\s+is\b:?",
    re.IGNORECASE | re.MULTILINE,
)
# Neither "SUPPORTED or NOT_SUPPORTED" is a label, nor "supportedness".
_LABEL = re.compile(r"(?P<no>NOT_?)?SUPPORTED(?![A-Z0-9])(?!_(?:OR_)?(?:NOT_?)?SUPPORTED)")


def said_label(output: Any) -> str | None:
    """Returns the label in an output, None if it is neither of `LABELS`.

    It is all of the text, or begins what follows the last "Label:" or "label is" that a label
    follows. Case, spaces or hyphens for the underscore, and marks around it don't matter; thinking
    text is not part of it.
    """
    text = output.get("label") if isinstance(output, Mapping) else output
    text = without_thinking(as_text(text))
    for said in marked(text, _MARK):
        found = _LABEL.match(_words(said))
        if found is not None:
            return LABELS[found["no"] is None]
    whole = _LABEL.fullmatch(_words(text))
    return LABELS[whole["no"] is None] if whole is not None else None


def _words(text: str) -> str:
    return re.sub(r"[\W_]+", "_", text).strip("_").upper()


@dataclass(frozen=True)
class Scoring:
    """A way of scoring; called with an example and an output, it returns score and feedback."""

    by: Literal["all", "share", "label"]

    def __call__(self, example: Mapping[str, Any], output: Any) -> tuple[float, str]:
        """Returns a score in [0, 1] and feedback on the searches and on the label."""
        gold = supporting(example)
        searches = search_feedback(gold, output)
        if self.by == "label":
            score, verdict = _labelled(example, output)
            return score, f"{verdict} {searches}"
        n_found = len(found_of(gold, output))
        score = n_found / len(gold) if self.by == "share" else float(n_found == len(gold))
        return score, searches

    def check_examples(self, examples: Iterable[Mapping[str, Any]]) -> None:
        """Raises `DataError` for the first example that could not be run or scored."""
        for example in examples:
            claim(example)
            supporting(example)
            if self.by == "label":
                label(example)


def _labelled(example: Mapping[str, Any], output: Any) -> tuple[float, str]:
    wanted, given = label(example), said_label(output)
    if given == wanted:
        return 1.0, f"Correct: the label is {wanted}."
    if given is None:
        text = as_text(output.get("label") if isinstance(output, Mapping) else output)
        return 0.0, (
            f"Wrong: the answer should be the label {wanted} and nothing else, one of "
            f'{" and ".join(LABELS)}; it was "{shown(text)}".'
        )
    return 0.0, f"Wrong: the label should be {wanted}, it was {given}."


score = Scoring("all")
"""1 if the searches found every supporting page."""
score_recall = Scoring("share")
"""The share of the supporting pages that the searches found."""
score_label = Scoring("label")
"""1 for the right label."""
