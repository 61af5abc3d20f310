"""What the tests of the grammar share: the slots that a statement fills."""

from collections.abc import Callable, Iterator

from flashevolve.simulate.demands import understand
from flashevolve.simulate.grammar.clauses import Clause, Demand, clauses
from flashevolve.simulate.statements import statement

Part = Callable[[Clause], Iterator[Demand]]


def slots(text: str) -> dict[str, object]:
    """Returns what a statement asks for, by slot; the last value counts."""
    return {d.slot: d.value for d in understand(statement(text)).demands}


def slots_of(part: Part, text: str) -> dict[str, object]:
    """Returns what one part of the grammar finds in a statement."""
    said = statement(text)
    found = (demand for clause in clauses(said.normal, said.literals) for demand in part(clause))
    return {demand.slot: demand.value for demand in found}
