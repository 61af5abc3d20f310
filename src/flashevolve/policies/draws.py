"""Derived randomness: every draw has its own generator, named by what it is for.

No stream is shared, so neither the order of arrivals nor a restart can change a draw.
"""

import hashlib
from random import Random


def derived_seed(run_seed: int, *purpose: object) -> int:
    """Returns 64 bits that depend on the run's seed and on every part of `purpose`."""
    text = "\x1f".join([str(run_seed), *map(str, purpose)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def derived_rng(run_seed: int, *purpose: object) -> Random:
    """Returns a generator for one purpose."""
    return Random(derived_seed(run_seed, *purpose))
