"""What Combee says to the reflecting model besides GEPA's words; the texts are in `prompts/`."""

from collections.abc import Sequence

from flashevolve.replies.fences import fence
from flashevolve.templates import fill, template


def reduce(component: str, current: str, proposals: Sequence[str]) -> str:
    """Returns the request to make one text of the groups' proposals."""
    versions = (
        f"## Version {place}\n{fence(text)}" for place, text in enumerate(proposals, start=1)
    )
    values = {
        "component": component,
        "current": fence(current),
        "proposals": "\n\n".join(versions),
    }
    return fill(template(__package__, "reduce"), values)
