"""Score: the share of an example's constraints that an answer meets, with feedback on each."""

from collections.abc import Mapping
from typing import Any

from flashevolve.errors import DataError, nearest
from flashevolve.workloads.instructions.checkers import CHECKERS, check


def score(example: Mapping[str, Any], output: str) -> tuple[float, str]:
    """Returns the share of constraints met, in [0, 1], and one feedback sentence per constraint.

    Raises `DataError` if the example has no constraints or one of an unknown kind.
    """
    constraints = example["constraints"]
    if not constraints:
        raise DataError(f"an example needs at least one constraint, {example.get('id')!r} has none")
    for constraint in constraints:
        if constraint["kind"] not in CHECKERS:
            raise DataError(
                f"expected a known kind of constraint, found {constraint['kind']!r} in example "
                f"{example.get('id')!r}.{nearest(constraint['kind'], CHECKERS)}"
            )
    verdicts = [check(str(output), constraint) for constraint in constraints]
    share = sum(v.passed for v in verdicts) / len(verdicts)
    return share, " ".join(v.feedback for v in verdicts)
