"""Table: the candidates of a pool as few large texts, for the snapshots of its state.

A long run dumps its pool again and again. As a mapping and a list of numbers for each candidate
that would be a hundred thousand small objects and more at once, whose memory the process does not
give back. Here the artifacts' own texts are referred to, and nearly all else is a few strings.

Invariants: what is made of a table's candidates is what it was made of; a block of rows that is
full does not change as candidates are added, so that a store which keeps each text once writes it
once.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from flashevolve.candidate import Candidate
from flashevolve.pools.rows import Palette

BLOCK = 16
"""Candidates to a text of scores: far fewer objects, and little to write again."""


def table_of(candidates: Collection[Candidate], examples: Sequence[str]) -> dict[str, Any]:
    """Returns candidates as JSON-serialisable data; their scores in the order of `examples`.

    Rows of scores are lines, and scores stand between commas: the place of one of `values`, or the
    score itself; nothing = not scored.
    """
    rest, palette, blocks = iter(candidates), Palette(), []
    while block := list(islice(rest, BLOCK)):
        blocks.append("\n".join(_row(c.scores, examples, palette) for c in block))
    return {
        "artifacts": [c.artifact.components for c in candidates],
        "parents": ";".join(",".join(map(str, c.parents)) for c in candidates),
        "tickets": ",".join(str(c.ticket) for c in candidates),
        "values": ",".join(map(repr, palette.values)),
        "scores": blocks,
    }


def inserts_of(table: Mapping[str, Any], examples: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yields the operations that insert a table's candidates.

    Raises `ValueError` if its columns differ in length.
    """
    values = [float(value) for value in table["values"].split(",") if value]
    rows = (row for block in table["scores"] for row in block.split("\n"))
    columns = (table["artifacts"], table["parents"].split(";"), table["tickets"].split(","), rows)
    for artifact, parents, ticket, row in zip(*columns, strict=True):
        yield {
            "op": "insert",
            "artifact": artifact,
            "parents": [int(parent) for parent in parents.split(",") if parent],
            "scores": _scores(row, examples, values),
            "ticket": int(ticket),
        }


def _row(scores: Mapping[str, float], examples: Sequence[str], palette: Palette) -> str:
    return ",".join(_told(scores[e], palette) if e in scores else "" for e in examples)


def _told(score: float, palette: Palette) -> str:
    place = palette.place(score)
    return repr(score) if place is None else str(place)


def _scores(row: str, examples: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    told = row.split(",") if examples else ()
    # The text of a float is never digits alone.
    return {
        e: values[int(score)] if score.isdigit() else float(score)
        for e, score in zip(examples, told, strict=True)
        if score
    }
