"""Artifact: what evolves. An immutable mapping of component name to text, with a content hash.

Two artifacts are equal iff their texts are; the hash names them in events, caches and files, and
does not depend on the order of components.
"""

import difflib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Artifact(Mapping[str, str]):
    """A mapping of component name to text.

    Raises `TypeError` for anything but a non-empty mapping of strings to strings.
    """

    components: Mapping[str, str]
    """Component name -> text; a prompt, a playbook, or a file path -> file content."""

    def __post_init__(self) -> None:
        given = dict(self.components)
        if not given:
            raise TypeError("an artifact needs at least one component, got an empty mapping")
        for name, text in given.items():
            if not isinstance(name, str) or not isinstance(text, str):
                raise TypeError(
                    f"an artifact maps names to texts, got {name!r}: {type(text).__name__}"
                )
        object.__setattr__(self, "components", {name: given[name] for name in sorted(given)})

    def __getitem__(self, name: str) -> str:
        return self.components[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.components)

    def __len__(self) -> int:
        return len(self.components)

    def __hash__(self) -> int:
        return hash(self.hash)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Artifact):
            return self.hash == other.hash
        return NotImplemented

    @cached_property
    def hash(self) -> str:
        """The first 32 hexadecimal digits of a SHA-256 over the components."""
        blob = json.dumps(dict(self.components), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(blob.encode()).hexdigest()[:32]

    def replace(self, changes: Mapping[str, str]) -> "Artifact":
        """Returns a copy with the components in `changes` set."""
        return Artifact({**self.components, **changes})

    def diff(self, other: "Artifact", context_lines: int = 2) -> str:
        """Returns the unified diff from `self` to `other`, component by component."""
        parts: list[str] = []
        for name in sorted({*self, *other}):
            old, new = self.components.get(name, ""), other.components.get(name, "")
            parts += difflib.unified_diff(
                old.splitlines(), new.splitlines(), name, name, lineterm="", n=context_lines
            )
        return "\n".join(parts)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {len(text)} chars" for name, text in self.items())
        return f"Artifact({self.hash[:8]}, {sizes})"

    def to_json(self) -> dict[str, Any]:
        """Returns the components as a plain dict."""
        return dict(self.components)
