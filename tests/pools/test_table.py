import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.artifact import Artifact
from flashevolve.candidate import Candidate
from flashevolve.pools.pareto import insert
from flashevolve.pools.rows import N_VALUES
from flashevolve.pools.table import BLOCK, inserts_of, table_of

EXAMPLES = ["a", "b", "c"]
rows = st.dictionaries(st.sampled_from(EXAMPLES), st.floats(allow_nan=False), max_size=3)


def candidates(*history: dict[str, float]) -> list[Candidate]:
    return [
        Candidate(
            id=i,
            artifact=Artifact({"system": f"text {i}", "tool": "same"}),
            parents=tuple(range(min(i, 2))),
            scores=scores,
            ticket=7 * i,
        )
        for i, scores in enumerate(history)
    ]


def inserted(found: list[Candidate]) -> list[dict[str, Any]]:
    return [insert(c.artifact, parents=c.parents, scores=c.scores, ticket=c.ticket) for c in found]


@given(st.lists(rows, min_size=1, max_size=3 * BLOCK))
def test_a_table_gives_back_the_operations_that_insert_its_candidates(history: Any) -> None:
    found = candidates(*history)
    table = json.loads(json.dumps(table_of(found, EXAMPLES)))
    assert list(inserts_of(table, EXAMPLES)) == inserted(found)


def test_scores_beyond_those_that_are_numbered_are_written_out() -> None:
    found = candidates(*({"a": i / 7, "b": float(i)} for i in range(N_VALUES)))
    table = table_of(found, ["a", "b"])
    assert len(table["values"].split(",")) == N_VALUES
    assert "36.285714285714285" in table["scores"][-1]
    assert list(inserts_of(table, ["a", "b"])) == inserted(found)


def test_a_block_that_is_full_stays_as_it_is() -> None:
    found = candidates(*({"a": i / 3} for i in range(3 * BLOCK)))
    few, many = (table_of(found[:n], EXAMPLES)["scores"] for n in (2 * BLOCK + 1, 3 * BLOCK))
    assert few[:2] == many[:2]
    assert len(few) == len(many) == 3


@pytest.mark.parametrize("column", ["parents", "tickets"])
def test_columns_of_different_length_are_refused(column: str) -> None:
    table = table_of(candidates({"a": 1.0}, {"a": 0.0}), EXAMPLES)
    with pytest.raises(ValueError, match=r"shorter|longer"):
        list(inserts_of({**table, column: "1"}, EXAMPLES))


def test_a_row_of_other_examples_is_refused() -> None:
    table = table_of(candidates({"a": 1.0}), EXAMPLES)
    with pytest.raises(ValueError, match=r"shorter|longer"):
        list(inserts_of(table, ["a"]))
