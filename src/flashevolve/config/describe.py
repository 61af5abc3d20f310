"""Describe: every key with type, default and help, as `flashevolve config` prints them.

Help is the docstring under the field in the source, read when asked for, so that importing the
configuration does not pay for it.
"""

import ast
import inspect
import textwrap
import types
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from flashevolve.algorithms.registry import algorithm_class, table_name
from flashevolve.config.settings import Model, Price, Settings

NO_DEFAULT = "(required)"


class Key(NamedTuple):
    """One key of the configuration."""

    key: str
    """Dotted, as on the command line."""
    type: str
    """In words: int, text, a | b."""
    default: str
    """As TOML; empty = absent."""
    help: str


def describe(algorithm: str = "gepa", base_dir: Path | None = None) -> list[Key]:
    """Returns all keys, those of one algorithm's table included, in reading order."""
    keys: list[Key] = []
    for key in _keys(Settings, ""):
        if key.key == "options":
            continue
        keys.append(key)
        if key.key == "algorithm":
            cls = algorithm_class(algorithm, base_dir)
            keys += _keys(cls, f"{table_name(algorithm)}.")
    return keys


def _keys(cls: type, prefix: str) -> Iterator[Key]:
    hints = get_type_hints(cls, include_extras=False)
    docs = field_docs(cls)
    for name, default in _defaults(cls).items():
        hint, key = hints[name], f"{prefix}{name}"
        table = _table(hint)
        if name == "models":
            yield Key(
                "models.<role>", "table, list of tables, or text", "",
                "Model of one role (task, reflect, repair, judge, embed); what it leaves out is "
                "taken from [model], a table such as extra_body as a whole. Several models share "
                "the requests by weight.",
            )  # fmt: skip
        elif table is Price:
            yield Key(key, "table", "", docs.get(name, ""))
            yield from _keys(Price, f"{key}.")
        elif table is not None:
            yield from _keys(table, f"{key}.")
        else:
            yield Key(key, type_text(hint), default, docs.get(name, ""))


def _table(hint: Any) -> type | None:
    """Returns the class of a nested table, also of an optional one."""
    options = [o for o in (get_args(hint) if _is_union(hint) else (hint,)) if o is not type(None)]
    only = options[0] if len(options) == 1 else None
    nested = isinstance(only, type) and (hasattr(only, "model_fields") or only in (Model, Price))
    nested = nested or hasattr(only, "__pydantic_fields__")
    return only if nested else None


def _defaults(cls: type) -> dict[str, str]:
    fields: dict[str, Any] = getattr(cls, "model_fields", None) or cls.__pydantic_fields__  # type: ignore[attr-defined]
    return {
        name: NO_DEFAULT if f.is_required() else _toml(f.get_default(call_default_factory=True))
        for name, f in fields.items()
        if not f.exclude  # What is excluded from a dump can only be given from Python.
    }


def _toml(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return str(value)


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType)


_WORDS: dict[Any, str] = {
    str: "text", int: "int", float: "float", bool: "true | false", Path: "path",
    dict: "table", tuple: "list", list: "list", Any: "any",
}  # fmt: skip


def type_text(hint: Any) -> str:
    """Returns a type as a user of TOML would say it."""
    if get_origin(hint) is Annotated:
        return type_text(get_args(hint)[0])
    if get_origin(hint) is Literal:
        return " | ".join(str(option) for option in get_args(hint))
    if _is_union(hint):
        options = (type_text(o) for o in get_args(hint) if o is not type(None))
        return " | ".join(options)
    plain = get_origin(hint) or hint
    return _WORDS.get(plain, getattr(plain, "__name__", str(plain)))


@cache
def field_docs(cls: type) -> dict[str, str]:
    """Returns the docstring under each annotated field, on one line; bases included."""
    docs: dict[str, str] = {}
    for owner in reversed(cls.__mro__):
        if owner is object or owner.__module__.startswith("pydantic"):
            continue
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(owner)))
        except (OSError, TypeError):  # made at run time: there is no source to read
            continue
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for field, below in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                text = below.value.value if _is_text(below) else None  # type: ignore[attr-defined]
                if text is not None:
                    docs[field.target.id] = " ".join(str(text).split())
    return docs


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
