"""Explain: a pydantic report as one line. Which key, what was expected, what was found.

Nothing that may be a key or a password is repeated in a message.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

from flashevolve.errors import ConfigError, nearest
from flashevolve.llm.secrets import holds_secret

if TYPE_CHECKING:
    from pydantic import ValidationError

Loc = tuple[int | str, ...]

_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument", "unexpected_positional_argument")
_MISSING = ("missing", "missing_argument")
_PRIVATE = ("key_env", "base_url", "extra_headers", "extra_body")
_PLAIN = (
    (r"Input should be a valid dictionary.*|Input should be a dictionary.*", "expected a table"),
    (r"Input should be a valid string", "expected text"),
    (r"Input should be a valid integer", "expected a whole number"),
    (r"Input should be (greater|less) than", r"expected a number \1 than"),
    (r"Input is not a valid path.*", "expected a path"),
    (r"Input should be a valid ", "expected a "),
    (r"Input should be ", "expected "),
    (r"String should have at least 1 character", "expected some text"),
    (r"Value error, ", ""),
)
"""Pydantic's words -> those of a user of TOML; the first that fits is replaced."""
SHOWN_CHARS = 60
"""Longest repeat of a found value: enough to recognise it, short enough for one line."""


def dotted(loc: Iterable[int | str]) -> str:
    """Returns a place in a tree as `budget.usd` or `data.split[1]`."""
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def shown(value: Any) -> str:
    """Returns a value as it may appear in a message; of a table, only that it is one."""
    if isinstance(value, Mapping) or is_dataclass(value):
        return "a table"
    if isinstance(value, list | tuple) and any(isinstance(v, Mapping) for v in value):
        return "a list of tables"
    text = repr(value)
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 3] + "..."


def explain(
    error: "ValidationError",
    *,
    where: str | Callable[[Loc], str] = "",
    known: Iterable[str] | Callable[[Loc], Iterable[str]] = (),
) -> ConfigError:
    """Returns a `ConfigError` for the first problem of a report.

    `where` is put in front of the key, or makes file and key from a location; `known` are the
    names that the table of an unknown key does have.
    """
    problems = error.errors(include_url=False)
    # A misspelt key is often the cause of a missing one: report it first.
    first: Mapping[str, Any] = min(problems, key=lambda p: p["type"] not in _UNKNOWN)
    loc: Loc = tuple(first["loc"])
    place = where(loc) if callable(where) else ": ".join(filter(None, (where, dotted(loc))))
    if first["type"] in _UNKNOWN:
        names = list(known(loc) if callable(known) else known)
        hint = nearest(str(loc[-1]), names) or f" Expected one of {', '.join(names)}."
        return ConfigError(f"{place}: unknown key.{hint} All keys: flashevolve config")
    if first["type"] in _MISSING:
        return ConfigError(f"{place}: expected a value, found none. Help: flashevolve config")
    expected = _expected(first)
    if _may_be_private(loc):
        return ConfigError(f"{place}: {expected} (what was found is not shown)")
    return ConfigError(f"{place}: {expected}, found {shown(first['input'])}")


def _expected(problem: Mapping[str, Any]) -> str:
    """Returns pydantic's message in the words of a user of TOML."""
    ctx, message = problem.get("ctx", {}), " ".join(str(problem["msg"]).split())
    if problem["type"] in ("too_short", "too_long"):
        least = ctx.get("min_length", 0)
        most = ctx.get("max_length")
        return f"expected {f'at least {least}' if most is None else f'at most {most}'} items"
    for theirs, ours in _PLAIN:
        if re.match(theirs, message):
            return re.sub(theirs, ours, message, count=1)
    return message


def _may_be_private(loc: Loc) -> bool:
    return any(part in _PRIVATE or holds_secret(str(part)) for part in loc)
