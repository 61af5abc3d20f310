"""Scoring: how many of an example's constraints an answer meets, and what to say about each.

Strict scoring takes the answer as it is. Loose scoring (Zhou 2023, section 2.2) forgives frames
and emphasis: a constraint is met if the answer meets it as it is, without its first line, without
its last one, without both, or any of these without asterisks. An empty answer meets nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flashevolve.outcome import as_text
from flashevolve.workloads.instructions.layout import Constraint, constraints
from flashevolve.workloads.instructions.registry import CHECKERS
from flashevolve.workloads.instructions.text import normalized
from flashevolve.workloads.instructions.verdict import Checker, Verdict

EMPTY = "The answer must not be empty; it is."
PROBE = "a short answer, written in two sentences. it has all that a checker looks at."
PROBES = (PROBE, PROBE.upper())
"""Hold words, sentences and a language, so that checking them needs whatever an answer may need;
which of them is asked for its language depends on its case."""


@dataclass(frozen=True)
class Scoring:
    """A way of scoring; called with an example and an output, it returns score and feedback."""

    loose: bool = False
    """Whether frames and emphasis are forgiven."""
    whole: bool = False
    """Whether one missed constraint makes the score 0; else it is the share of those met."""
    checkers: Mapping[str, Checker] = field(
        default_factory=lambda: CHECKERS, hash=False, repr=False
    )
    """Id of an instruction -> its checker."""

    def __call__(self, example: Mapping[str, Any], output: Any) -> tuple[float, str]:
        """Returns a score in [0, 1] and one feedback sentence per constraint.

        Raises `DataError` if the example is not laid out as `layout` says.
        """
        found = verdicts(example, output, loose=self.loose, checkers=self.checkers)
        n_met = sum(verdict.passed for verdict in found)
        score = float(n_met == len(found)) if self.whole else n_met / len(found)
        # Two constraints may have the same to say.
        return score, " ".join(dict.fromkeys(verdict.feedback for verdict in found))

    def check_examples(self, examples: Iterable[Mapping[str, Any]]) -> None:
        """Raises `DataError` for the first example that could not be scored.

        Raises `ConfigError` if a package is missing that the examples' checkers need.
        """
        tried: set[str] = set()
        for example in examples:
            for constraint in constraints(example, self.checkers):
                if constraint.id not in tried:
                    for probe in PROBES:
                        constraint.checker(probe, **constraint.values)
                    tried.add(constraint.id)


score = Scoring()
"""The share of constraints met."""
score_loose = Scoring(loose=True)
"""The share of constraints met by some variant of the answer."""
score_whole = Scoring(whole=True)
"""1 if all constraints are met: prompt-level accuracy."""
score_whole_loose = Scoring(loose=True, whole=True)
"""1 if each constraint is met by some variant of the answer."""


def verdicts(
    example: Mapping[str, Any],
    output: Any,
    *,
    loose: bool = False,
    checkers: Mapping[str, Checker] = CHECKERS,
) -> list[Verdict]:
    """Returns one verdict per constraint, in order. Raises `DataError` for a wrong example."""
    answer = normalized(as_text(output))
    return [check(answer, constraint, loose=loose) for constraint in constraints(example, checkers)]


def check(answer: str, constraint: Constraint, *, loose: bool = False) -> Verdict:
    """Returns the verdict on one constraint; the feedback is always about the answer itself."""
    strict = _strict(answer, constraint)
    if strict.passed or not loose:
        return strict
    met = (_strict(variant, constraint) for variant in variants(answer)[1:])
    return next((verdict for verdict in met if verdict.passed), strict)


def variants(answer: str) -> list[str]:
    """Returns the answer and what loose scoring takes for it as well."""
    lines = answer.split("\n")
    shorter = ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
    texts = [answer, *shorter]
    return list(dict.fromkeys([*texts, *(text.replace("*", "") for text in texts)]))


def _strict(answer: str, constraint: Constraint) -> Verdict:
    if not answer.strip():
        return Verdict(False, EMPTY)
    return constraint.checker(answer, **constraint.values)
