"""Served: what our own servers share, the simulated endpoint's and the gateway's.

Pure. Every mistake in a body is a `BadRequest` that names the field, and every error is told in
OpenAI's shape.
"""

import json
from collections.abc import Mapping
from typing import Any


class BadRequest(Exception):
    """A request that cannot be answered; becomes an error body in OpenAI's shape."""

    def __init__(
        self, message: str, *, param: str | None = None, status: int = 400, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.param = param
        self.status = status
        self.code = code


MAX_DEPTH = 100
"""Of lists and objects in each other in a body: what is recorded is walked by recursion."""


def read_object(blob: bytes) -> dict[str, Any]:
    """Returns the JSON object in a body. Raises `BadRequest`."""
    try:
        body = json.loads(blob, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"expected a JSON body: {error}") from None
    if not isinstance(body, dict):
        raise BadRequest(f"expected a JSON object, found {type(body).__name__}")
    if _is_deeper(body, MAX_DEPTH):
        raise BadRequest(
            f"expected a JSON body nested at most {MAX_DEPTH} deep, found a deeper one"
        )
    return body


def _no_number(name: str) -> Any:
    raise BadRequest(f"expected a JSON body: {name} is no number in JSON")


def _is_deeper(body: Any, n_levels: int) -> bool:
    level = [body]
    for _ in range(n_levels):
        inner = (node.values() if isinstance(node, dict) else node for node in level)
        level = [node for nodes in inner for node in nodes if isinstance(node, dict | list)]
        if not level:
            return False
    return True


def text_of(body: Mapping[str, Any], name: str) -> str:
    """Returns a field that must be a text."""
    if not isinstance(body.get(name), str):
        raise wrong(body, name, "a text")
    return str(body[name])


def whole_of(body: Mapping[str, Any], name: str, *, least: int | None = None) -> int | None:
    """Returns an integer from `least` on; None if it is not there."""
    value = body.get(name)
    if value is None:
        return None
    if type(value) is not int or (least is not None and value < least):
        raise wrong(body, name, "an integer" if least is None else f"an integer from {least} on")
    return value


def limit_of(body: Mapping[str, Any]) -> int | None:
    """Returns how long the answer may get, in tokens, under either of its names."""
    newer = whole_of(body, "max_completion_tokens", least=1)
    return newer or whole_of(body, "max_tokens", least=1)


def flag_of(body: Mapping[str, Any], name: str, where: str | None = None) -> bool:
    """Returns a flag; False if it is not there."""
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise BadRequest(
            f"{where or name}: expected true or false, found {shown(value)}", param=where or name
        )
    return bool(value)


def wrong(body: Mapping[str, Any], name: str, expected: str) -> BadRequest:
    """Returns the error of a field that is not what it should be."""
    return BadRequest(f"{name}: expected {expected}, found {shown(body.get(name))}", param=name)


def shown(value: Any) -> str:
    """Returns what was found, short enough for one line."""
    return "nothing" if value is None else f"{json.dumps(value):.60}"


def error_body(
    message: str, kind: str, *, param: str | None = None, code: str | None = None
) -> dict[str, Any]:
    """Returns an error in OpenAI's shape."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def event(line: str) -> bytes:
    """Returns a server-sent event."""
    return f"data: {line}\n\n".encode()
