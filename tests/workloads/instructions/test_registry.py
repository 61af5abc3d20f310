import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.workloads.instructions.drawing import Deck, draw
from flashevolve.workloads.instructions.kinds import ALL_KINDS
from flashevolve.workloads.instructions.registry import CHECKERS, TABLES
from flashevolve.workloads.instructions.vocabulary import SPLITS

TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(["a", "B.", "\n", "* ", "**", "|", "- ", "#", "(", ")", "1. ", "> "])
    ).map("".join),
)


def test_no_id_has_two_checkers() -> None:
    assert sum(map(len, TABLES)) == len(CHECKERS)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no timer of a process's own time")
def test_no_checker_takes_long_for_a_long_text() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.workloads.instructions.degenerate"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert done.stdout.split() == list(CHECKERS), done.stderr
    assert done.returncode == 0, f"{done.stdout.split()[-1]} took too long"


@pytest.mark.parametrize("kind", ALL_KINDS)
@given(text=TEXTS, seed=st.integers(0, 50))
def test_a_checker_has_a_verdict_and_a_sentence_on_any_text(
    kind: str, text: str, seed: int
) -> None:
    rng = random.Random(seed)
    verdict = CHECKERS[kind](text, **draw(kind, rng, Deck(SPLITS["test"], rng), "Write."))
    assert verdict.feedback[0].isupper()
    assert verdict.feedback[-1] == "."
    assert "\n" not in verdict.feedback
