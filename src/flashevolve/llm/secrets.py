"""Secrets: which names usually stand beside a key or a password, and data without their values.

The one judgement for headers, query strings and bodies: what `holds_secret` is neither recorded
nor repeated in a message.
"""

import re
from typing import Any

HIDDEN = "<hidden>"
"""Stands in what is recorded for a value that may be a key; every header's may be."""

MIN_SECRET_CHARS = 8
"""Shorter "keys" (EMPTY, none, ollama) are placeholders; hiding them would garble answers."""

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECRET = re.compile(
    r"(^|[-_. ])(api|access|auth|client|id|private|refresh|secret|session|subscription)?"
    r"((?<!cache[-_])keys?|token|secrets?|passwords?|passwd|passphrase|credentials?"
    r"|auth|authorization|authentication|bearer|cookie|signature|sig)$"
)
"""Singular `token`, since max_tokens and its like are counts; a prompt's cache key is no key."""


def holds_secret(name: str) -> bool:
    """Whether a field of this name usually holds a key or a password."""
    return bool(_SECRET.search(_HUMP.sub("_", name).lower()))


def without_secrets(node: Any) -> Any:
    """Returns JSON-like data in which the values of such fields are hidden."""
    if isinstance(node, dict):
        return {k: HIDDEN if holds_secret(k) else without_secrets(v) for k, v in node.items()}
    return [without_secrets(item) for item in node] if isinstance(node, list | tuple) else node


def secrets_of(node: Any) -> list[str]:
    """Returns the texts that `without_secrets` hides."""
    if isinstance(node, dict):
        return [
            text
            for name, value in node.items()
            for text in (_texts(value) if holds_secret(name) else secrets_of(value))
        ]
    return (
        [text for item in node for text in secrets_of(item)]
        if isinstance(node, list | tuple)
        else []
    )


def _texts(node: Any) -> list[str]:
    if isinstance(node, dict):
        return [text for value in node.values() for text in _texts(value)]
    if isinstance(node, list | tuple):
        return [text for value in node for text in _texts(value)]
    return [node] if isinstance(node, str) else []
