"""Which components a step rewrites: all, or the one that the candidate's pointer is at.

The pointer of candidate 3 is the pool state `component:3`; no entry means the first component.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from flashevolve.pools.pareto import Ops, put


def next_components(
    state: Mapping[str, Any],
    candidate: int,
    names: tuple[str, ...],
    mode: Literal["round_robin", "all"],
) -> tuple[tuple[str, ...], Ops]:
    """Returns the components of `candidate` to rewrite now, and what moves its pointer on."""
    if mode == "all" or len(names) == 1:
        return names, ()
    pointer = state.get(_key(candidate), 0)
    return (names[pointer],), (put(_key(candidate), (pointer + 1) % len(names)),)


def inherit(state: Mapping[str, Any], child: int, parents: Sequence[int]) -> Ops:
    """Returns the operations that give a child the furthest of its parents' pointers."""
    furthest = max((state.get(_key(p), 0) for p in parents), default=0)
    return (put(_key(child), furthest),) if furthest else ()


def _key(candidate: int) -> str:
    return f"component:{candidate}"
