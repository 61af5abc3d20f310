"""What the tests of writing share: the answer to a request by a writer who makes no mistake."""

import random

from flashevolve.simulate.attention import Dice
from flashevolve.simulate.planning import Plan, make_plan
from flashevolve.simulate.statements import read
from flashevolve.simulate.writing import write
from flashevolve.simulate.writing.habits import Habits
from tests.simulate.usual import USUAL


def planned(request: str, advice: str = "", draw: int = 1) -> Plan:
    """Returns the plan for a request."""
    return make_plan(read(advice), read(request), dice(draw, request), USUAL)


def written(request: str, advice: str = "", draw: int = 1) -> str:
    """Returns an answer; another `draw` is another writer."""
    return write(planned(request, advice, draw), dice(draw, request))


def dice(draw: int = 1, key: str = "key") -> Dice:
    """Returns dice that never fall alike."""
    return Dice(random.Random(draw), key, 1.0)


def habits(draw: int = 1) -> Habits:
    """Returns some writer's habits."""
    return Habits(dice(draw))
