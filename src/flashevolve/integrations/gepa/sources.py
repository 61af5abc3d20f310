"""Sources: mutations chosen by gepa's own selectors and samplers, where the user brought one."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from flashevolve.algorithms.components import next_components
from flashevolve.algorithms.gepa.sources import MutateSource
from flashevolve.algorithms.minibatch import next_minibatch
from flashevolve.engine.item import Selection
from flashevolve.errors import TaskError
from flashevolve.pools.pareto import ParetoPool, put

if TYPE_CHECKING:
    from flashevolve.algorithms.gepa.sources import Step
    from flashevolve.integrations.gepa.workflow import Objects

N_MUTATIONS = "mutations"
"""Pool state: mutations selected so far, which a sampler of gepa's takes for its iteration."""


@dataclass(frozen=True, kw_only=True)
class AdaptedSource(MutateSource):
    """Starts a mutation; asks the user's objects what they want to decide."""

    objects: "Objects"

    def can_start(self, pool: ParetoPool) -> bool:
        """Says whether there is a candidate to mutate.

        Objects of the user's that look at a `GEPAState` wait for the seed's scores, with which that
        begins.
        """
        objects = self.objects
        looking = (
            objects.selector, objects.sampler, objects.components, objects.acceptance,
            objects.validation, objects.built, objects.traced, objects.proposed,
        )  # fmt: skip
        if any(one is not None for one in looking) and pool.awaited is not None:
            return False
        return super().can_start(pool)

    def parent(self, pool: ParetoPool, rng: Random) -> int:
        """Returns the candidate to mutate."""
        selector = self.objects.selector
        if selector is None:
            return super().parent(pool, rng)
        state = self.objects.mirror.sync()
        if state is None:
            return next(iter(pool.candidates))
        index = selector.select_candidate_idx(state)
        try:
            return self.objects.mirror.candidate_of(index)
        except LookupError as error:
            raise TaskError(f"candidate_selection_strategy: {error}. Mend it") from None

    def mutation(self, state: Mapping[str, Any], parent: int, rng: Random) -> Selection["Step"]:
        """Returns the start of a mutation of `parent`; `state` is the pool's."""
        objects, ops = self.objects, list[dict[str, Any]]()
        if objects.sampler is None:
            ids, moves = next_minibatch(state, self.setup.train_ids, self.n_examples, rng)
            ops += moves
        else:
            ids = self._sampled(state)
            ops.append(put(N_MUTATIONS, state.get(N_MUTATIONS, 0) + 1))
        names: tuple[str, ...] = ()
        if objects.components is None:
            names, moves = next_components(state, parent, objects.order, self.config.components)
            ops += moves
        step = self.step(parents=(parent,), examples=tuple(dict.fromkeys(ids)), components=names)
        return Selection(payload=step, lineage=(parent,), ops=tuple(ops))

    def _sampled(self, state: Mapping[str, Any]) -> list[str]:
        """Returns what the user's sampler wants to be looked at next."""
        table, mirrored = self.objects.train, self.objects.mirror.sync()
        if mirrored is not None:
            mirrored.i = max(mirrored.i, state.get(N_MUTATIONS, 0))
        ids = self.objects.sampler.next_minibatch_ids(table.loader, mirrored)
        unknown = [i for i in ids if i not in table.ours]
        if unknown or not ids:
            found = repr(unknown[0]) if unknown else "none"
            raise TaskError(
                f"batch_sampler: expected ids of the training set as it was when the run began, "
                f"found {found}. Mend it"
            )
        return [table.ours[i] for i in ids]
