"""Registry: all instructions that a checker exists for, by id.

An id belongs to one checker; what kinds there are is told by the tables that are joined here.
"""

from collections.abc import Mapping, Sequence

from flashevolve.workloads.instructions import further, ifeval
from flashevolve.workloads.instructions.verdict import Checker

TABLES: Sequence[Mapping[str, Checker]] = (ifeval.CHECKERS, further.CHECKERS)

CHECKERS: Mapping[str, Checker] = {
    name: checker for table in TABLES for name, checker in table.items()
}
"""Id of an instruction -> its checker."""
