"""What GEPA says to the reflecting model; the words are in `prompts/`."""

from flashevolve.replies.fences import fence
from flashevolve.templates import fill, template


def reflect(own: str | None, component: str, current: str, records: str) -> str:
    """Returns the request to rewrite a component; `own` = a template in place of the package's."""
    values = {"component": component, "current": fence(current), "examples": records}
    return fill(own or template(__package__, "reflect"), values)


def again(component: str, problem: str) -> str:
    """Returns the request to repeat an answer that could not be read."""
    return fill(template(__package__, "again"), {"component": component, "problem": problem})
