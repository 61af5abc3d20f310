"""JSON in replies: the first object that a model wrote, whatever stands around it."""

import json
from typing import Any, NoReturn

from flashevolve.replies.errors import ReplyError

__all__ = ["ReplyError", "first_json_object"]

MAX_STARTS = 1000
"""A reply with more opening braces before its object is code; each of them costs a parse."""


def first_json_object(reply: str) -> dict[str, Any]:
    """Returns the first JSON object in a reply, fenced or bare.

    Raw line breaks inside strings are accepted, since models write them; NaN, Infinity and broken
    surrogate pairs are not, since they cannot be stored. Raises `ReplyError` if there is none.
    """
    decoder = json.JSONDecoder(strict=False, parse_constant=_refuse)
    problem = "no opening brace"
    start = reply.find("{")
    for _ in range(MAX_STARTS):
        if start < 0:
            break
        try:
            value, _end = decoder.raw_decode(reply, start)
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            problem = "a broken surrogate pair in a string"
        except json.JSONDecodeError as error:
            problem = f"{error.msg} at character {error.pos}"
        except (ValueError, RecursionError) as error:
            problem = str(error)
        else:
            return dict(value)
        start = reply.find("{", start + 1)
    raise ReplyError(f"expected one JSON object, found none: {problem}")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
