"""Scores have the variance that the reader's parameters claim."""

from statistics import fmean, stdev, variance

import pytest

from flashevolve.simulate.reader import TextReader
from tests.simulate.test_kinds import example, scored
from tests.simulate.usual import reader_with

KIND = "keywords:existence"
"""Words that are in the answer if the request is acted on, and never otherwise."""
N_MESSAGES, N_CALLS = 250, 12


@pytest.mark.parametrize(
    ("lapse_rate", "fickleness"), [(0.15, 0.12), (0.3, 0.12), (0.3, 0.5), (0.5, 1.0), (0.3, 0.0)]
)
def test_a_score_of_one_constraint_varies_as_its_lapse_rate_and_fickleness_say(
    lapse_rate: float, fickleness: float
) -> None:
    """One draw decides: the score is 1 with probability p = 1 - lapse_rate.

    A call shares its message's own draw with probability 1 - f, where f is the fickleness. Of the
    variance p (1 - p), the share (1 - f)^2 therefore lies between messages, the rest between calls.
    """
    reader = TextReader(reader_with(lapse_rate=lapse_rate, fickleness=fickleness, misread_rate=0))
    scores = [
        [scored_by(reader, message, call) for call in range(N_CALLS)]
        for message in range(N_MESSAGES)
    ]
    p = 1 - lapse_rate
    means = [fmean(calls) for calls in scores]
    assert abs(fmean(means) - p) < 3 * stdev(means) / N_MESSAGES**0.5
    within = [variance(calls) for calls in scores]
    claimed = p * (1 - p) * (1 - (1 - fickleness) ** 2)
    assert abs(fmean(within) - claimed) <= 3 * stdev(within) / N_MESSAGES**0.5


def scored_by(reader: TextReader, message: int, call: int) -> float:
    """Returns the score of one call with a request of its own."""
    one = example([KIND], message, full=True)
    return scored("Answer the request.", {**one, "key": f"{message}/{call}"}, reader)[0]
