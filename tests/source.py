"""The source tree as the house's own tests read it: modules, their parse trees and imports."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src"
TESTS = ROOT / "tests"


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    path: Path

    @property
    def name(self) -> str:
        parts = self.path.relative_to(SRC).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def imports(self) -> set[str]:
        """Every module it imports, wherever in the file; `from a import b` gives a and a.b."""
        return set(imported(self.tree))


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def modules(below: str = "") -> list[Module]:
    """Returns the package's modules, or those of one part of it, by path."""
    found = [Module(p) for p in sorted((SRC / "flashevolve" / below).rglob("*.py"))]
    assert found, f"no module below flashevolve/{below}: was it renamed?"
    return found


def is_in(name: str, package: str) -> bool:
    """Says whether a module's name is a package's or below it."""
    return name == package or name.startswith(package + ".")
