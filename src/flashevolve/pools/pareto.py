"""Pareto pool: candidates, and for each key of its frontier, such as an example, the best ones.

Invariants: ids are 0, 1, 2, ... in order of insertion and never leave; a front holds exactly the
candidates at the highest score seen on its key, ascending, zero included; everything derived
(fronts, means, best, ancestors) follows from the inserted candidates alone, whatever the order of
their scores; named state is the algorithm's own and is only replaced as a whole, key by key.

A speculative candidate is a guest in the fronts of the examples that it has scores for (no mean of
its objectives counts until it has them all), and can become a parent; best, tops and the ramp know
confirmed ones alone. A retracted one keeps its id, its text and its scores, and nothing else.

The first candidate may be put in before anything is known of it (`expect`): it is *awaited*, in no
front and without a mean, and the only one that can become a parent until others have scores.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from statistics import fmean
from types import MappingProxyType
from typing import Any, Self, cast

from flashevolve.artifact import Artifact
from flashevolve.candidate import Candidate, Status
from flashevolve.policies.selection import Fronts, front_weights, top_k_weights
from flashevolve.policies.speculation import comparable_mean
from flashevolve.pools.fronts import Frontier, FrontIndex, FrontKey, Objectives, keyed
from flashevolve.pools.pool import Op, Pool
from flashevolve.pools.rows import ScoreRow
from flashevolve.pools.table import inserts_of, table_of

NO_OBJECTIVES: Objectives = MappingProxyType({})

Ops = tuple[dict[str, Any], ...]
"""Operations of one selection or commit."""

RAMP_PER_CONFIRMED = 8
"""Steps in flight per confirmed candidate: a cold start shall not breed W children of the seed."""


def insert(
    artifact: Artifact,
    parents: Iterable[int],
    scores: Mapping[str, float],
    ticket: int,
    reference: int | None = None,
    objectives: Objectives = NO_OBJECTIVES,
) -> dict[str, Any]:
    """Returns the operation that admits an artifact; the pool gives it the next id.

    With a `reference`, the confirmed candidate that it has to beat, it is speculative.
    """
    op: dict[str, Any] = {
        "op": "insert",
        "artifact": artifact.to_json(),
        "parents": list(parents),
        "scores": dict(scores),
        "ticket": ticket,
    }
    op |= _named(objectives)
    return op if reference is None else {**op, "status": "speculative", "reference": reference}


def expect(artifact: Artifact) -> dict[str, Any]:
    """Returns the operation of a selection that puts in the first candidate, without scores.

    The ticket is that of the item which is selected; its commit is to confirm the candidate.
    """
    return {**insert(artifact, (), {}, 0), "ticket": None, "status": "speculative"}


def confirm(
    candidate: int, scores: Mapping[str, float], objectives: Objectives = NO_OBJECTIVES
) -> dict[str, Any]:
    """Returns the operation that gives a candidate all its scores, and full standing."""
    return {"op": "confirm", "id": candidate, "scores": dict(scores), **_named(objectives)}


def _named(objectives: Objectives) -> dict[str, Any]:
    """Returns objectives as part of an operation; nothing where there are none."""
    named = {e: dict(by_name) for e, by_name in objectives.items() if by_name}
    return {"objectives": named} if named else {}


def retract(candidate: int) -> dict[str, Any]:
    """Returns the operation that takes a speculative candidate's standing away."""
    return {"op": "retract", "id": candidate}


def put(key: str, value: Any) -> dict[str, Any]:
    """Returns the operation that sets named state; `value` is JSON."""
    return {"op": "set", "key": key, "value": value}


class ParetoPool:
    """A pool that never evicts. Its operations: `insert`, `confirm`, `retract` and `put`."""

    def __init__(self, frontier: Frontier = "instance") -> None:
        self._version = 0
        self._candidates: dict[int, Candidate] = {}
        self._state: dict[str, Any] = {}
        self._means: dict[int, float] = {}
        self._ids: dict[str, int] = {}
        self._index = FrontIndex(frontier)
        """Of confirmed candidates."""
        self._guests: dict[int, Candidate] = {}
        """Speculative candidates that have some scores."""
        self._awaited: Candidate | None = None
        self._unconfirmed: dict[int, int] = {}
        """Ticket -> its speculative or retracted candidate."""
        self._sweeps: dict[int, None] = {}
        """Ids of confirmed candidates in the order of their confirmation."""
        self._best: Candidate | None = None
        self._fronts: Fronts | None = None
        self._weights: dict[int, int] | None = None
        self._top_weights: dict[int, dict[int, int]] = {}
        """By the number of candidates that they are for."""
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
        """Candidate id -> mean validation score, of all that can become parents.

        A speculative candidate's is comparable: its reference's mean, plus what it is ahead of
        that on the examples that it has scores for.
        """
        return MappingProxyType(self._means)

    @property
    def frontier(self) -> Frontier:
        """What there is a front for."""
        return self._index.frontier

    @property
    def fronts(self) -> Fronts:
        """Key of the frontier -> ids at its best score; keys and ids in ascending order.

        Speculative candidates are in those of the examples that they have scores for.
        """
        if self._fronts is None:
            guests = self._guests.values()
            self._fronts = self._index.with_guests(guests) if guests else self._index.fronts
        return MappingProxyType(self._fronts)

    @property
    def tops(self) -> Mapping[FrontKey, float]:
        """Key of the frontier -> the best score of a confirmed candidate on it."""
        return MappingProxyType(self._index.tops)

    @property
    def parent_weights(self) -> Mapping[int, int]:
        """Front counts after pruning; kept until the next insertion, since every step asks."""
        if self._weights is None:
            self._weights = front_weights(self.fronts, self._means)
        return MappingProxyType(self._weights)

    def top_weights(self, k: int) -> Mapping[int, int]:
        """Returns the same among the `k` candidates with the highest means."""
        if k not in self._top_weights:
            self._top_weights[k] = top_k_weights(self.fronts, self._means, k)
        return MappingProxyType(self._top_weights[k])

    def contains(self, artifact: Artifact) -> int | None:
        """Returns the id of the candidate with the same texts, or None; retracted ones are out."""
        return self._ids.get(artifact.hash)

    def unconfirmed(self, ticket: int) -> Candidate | None:
        """Returns the speculative or retracted candidate of an item, or None."""
        found = self._unconfirmed.get(ticket)
        return None if found is None else self._candidates[found]

    def fall(self, candidate: int) -> Ops:
        """Returns what takes the standing of a candidate's speculative descendants away."""
        return tuple(retract(g) for g in self._guests if candidate in self.ancestors(g))

    @property
    def awaited(self) -> Candidate | None:
        """The first candidate, while nothing is known of it and its item is in flight."""
        return self._awaited

    @property
    def n_sweeps(self) -> int:
        """Confirmed candidates: each stands for one full sweep."""
        return len(self._sweeps)

    def sweeps(self, n: int) -> list[Mapping[str, float]]:
        """Returns the scores of the first `n` full sweeps, in the order of their completion."""
        return [self._candidates[c].scores for c in islice(self._sweeps, n)]

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
        """Returns the confirmed candidate with the highest mean; None while there is none.

        Of several, the one with more scores, then the earliest.
        """
        return self._best

    def marks(
        self, scores: Mapping[str, float], objectives: Objectives = NO_OBJECTIVES
    ) -> tuple[str, ...]:
        """Returns what admitting a candidate with `scores` would improve: `front`, `best`.

        `front` = strictly better than all confirmed ones on some key of the frontier. Nothing for
        the first candidate.
        """
        if self._best is None:
            return ()
        tops, found = self._index.tops, keyed(self.frontier, scores, objectives)
        front = any(score > tops.get(key, float("-inf")) for key, score in found.items())
        best = fmean(scores.values()) > self._best.mean
        return (*(("front",) if front else ()), *(("best",) if best else ()))

    def ramp(self, max_in_flight: int, n_ended: int) -> int:
        """Returns how many steps may be in flight: some per confirmed candidate, at least one.

        The first candidate counts while it is awaited; its own step is among its steps then.

        Each step that has ended lets in one more: a gate that passes next to nobody would otherwise
        leave the backend idle for as long.
        """
        n_parents = self.n_sweeps or int(self._awaited is not None)
        return max(1, min(max_in_flight, RAMP_PER_CONFIRMED * n_parents + n_ended))

    def apply(self, ops: Sequence[Op], *, version: int) -> None:
        """Applies one recorded transaction; afterwards `self.version == version`.

        Raises `ValueError` for an operation that it does not know or an unknown parent.
        """
        for op in ops:
            match op.get("op"):
                case "insert":
                    self._insert(op)
                case "confirm":
                    self._confirm(op)
                case "retract":
                    self._retract(op)
                case "set":
                    self._state[op["key"]] = op["value"]
                case other:
                    raise ValueError(
                        "expected a pool operation 'insert', 'confirm', 'retract' or 'set', got "
                        f"{other!r}; was this run written by a newer version?"
                    )
        self._version = version

    def _insert(self, op: Op) -> None:
        row = ScoreRow(op["scores"], like=self._last_row)
        status: Status = op.get("status", "confirmed")
        candidate = Candidate(
            id=self.next_id,
            artifact=Artifact(op["artifact"]),
            parents=tuple(op["parents"]),
            scores=row,
            objectives=op.get("objectives", NO_OBJECTIVES),
            ticket=op["ticket"],
            status=status,
            reference=op.get("reference"),
        )
        reference = () if candidate.reference is None else (candidate.reference,)
        known = (*candidate.parents, *reference)
        if unknown := [c for c in known if c not in self._candidates]:
            raise ValueError(
                f"expected parents among candidates 0 to {self.next_id - 1}, got {unknown}"
            )
        self._candidates[candidate.id] = candidate
        if status != "retracted":
            self._ids.setdefault(candidate.artifact.hash, candidate.id)
        if status == "confirmed":
            self._last_row = row
            self._admit(candidate)
        else:
            self._unconfirmed[candidate.ticket] = candidate.id
        if status == "speculative" and candidate.reference is None:
            self._awaited = candidate
        elif status == "speculative":
            self._guests[candidate.id] = candidate
            against = self._candidates[op["reference"]].scores
            self._means[candidate.id] = comparable_mean(row, against)
        self._forget_derived()

    def _confirm(self, op: Op) -> None:
        old = self._at(op, "speculative", "retracted")
        row = ScoreRow(op["scores"], like=self._last_row)
        objectives = op.get("objectives", NO_OBJECTIVES)
        candidate = replace(old, scores=row, objectives=objectives, status="confirmed")
        self._last_row = row
        self._candidates[old.id] = candidate
        self._leave(old)
        del self._unconfirmed[old.ticket]
        twin = self._ids.get(old.artifact.hash, old.id)
        self._ids[old.artifact.hash] = min(twin, old.id)
        self._admit(candidate)
        self._forget_derived()

    def _retract(self, op: Op) -> None:
        old = self._at(op, "speculative")
        self._candidates[old.id] = replace(old, status="retracted")
        self._leave(old)
        self._means.pop(old.id, None)
        texts = old.artifact.hash
        if self._ids[texts] == old.id:
            del self._ids[texts]
            others = (c for c in self._candidates.values() if c.status != "retracted")
            if twin := [c.id for c in others if c.artifact.hash == texts]:
                self._ids[texts] = twin[0]
        self._forget_derived()

    def _leave(self, candidate: Candidate) -> None:
        """Ends what a speculative candidate was while it was one."""
        self._guests.pop(candidate.id, None)
        if self._awaited is not None and self._awaited.id == candidate.id:
            self._awaited = None

    def _at(self, op: Op, *statuses: Status) -> Candidate:
        found = self._candidates.get(op["id"])
        if found is None or found.status not in statuses:
            expected = " or ".join(statuses)
            got = "none" if found is None else f"a {found.status} one"
            raise ValueError(f"expected candidate {op['id']} to be {expected}, got {got}")
        return found

    def _admit(self, candidate: Candidate) -> None:
        """Gives a candidate that has all its scores full standing."""
        self._means[candidate.id] = candidate.mean
        self._sweeps[candidate.id] = None
        if self._best is None or _standing(candidate) > _standing(self._best):
            self._best = candidate
        self._index.join(candidate)

    def _forget_derived(self) -> None:
        self._fronts = self._weights = None
        self._top_weights.clear()

    def dump(self) -> dict[str, Any]:
        """Returns the whole state as JSON-serialisable data: candidates and named state."""
        ops = [put(key, self._state[key]) for key in sorted(self._state)]
        candidates = self._candidates.values()
        met = self._met()
        state: dict[str, Any] = {"version": self._version, "examples": met, "ops": ops}
        if self.frontier != "instance":
            state["frontier"] = self.frontier
        if self._candidates:
            state["candidates"] = table_of(candidates, state["examples"])
        # Left out where nothing was ever speculative.
        once = [c for c in candidates if c.reference is not None or c.status != "confirmed"]
        if once:
            state["speculated"] = [[c.id, c.status, c.reference] for c in once]
        if once or list(self._sweeps) != sorted(self._sweeps):
            state["sweeps"] = list(self._sweeps)
        # As texts: a store that keeps each text once writes a candidate's once.
        if named := {str(c.id): json.dumps(c.objectives) for c in candidates if c.objectives}:
            state["objectives"] = named
        return state

    def _met(self) -> list[str]:
        """Returns the examples that some candidate has a score for, ascending."""
        known, candidates = self._index.fronts, self._candidates.values()
        if self.frontier == "instance" and not any(
            c.scores.keys() - known for c in candidates if c.reference is not None
        ):
            return cast(list[str], list(known))
        return sorted({e for c in candidates for e in c.scores})

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Self:
        """Returns the pool that `dump` described, this version's or an older one's."""
        pool, version = cls(state.get("frontier", "instance")), state["version"]
        named = {int(c): json.loads(text) for c, text in state.get("objectives", {}).items()}
        once = {c: {"status": s, "reference": r} for c, s, r in state.get("speculated", ())}
        if (table := state.get("candidates")) is not None:
            inserts = list(inserts_of(table, state["examples"]))
            for op in inserts:
                more = once.get(pool.next_id, {}) | _named(named.get(pool.next_id, {}))
                pool.apply([{**op, **more}], version=version)
        pool._sweeps = dict.fromkeys(state.get("sweeps", pool._sweeps))
        pool.apply(state["ops"], version=version)
        return pool


def _standing(candidate: Candidate) -> tuple[float, int, int]:
    return candidate.mean, len(candidate.scores), -candidate.id


def pareto(pool: Pool) -> ParetoPool:
    """Returns `pool` as the Pareto pool that it is, for a workflow that made it so."""
    return cast(ParetoPool, pool)
