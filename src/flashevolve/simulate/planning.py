"""Planning: what the answer shall look like, from the statements that were attended to.

The request and the standing advice may fill the same slot. What only one of them says holds; where
they differ one value is drawn, the request's with weight 1 and each mention in the advice with the
anchoring weight. Advice about a part of a text (bullets, a title) shapes that part where the
request asks for it; advice about the whole text always applies, and so does harm if it is wrong.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flashevolve.simulate.attention import Dice, ReaderParameters
from flashevolve.simulate.demands import Demand, Reading, Value, understand
from flashevolve.simulate.statements import Statement, words_of

_ALL_HOLD = frozenset(
    {"ban", "ban letter", "include", "uncounted", "count", "option", "paragraph start"}
)
"""Slots whose values add up instead of competing."""

_PARTS = frozenset(
    words_of(
        """title postscript variants exactly_variant repeat signature table choice format wrap"""
    )
)
"""Slots that advice fills only if it asks for the part in so many words."""


MAX_COUNT = 1_000
"""Whoever asks for more of anything gets so many. An answer holds at most 32,768 tokens, and who
wrote a million lines would stop everyone else who is served."""
MAX_WORDS = 8_000
"""The same for words, some of which may stand in an answer twice."""


@dataclass(frozen=True)
class Plan:
    """What to write."""

    topic: tuple[str, ...]
    """Words of the request that say what it is about."""
    values: Mapping[str, Value]
    """Slot -> value."""
    lists: Mapping[str, tuple[Value, ...]]
    """`ban`, `include` and the like -> values, all of which hold."""
    request: Sequence[Statement] = ()
    """All that the request says, whatever of it was attended to."""

    @property
    def task(self) -> str:
        """The sentences of the request that say what it is about, as they stand there.

        Who repeats them looks at them again: all of them are there, and none is misread.
        """
        return " ".join(said.text for said in self.request if not understand(said).demands)

    def number(self, slot: str) -> int | None:
        """Returns the count in a slot; None if nothing was asked."""
        value = self.values.get(slot)
        return value if isinstance(value, int) else None

    def text(self, slot: str) -> str | None:
        """Returns the text in a slot; None if nothing was asked."""
        value = self.values.get(slot)
        return value if isinstance(value, str) else None

    def mark(self, slot: str) -> tuple[str, str] | None:
        """Returns what stands before and after something; None if nothing was asked."""
        value = self.values.get(slot)
        return (str(value[0]), str(value[1])) if isinstance(value, tuple) else None

    def texts(self, slot: str) -> tuple[str, ...]:
        """Returns the texts in a slot whose values add up."""
        return tuple(value for value in self.lists.get(slot, ()) if isinstance(value, str))

    def counts(self) -> list[tuple[str, str, int]]:
        """Returns literals with the relation and the number of their occurrences."""
        asked = [value for value in self.lists.get("count", ()) if isinstance(value, tuple)]
        return [(str(v[0]), str(v[1]), int(v[2])) for v in asked if len(v) == 3]

    def refused(self, slot: str) -> tuple[Value, ...]:
        """Returns the values that a slot must not have."""
        return self.lists.get(f"not {slot}", ())

    def openings(self) -> dict[int, str]:
        """Returns number of a paragraph -> the word that it starts with."""
        asked = [v for v in self.lists.get("paragraph start", ()) if isinstance(v, tuple)]
        return {int(v[0]): str(v[1]) for v in asked}


def make_plan(
    advice: Sequence[Statement],
    request: Sequence[Statement],
    dice: Dice,
    parameters: ReaderParameters,
    whole: Sequence[Statement] | None = None,
) -> Plan:
    """Returns the plan that the attended statements of advice and of request add up to.

    `whole` is the request with what was not attended to; None = `request` is all of it.
    """
    offers: dict[str, list[tuple[Value, float]]] = defaultdict(list)
    topic: list[str] = []
    asked: set[str] = set()
    for said in request:
        asked |= said.stems
        demands = understand(said).demands
        if not demands:
            topic += said.text.rstrip(".!?").split()
        for demand in demands:
            offers[demand.slot].append((_bounded(demand), 1.0))
    for said in advice:
        reading = understand(said)
        if reading.condition and not reading.condition & asked:
            continue
        for demand in reading.demands:
            if _applies(demand, reading):
                offers[demand.slot].append((_bounded(demand), parameters.anchoring))
    values: dict[str, Value] = {}
    lists: dict[str, tuple[Value, ...]] = {}
    for slot, offered in offers.items():
        if slot in _ALL_HOLD or slot.startswith("not "):
            lists[slot] = tuple(dict.fromkeys(value for value, _ in offered))
        elif len({value for value, _ in offered}) == 1:
            values[slot] = offered[0][0]
        else:
            values[slot] = offered[dice.pick(f"slot {slot}", [w for _, w in offered])][0]
    return Plan(tuple(topic), values, lists, request if whole is None else whole)


def _bounded(demand: Demand) -> Value:
    """Returns the value of a demand; no number in it is larger than what can be written."""
    most = MAX_WORDS if demand.slot.endswith((" word", " unique")) else MAX_COUNT
    value = demand.value
    if isinstance(value, int):
        return max(-most, min(value, most))
    if demand.slot == "paragraph start" and isinstance(value, tuple):
        which, word = value[:2]
        return (min(int(which), most), str(word))
    return value


def _applies(demand: Demand, reading: Reading) -> bool:
    return demand.slot.replace(" ", "_") not in _PARTS or reading.creating
