"""Advice earns by what it says, however it is said."""

import pytest

from flashevolve.workloads.instructions import generate
from tests.simulate.instructing import SEED, mean
from tests.simulate.paraphrases import ADVICE

N_EXAMPLES = 150


def test_there_are_seventy_two_paraphrases() -> None:
    assert sum(len(set(advice.others)) for advice in ADVICE.values()) == 72


@pytest.mark.parametrize("kind", ADVICE)
def test_all_paraphrases_of_one_piece_of_advice_earn_the_same(kind: str) -> None:
    examples = generate(1, 0, 0, N_EXAMPLES, kinds=[kind], n_constraints=[1])["test"]
    bare = mean(SEED, examples)
    plain = mean(f"{SEED}\n{ADVICE[kind].plain}", examples)
    assert plain > bare + 0.15
    for said in ADVICE[kind].others:
        # Two shares of 150 near 0.9 differ by chance with a standard deviation of 0.035.
        assert abs(mean(f"{SEED}\n{said}", examples) - plain) < 3 * 0.035, said
