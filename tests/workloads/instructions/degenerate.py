"""Checks long texts of little variety with every checker; `python -m` this names each before it.

Each text is one that some pattern could go through again and again, from each of its characters.
"""

import random
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

from flashevolve.workloads.instructions.drawing import Deck, draw
from flashevolve.workloads.instructions.registry import CHECKERS
from flashevolve.workloads.instructions.verdict import Checker
from flashevolve.workloads.instructions.vocabulary import SPLITS

N_CHARS = 60_000
LIMIT_S = 2.0
"""Processor time for one text. The slowest takes a tenth of it, and a pattern that goes through a
text from each of its characters, twice as much or more."""
PIECES = [
    *["a", " ", "\n", ".", "*", "1", "|", "#", "(", "[", '"', "`", "a ", "a.", ". ", "**", "**a"],
    *["\n*", "\n-", "\n1. ", "| ", "|-", "(a", "<<", "{", "#a ", "\n ", "```\n", "a'", "P. "],
    *["Well done. ", "acorn ", "so it is! "],
]
FRAMES = [
    ("", ""),
    ("a", "a"),
    ("**", ""),
    ("```\n", "a"),
    ("```\n", "\n```a"),
    ("(", ""),
    ("|a|b|\n|", "x|"),
    ("Well done", "x"),
    ("1.", "x"),
    ("> ", "x"),
]


def texts() -> list[str]:
    """Returns each piece over and over, and words and spaces in frames that are never closed."""
    repeated = [piece * (N_CHARS // len(piece)) for piece in PIECES]
    fillings = ["word " * (N_CHARS // 5), " ." * (N_CHARS // 2)]
    return repeated + [f"{start}{filling}{end}" for start, end in FRAMES for filling in fillings]


def values(name: str) -> dict[str, Any]:
    """Returns values that a checker can be asked for."""
    rng = random.Random(0)
    return draw(name, rng, Deck(SPLITS["test"], rng), "Write about snow.")


def main(checkers: Mapping[str, Checker], values: Callable[[str], Mapping[str, Any]]) -> None:
    """Checks everything; a checker that takes too long ends the process, named last."""
    for name, checker in checkers.items():
        kwargs = values(name)
        checker("A short text.", **kwargs)  # what it loads takes its time, but once
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        for text in texts():
            # Without a handler the signal kills; one in Python would wait for the pattern.
            signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
            checker(text, **kwargs)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)


if __name__ == "__main__":
    main(CHECKERS, values)
