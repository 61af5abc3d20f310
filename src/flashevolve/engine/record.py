"""Record: the events of an item's life, put into words in one place.

Pure: each function turns what the engine knows into one event, and decides nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from flashevolve import events as ev
from flashevolve.engine.context import Visit
from flashevolve.engine.item import Commit, Selection
from flashevolve.engine.repair import Verdict


def item_selected(
    selection: Selection[Any],
    source: str,
    ticket: int,
    ordinal: int,
    version: int,
    enter: str,
    payload: Any,
) -> ev.ItemSelected:
    """Returns the event of an item that `source` starts; `payload` is encoded."""
    return ev.ItemSelected(
        ticket=ticket,
        source=source,
        ordinal=ordinal,
        version=version,
        reads=list(selection.reads),
        lineage=list(selection.lineage),
        enter=enter,
        payload=payload,
        ops=ops_of(selection, ticket),
    )


def ops_of(selection: Selection[Any], ticket: int) -> list[Mapping[str, Any]]:
    """Returns what starting an item does to the pool.

    An operation that leaves its ticket open (`None`) gets the item's, which no source can know.
    """
    return [{**op, "ticket": ticket} if op.get("ticket", 0) is None else op for op in selection.ops]


Counts = tuple[str, int] | None
"""A counter, and by how much it rises."""


def stage_ended(
    visit: Visit,
    to: str | None,
    payload: Any,
    counts: Counts,
    proposals: int,
    *,
    n_recorded: int | None = None,
) -> ev.StageEnded:
    """Returns the event of a stage that is done with an item; `payload` is encoded.

    `n_recorded`: outcomes that are there where the stage's tail goes on; None = it has none.
    """
    name, n_counted = counts or (None, 1)
    spent = visit.metric_calls if n_recorded is None else n_recorded
    return ev.StageEnded(
        ticket=visit.ticket,
        stage=visit.stage,
        visit=visit.visit,
        to=to,
        payload=payload,
        metric_calls=spent,
        proposals=proposals,
        counts=name,
        n_counted=n_counted,
        tail=None if n_recorded is None else visit.needs.metric_calls - spent,
    )


def item_repaired(ticket: int, said: Verdict) -> ev.ItemRepaired:
    """Returns the event of the repairing model's verdict."""
    return ev.ItemRepaired(
        ticket=ticket,
        verdict=said.verdict,
        reason=said.reason,
        version=said.version,
        base=said.base.id if said.base else None,
        n_updates_shown=said.n_shown,
        n_updates_cut=said.n_cut,
    )


def pool_changed(
    ticket: int,
    commit: Commit,
    version: int,
    speculation: ev.SpeculationStep | None = None,
    missed: int | None = None,
    tainted: Sequence[int] = (),
) -> ev.PoolChanged:
    """Returns the event of a commit to a pool at `version`."""
    return ev.PoolChanged(
        ticket=ticket,
        version=version + commit.bumps,
        bumped=commit.bumps,
        ops=list(commit.ops),
        scopes=list(commit.scopes),
        text=commit.text,
        marks=list(commit.marks),
        speculation=speculation,
        missed=missed,
        tainted=list(tainted),
    )
