"""Roles: the names under which models are asked, and which unknown name is a slip of the pen."""

from collections.abc import Iterable
from difflib import get_close_matches

KNOWN_ROLES = ("task", "reflect", "repair", "judge", "embed")
"""Every configuration may name these, whether or not this run asks them."""
CLOSE = 0.75
"""Likeness of a name with one letter wrong out of four; words that merely resemble stay below."""


def meant(role: str, known: Iterable[str]) -> str | None:
    """Returns the one of `known` that `role` is probably a misspelling of; None if it is none."""
    known = [name for name in known if name]
    if role in known:
        return None
    close = get_close_matches(role, known, n=1, cutoff=CLOSE)
    return close[0] if close else None
