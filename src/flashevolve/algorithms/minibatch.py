"""Minibatches: successive slices of the shuffled training set, reshuffled every epoch.

The order and the position in it are pool state, so a minibatch is a pure function of the pool and
the selection's generator, and a resumed run continues where the log ends.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from flashevolve.policies.sampling import epoch_order
from flashevolve.pools.pareto import Ops, put

ORDER, POSITION = "minibatch.order", "minibatch.position"


def next_minibatch(
    state: Mapping[str, Any], train_ids: Sequence[str], size: int, rng: Random
) -> tuple[list[str], Ops]:
    """Returns the next `size` ids and the operations that move the sampler past them.

    At the end of an epoch it takes one shuffle from `rng`. Where padding repeats an id within a
    minibatch, it is in it twice. A rest that is smaller than `size`, as after a change of size,
    is left out of its epoch.
    """
    order, position = state.get(ORDER, []), state.get(POSITION, 0)
    ops: Ops = ()
    if position + size > len(order):
        order, position = epoch_order(train_ids, size, rng), 0
        ops = (put(ORDER, order),)
    end = position + size
    return order[position:end], (*ops, put(POSITION, end))
