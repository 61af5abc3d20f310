"""Mirror: a real `GEPAState` that follows our pool, for whatever of gepa's wants to look at one.

The pool is the truth; the mirror only reads it. Confirmed candidates enter when
`sync` first meets them, under indices of gepa's own; a speculative one is no program of gepa's.
Invariants: an index is never reused or changed; a program's parents precede it. Everything here is
called on the run's event loop.
"""

from collections.abc import Callable, Mapping
from typing import Any

from flashevolve.candidate import Candidate
from flashevolve.engine.state import RunState
from flashevolve.integrations.gepa.data import Table
from flashevolve.pools.pareto import ParetoPool, pareto

Outputs = Callable[[Candidate], Mapping[str, Any]]
"""A candidate -> what the adapter returned for it, by our example id, as far as that is known."""


def no_outputs(candidate: Candidate) -> Mapping[str, Any]:
    """Knows of no output."""
    return {}


class Mirror:
    """gepa's view of a run."""

    def __init__(
        self,
        read: Callable[[], RunState | None],
        val: Table,
        order: tuple[str, ...],
        *,
        frontier_type: str = "instance",
        track_best_outputs: bool = True,
        outputs: Outputs = no_outputs,
    ) -> None:
        """`read` returns the run's state; `order` are the components as the user ordered them."""
        self._read = read
        self._val = val
        self._order = order
        self._frontier_type = frontier_type
        self._track = track_best_outputs
        self._outputs = outputs
        self._index: dict[int, int] = {}
        self.state: Any = None
        """The `GEPAState`; None until the seed has its scores."""

    def sync(self) -> Any:
        """Adds what is new and returns the state; None until the seed has its scores."""
        run = self._read()
        if run is None:
            return self.state
        pool = pareto(run.pool)
        first = pool.candidates.get(0)
        if first is None or first.status != "confirmed":
            # A child may have its scores before the seed has; gepa's state begins with the seed.
            return self.state
        if len(self._index) < pool.n_sweeps:
            for candidate in _in_order(pool):
                if candidate.id not in self._index:
                    self._add(candidate, pool, int(run.ledger.spent.get("metric_calls", 0)))
        if self.state is not None:
            self._count(run, pool)
        return self.state

    def index_of(self, candidate: int, pool: ParetoPool) -> int:
        """Returns gepa's index of a candidate; of an unconfirmed one, that of its ancestor."""
        if candidate not in self._index:
            self.sync()  # As after a resume, where no event has told of it yet.
        return self._nearest(candidate, pool)

    def _nearest(self, candidate: int, pool: ParetoPool) -> int:
        while candidate not in self._index:
            candidate = pool.candidates[candidate].parents[0]
        return self._index[candidate]

    def candidate_of(self, index: int) -> int:
        """Returns our id of the program at gepa's index. Raises `LookupError` if there is none."""
        for candidate, known in self._index.items():
            if known == index:
                return candidate
        raise LookupError(f"expected a program from 0 to {len(self._index) - 1}, found {index!r}")

    def texts(self, artifact: Mapping[str, str]) -> dict[str, str]:
        """Returns the components as gepa's users know them: a dict in the order of the seed."""
        return {name: artifact[name] for name in self._order}

    def _add(self, candidate: Candidate, pool: ParetoPool, spent: int) -> None:
        from gepa.core.state import GEPAState, ValsetEvaluation

        artifact = candidate.artifact
        scores = {self._val.ids[e]: score for e, score in candidate.scores.items()}
        outputs = {}
        if self._track:
            known = self._outputs(candidate)
            outputs = {self._val.ids[e]: known[e] for e in candidate.scores if e in known}
        # Also of examples that have none: gepa takes a state without any for a mistake.
        told = candidate.objectives if self._frontier_type == "instance" else candidate.scores
        objectives = {self._val.ids[e]: dict(candidate.objectives.get(e, {})) for e in told}
        evaluation = ValsetEvaluation(
            outputs_by_val_id=outputs,
            scores_by_val_id=scores,
            objective_scores_by_val_id=objectives or None,
        )
        if self.state is None:
            self.state = GEPAState(
                self.texts(artifact),
                evaluation,
                track_best_outputs=self._track,
                frontier_type=self._frontier_type,
            )
            self.state.total_num_evals = spent
            self.state.num_full_ds_evals = 0
            self._index[candidate.id] = 0
            return
        if self._track:
            # gepa appends to the entry of an example, which is missing after a resume.
            for val_id in outputs:
                self.state.best_outputs_valset.setdefault(val_id, [])
        parents = list(dict.fromkeys(self._nearest(p, pool) for p in candidate.parents))
        # gepa counts what was made before a program's validation; the seed's count is 0.
        before = max(0, spent - len(scores))
        self._index[candidate.id] = self.state.update_state_with_new_program(
            parents, self.texts(artifact), evaluation, None, before
        )

    def _count(self, run: RunState, pool: ParetoPool) -> None:
        """Brings gepa's counters up to date: steps that ended, metric calls, pointers."""
        state = self.state
        # gepa's counter starts at -1 and names the iteration under way.
        state.i = max(state.i, run.n_forecast - 1)
        while len(state.full_program_trace) <= state.i:
            state.full_program_trace.append({"i": len(state.full_program_trace)})
        spent = int(run.ledger.spent.get("metric_calls", 0))
        if spent > state.total_num_evals:
            state.increment_evals(spent - state.total_num_evals)
        state.num_full_ds_evals = len(self._index)
        pointers = state.named_predictor_id_to_update_next_for_program_candidate
        for candidate, index in self._index.items():
            pointers[index] = pool.state.get(f"component:{candidate}", pointers[index])


def _in_order(pool: ParetoPool) -> list[Candidate]:
    """Returns the confirmed candidates, parents first."""
    return [c for c in pool.candidates.values() if c.status == "confirmed"]
