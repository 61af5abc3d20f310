from dataclasses import dataclass

from flashevolve import events as ev
from flashevolve.engine.workflow import Setup
from flashevolve.pools.pool import Pool
from tests.fakes.runs import Bench
from tests.fakes.workflows import Every, Reduction


@dataclass(frozen=True)
class Few(Every):
    """A source that may have three steps in flight."""

    def cap(self, pool: Pool) -> int:
        return 3


class FewReductions(Reduction):
    """The small workflow with a capped source beside its own."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.sources = (Few("few", 12), *self.sources)


def test_a_capped_source_keeps_to_its_cap_and_leaves_the_other_credits_to_others() -> None:
    bench = Bench(FewReductions, in_flight=8, workers=8)
    bench.run()
    few, others, most_few, most = set[int](), set[int](), 0, 0
    for record in bench.store.records:
        match record.event:
            case ev.ItemSelected(ticket=ticket, source=source):
                (few if source == "few" else others).add(ticket)
            case ev.ItemEnded(ticket=ticket):
                few.discard(ticket)
                others.discard(ticket)
        most_few, most = max(most_few, len(few)), max(most, len(few | others))
    selected = [e for e in bench.store.events(ev.ItemSelected) if e.source == "few"]
    assert len(selected) == 12
    assert (most_few, most) == (3, 8)
