"""How often the 95 % interval of the gain holds the truth, by number of examples.

    python benchmarks/gain_coverage.py [--trials 1000]

Differences are drawn from three distributions with a known mean; the share of intervals that hold
that mean is printed, with the distributions in its columns. 95 is what an interval promises; 1,000
trials tell a share to about 1.4 points either way. Always the same random numbers; minutes.
"""

import argparse
from collections.abc import Callable, Mapping
from random import Random

from flashevolve.gain import gain_of

SIZES = (10, 15, 20, 30, 50)
Draw = Callable[[Random], float]
KINDS: Mapping[str, tuple[float, Draw]] = {
    "normal": (0.1, lambda rng: rng.gauss(0.1, 0.4)),
    "right or wrong": (0.2, lambda rng: rng.choices((-1.0, 0.0, 1.0), (0.1, 0.6, 0.3))[0]),
    "skewed": (0.2, lambda rng: rng.expovariate(2.0) - 0.3),
}
"""Name -> its mean, and how one difference is drawn: two scores' difference, that of two answers
that are right or wrong, and many small losses beside few large gains."""


def coverage(n: int, truth: float, draw: Draw, trials: int) -> float:
    """Returns the share of intervals over `n` examples that hold the truth."""
    rng = Random(1)
    held = told = 0
    for _ in range(trials):
        gain = gain_of({str(i): draw(rng) for i in range(n)})
        if gain.low is not None and gain.high is not None:
            told += 1
            held += gain.low <= truth <= gain.high
    return held / told


def main() -> None:
    """Prints a line for each number of examples."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--trials", type=int, default=1000)
    options = parser.parse_args()
    print("examples  " + "  ".join(KINDS))
    for n in SIZES:
        shares = (coverage(n, truth, draw, options.trials) for truth, draw in KINDS.values())
        row = "  ".join(
            f"{share:.1%}".rjust(len(kind)) for kind, share in zip(KINDS, shares, strict=True)
        )
        print(f"{n:8}  {row}", flush=True)


if __name__ == "__main__":
    main()
