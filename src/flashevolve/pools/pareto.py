"""Pareto pool: candidates, and for each validation example those at its best score.

Invariants: ids are 0, 1, 2, ... in order of insertion and never leave; a front holds exactly the
candidates at the highest score seen on its example, ascending, zero included; everything derived
(fronts, means, best, ancestors) follows from the inserted candidates alone, whatever the order of
their scores; named state is the algorithm's own and is only replaced as a whole, key by key.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from types import MappingProxyType
from typing import Any, Self, cast

from flashevolve.artifact import Artifact
from flashevolve.candidate import Candidate
from flashevolve.policies.selection import Fronts, front_weights
from flashevolve.pools.pool import Op, Pool
from flashevolve.pools.rows import ScoreRow
from flashevolve.pools.table import inserts_of, table_of

Ops = tuple[dict[str, Any], ...]
"""Operations of one selection or commit."""

RAMP_PER_CONFIRMED = 8
"""Steps in flight per confirmed candidate: a cold start shall not breed W children of the seed."""


def insert(
    artifact: Artifact, *, parents: Iterable[int], scores: Mapping[str, float], ticket: int
) -> dict[str, Any]:
    """Returns the operation that admits an artifact; the pool gives it the next id."""
    return {
        "op": "insert",
        "artifact": artifact.to_json(),
        "parents": list(parents),
        "scores": dict(scores),
        "ticket": ticket,
    }


def put(key: str, value: Any) -> dict[str, Any]:
    """Returns the operation that sets named state; `value` is JSON."""
    return {"op": "set", "key": key, "value": value}


class ParetoPool:
    """A pool that never evicts. Its operations are those of `insert` and `put`."""

    def __init__(self) -> None:
        self._version = 0
        self._candidates: dict[int, Candidate] = {}
        self._state: dict[str, Any] = {}
        self._means: dict[int, float] = {}
        self._ids: dict[str, int] = {}
        self._fronts: dict[str, tuple[int, ...]] = {}
        self._tops: dict[str, float] = {}
        self._best: Candidate | None = None
        self._weights: dict[int, int] | None = None
        self._last_row: ScoreRow | None = None
        """Of the candidate inserted last; the next one shares its ids."""

    @property
    def version(self) -> int:
        """The number of transactions that changed the set of selectable artifacts."""
        return self._version

    @property
    def candidates(self) -> Mapping[int, Candidate]:
        """All candidates by id, in order of admission."""
        return MappingProxyType(self._candidates)

    @property
    def next_id(self) -> int:
        """The id that the next inserted candidate gets."""
        return len(self._candidates)

    @property
    def state(self) -> Mapping[str, Any]:
        """Named state: pointers and counters that selections and commits have set."""
        return MappingProxyType(self._state)

    @property
    def means(self) -> Mapping[int, float]:
        """Candidate id -> mean validation score."""
        return MappingProxyType(self._means)

    @property
    def fronts(self) -> Fronts:
        """Validation example id -> ids at its best score; examples and ids in ascending order."""
        return MappingProxyType(self._fronts)

    @property
    def tops(self) -> Mapping[str, float]:
        """Validation example id -> the best score on it."""
        return MappingProxyType(self._tops)

    @property
    def parent_weights(self) -> Mapping[int, int]:
        """Front counts after pruning; kept until the next insertion, since every step asks."""
        if self._weights is None:
            self._weights = front_weights(self._fronts, self._means)
        return MappingProxyType(self._weights)

    def contains(self, artifact: Artifact) -> int | None:
        """Returns the id of the candidate with the same texts, or None."""
        return self._ids.get(artifact.hash)

    def ancestors(self, candidate: int) -> frozenset[int]:
        """Returns the ids of all candidates that this one descends from, itself excluded.

        Walked anew each time: kept for all, they would take the square of the pool's memory.
        """
        found: set[int] = set()
        ahead = [candidate]
        while ahead:
            new = set(self._candidates[ahead.pop()].parents) - found
            found |= new
            ahead += new
        return frozenset(found)

    def best(self) -> Candidate | None:
        """Returns the candidate with the highest mean; None while the pool is empty.

        Of several, the one with more scores, then the earliest.
        """
        return self._best

    def marks(self, scores: Mapping[str, float]) -> tuple[str, ...]:
        """Returns what admitting a candidate with `scores` would improve: `front`, `best`.

        `front` = strictly better than all on some example. Nothing for the first candidate.
        """
        if self._best is None:
            return ()
        front = any(score > self._tops.get(e, float("-inf")) for e, score in scores.items())
        best = fmean(scores.values()) > self._best.mean
        return (*(("front",) if front else ()), *(("best",) if best else ()))

    def ramp(self, max_in_flight: int) -> int:
        """Returns how many steps may be in flight: some per candidate, at least one."""
        return max(1, min(max_in_flight, RAMP_PER_CONFIRMED * len(self._candidates)))

    def apply(self, ops: Sequence[Op], *, version: int) -> None:
        """Applies one recorded transaction; afterwards `self.version == version`.

        Raises `ValueError` for an operation that it does not know or an unknown parent.
        """
        for op in ops:
            if op.get("op") == "insert":
                self._insert(op)
            elif op.get("op") == "set":
                self._state[op["key"]] = op["value"]
            else:
                raise ValueError(
                    f"expected a pool operation 'insert' or 'set', got {op.get('op')!r}; "
                    "was this run written by a newer version?"
                )
        self._version = version

    def _insert(self, op: Op) -> None:
        row = ScoreRow(op["scores"], like=self._last_row)
        candidate = Candidate(
            id=self.next_id,
            artifact=Artifact(op["artifact"]),
            parents=tuple(op["parents"]),
            scores=row,
            ticket=op["ticket"],
        )
        if unknown := [p for p in candidate.parents if p not in self._candidates]:
            raise ValueError(
                f"expected parents among candidates 0 to {self.next_id - 1}, got {unknown}"
            )
        self._last_row = row
        self._candidates[candidate.id] = candidate
        self._means[candidate.id] = candidate.mean
        self._ids.setdefault(candidate.artifact.hash, candidate.id)
        if self._best is None or _standing(candidate) > _standing(self._best):
            self._best = candidate
        self._join_fronts(candidate)

    def _join_fronts(self, candidate: Candidate) -> None:
        met_before = len(self._fronts)
        for example, score in candidate.scores.items():
            top = self._tops.get(example)
            if top is None or score > top:
                self._tops[example] = score
                self._fronts[example] = (candidate.id,)
            elif score == top:
                self._fronts[example] += (candidate.id,)
        if len(self._fronts) > met_before:
            self._fronts = dict(sorted(self._fronts.items()))
            self._tops = dict(sorted(self._tops.items()))
        self._weights = None

    def copy(self) -> Self:
        """Returns a pool in the same state, which changes apart from this one."""
        twin = type(self)()
        for name, value in vars(self).items():
            setattr(twin, name, dict(value) if isinstance(value, dict) else value)
        return twin

    def dump(self) -> dict[str, Any]:
        """Returns the whole state as JSON-serialisable data: candidates and named state."""
        ops = [put(key, self._state[key]) for key in sorted(self._state)]
        state: dict[str, Any] = {
            "version": self._version,
            "examples": list(self._fronts),
            "ops": ops,
        }
        if self._candidates:
            state["candidates"] = table_of(self._candidates.values(), state["examples"])
        return state

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Self:
        """Returns the pool that `dump` described, this version's or an older one's."""
        pool, version = cls(), state["version"]
        if (table := state.get("candidates")) is not None:
            for op in inserts_of(table, state["examples"]):
                pool.apply([op], version=version)
        pool.apply(state["ops"], version=version)
        return pool


def _standing(candidate: Candidate) -> tuple[float, int, int]:
    return candidate.mean, len(candidate.scores), -candidate.id


def pareto(pool: Pool) -> ParetoPool:
    """Returns `pool` as the Pareto pool that it is, for a workflow that made it so."""
    return cast(ParetoPool, pool)
