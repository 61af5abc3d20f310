"""Checks long texts of little variety with every checker of IFBench; see `instructions`' own."""

from flashevolve.workloads.ifbench.checkers import CHECKERS
from tests.workloads.ifbench.checkers import (
    test_counts,
    test_formats,
    test_requests,
    test_sequences,
    test_words,
)
from tests.workloads.instructions.degenerate import main

CASES = [
    case
    for module in (test_counts, test_words, test_sequences, test_formats, test_requests)
    for case in module.CASES
]
"""All cases of this folder."""

if __name__ == "__main__":
    values = {case.id: case.values for case in CASES}
    main(CHECKERS, values.__getitem__)
