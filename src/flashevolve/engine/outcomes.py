"""Outcomes as the log can hold them, whatever user code has made of them.

A metric may return a number, a number with feedback, or an `Outcome`; scores and what is charged
are finite numbers afterwards, and all that is recorded is JSON in valid text.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from operator import index
from statistics import fmean
from typing import Any

from flashevolve.objectives import MAX_MAGNITUDE, mean_objectives, plain_objectives
from flashevolve.outcome import Outcome, Usage


def mean_outcome(replicas: Sequence[Outcome]) -> Outcome:
    """Returns the first outcome with the means of all scores, and their usage together."""
    if len(replicas) == 1:
        return replicas[0]
    usage = sum((outcome.usage for outcome in replicas), Usage())
    score = fmean(outcome.score for outcome in replicas)
    objectives = mean_objectives(outcome.objectives for outcome in replicas)
    return replace(replicas[0], score=score, usage=usage, objectives=objectives)


def as_outcome(scored: Any, output: Any) -> Outcome:
    """Accepts what a metric may return: a number, (number, feedback) or an `Outcome`."""
    if isinstance(scored, Outcome):
        shown = output if scored.output is None and scored is not output else scored.output
        return replace(
            scored,
            score=_finite(scored.score),
            output=shown,
            feedback=_words("feedback", scored.feedback) or "",
            usage=_usage(scored.usage),
            error=_words("error", scored.error),
            objectives=plain_objectives(scored.objectives),
        )
    feedback = ""
    if isinstance(scored, tuple):
        if len(scored) != 2 or not isinstance(scored[1], str):
            raise TypeError(f"expected float, (float, feedback) or Outcome, got {scored!r:.80}")
        scored, feedback = scored
    return Outcome(score=_finite(scored), output=output, feedback=feedback)


def _finite(score: Any) -> float:
    number = float(score)
    if not math.isfinite(number):
        raise ValueError(f"the score is {number}; expected a finite number")
    if abs(number) > MAX_MAGNITUDE:
        raise ValueError(f"the score is {number}; expected at most {MAX_MAGNITUDE:g} in magnitude")
    return number


def _words(field: str, given: Any) -> str | None:
    if isinstance(given, BaseException):
        given = type(given).__name__ + (f": {given}" if str(given) else "")
    if given is None or isinstance(given, str):
        return given
    raise TypeError(f"expected Outcome.{field} to be text, got {given!r:.80}")


def _usage(given: Any) -> Usage:
    """Returns plain numbers, none of them negative: they are charged to the budget."""
    if given is None:
        return Usage()
    if not isinstance(given, Usage):
        raise TypeError(f"expected Outcome.usage to be a Usage, got {given!r:.80}")
    counts = [index(n) for n in (given.calls, given.tokens_in, given.tokens_out)]
    usd = float(given.usd)
    if min(counts) < 0 or not (math.isfinite(usd) and usd >= 0):
        raise ValueError(f"expected Outcome.usage of finite numbers from 0 up, got {given}")
    return Usage(calls=counts[0], tokens_in=counts[1], tokens_out=counts[2], usd=usd)


def jsonable(outcome: Outcome) -> Outcome:
    """Returns what the log can hold and requests can carry, whatever user code has made."""
    return replace(
        outcome,
        output=_plain(outcome.output),
        trace=_plain(outcome.trace),
        feedback=_text(outcome.feedback),
        error=None if outcome.error is None else _text(one_line(outcome.error)),
    )


def _plain(value: Any) -> Any:
    if value is None or type(value) in (bool, int):
        return value
    if isinstance(value, str):
        return _text(value)
    try:
        # JSON has neither half a surrogate pair nor NaN and infinity: these become their names.
        return json.loads(_text(json.dumps(value, ensure_ascii=False)), parse_constant=_constant)
    except (TypeError, ValueError, RecursionError):
        return _shown(value)


def _constant(name: str) -> str:
    return repr(float(name))


def _shown(value: Any) -> str:
    try:
        return _text(repr(value))
    except Exception:  # the boundary to user code: its repr may raise anything
        return object.__repr__(value)


def _text(text: str) -> str:
    """Replaces halves of surrogate pairs, which no request and no file can hold."""
    return text.encode(errors="replace").decode()


def one_line(message: str) -> str:
    """Returns a message without line breaks."""
    return " ".join(message.split())
