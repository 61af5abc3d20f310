"""Generator: the requests of `instructions`, with kinds in the test split that the others lack.

All else is that generator's: no subject and no word asked for is in two splits, and the same
arguments give the same files.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from flashevolve.workloads import instructions
from flashevolve.workloads.instructions import DEFAULT_KINDS, UNSEEN

KINDS = frozenset({*DEFAULT_KINDS, *UNSEEN})
"""Those of `UNSEEN` occur in the test split only. None needs a package of the extra."""
N_CONSTRAINTS = (1, 2, 2, 3)


def generate(
    seed: int = 0,
    n_train: int = 60,
    n_val: int = 60,
    n_test: int = 100,
    *,
    kinds: Collection[str] = KINDS,
    n_constraints: Sequence[int] = N_CONSTRAINTS,
) -> dict[str, list[dict[str, Any]]]:
    """Returns examples under `train`, `val` and `test`; see `instructions.generate`."""
    return instructions.generate(
        seed, n_train, n_val, n_test, kinds=kinds, n_constraints=n_constraints
    )


def write(
    directory: str | Path,
    *,
    seed: int = 0,
    n_train: int = 60,
    n_val: int = 60,
    n_test: int = 100,
    kinds: Collection[str] = KINDS,
    n_constraints: Sequence[int] = N_CONSTRAINTS,
) -> dict[str, Path]:
    """Writes `train.jsonl`, `val.jsonl` and `test.jsonl` and returns their paths by split."""
    return instructions.write(
        directory,
        seed=seed,
        n_train=n_train,
        n_val=n_val,
        n_test=n_test,
        kinds=kinds,
        n_constraints=n_constraints,
    )
