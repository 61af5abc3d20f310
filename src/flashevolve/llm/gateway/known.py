"""Known: what a client of the gateway may name as its model, read off a run's endpoints."""

from collections.abc import Iterable, Mapping, Sequence

from flashevolve.llm.calls import Endpoint
from flashevolve.llm.gateway.bodies import Known
from flashevolve.llm.messages import Request
from flashevolve.llm.roles import KNOWN_ROLES

DEFAULT_TOKENS = Request(messages=()).max_output_tokens


def known_to(endpoints: Mapping[str, Sequence[Endpoint]], roles: Iterable[str]) -> Known:
    """Returns the roles that have a model, and the names of their models.

    `roles` are those that the workflow asks besides the usual ones. A model that several roles have
    stands for the first of them, `task` before all.
    """
    limits: dict[str, int] = {}
    names: dict[str, str] = {}
    for role in dict.fromkeys((*KNOWN_ROLES, *roles, *filter(None, endpoints))):
        choices = endpoints.get(role) or endpoints.get("", ())
        if not choices:
            continue
        # Which of several models answers is drawn later; what is asked must suit any of them.
        limits[role] = min(_limit(choice) for choice in choices)
        for choice in choices:
            for name in (choice.label, choice.label.partition("/")[2]):
                if name:
                    names.setdefault(name, role)
    return Known(limits=limits, names=names)


def _limit(endpoint: Endpoint) -> int:
    return int(endpoint.parameters.get("max_output_tokens", DEFAULT_TOKENS))
