"""Round robin over components: each candidate has a pointer to the one to rewrite next.

The pointer of candidate 3 is the pool state `component:3`; no entry means the first component.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from flashevolve.pools.pareto import Ops, put


def next_component(
    state: Mapping[str, Any], candidate: int, names: Sequence[str]
) -> tuple[tuple[str, ...], Ops]:
    """Returns the one component of `candidate` to rewrite now, and what moves its pointer on."""
    if len(names) == 1:
        return tuple(names), ()
    pointer = state.get(_key(candidate), 0)
    return (names[pointer],), (put(_key(candidate), (pointer + 1) % len(names)),)


def inherit(state: Mapping[str, Any], child: int, parents: Sequence[int]) -> Ops:
    """Returns the operations that give a child the furthest of its parents' pointers."""
    furthest = max((state.get(_key(p), 0) for p in parents), default=0)
    return (put(_key(child), furthest),) if furthest else ()


def _key(candidate: int) -> str:
    return f"component:{candidate}"
