"""Fields: conversations that name what they give and what they want back, as DSPy's adapters do.

The system text shows a structure: markers `[[ ## name ## ]]`, each above a placeholder `{name}`, or
a JSON object of placeholders. What the last turn fills in is an input; the rest is wanted back, in
the order and shape of the structure. Only this shape is recognised, no wording.
"""

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import dedent
from typing import Literal

from flashevolve.llm.messages import Message
from flashevolve.simulate.terms import words_of

_MARKER = re.compile(r"^\[\[ ## (\w+) ## \]\][ \t]*$", re.MULTILINE)
_SLOT = re.compile(r"^\{(\w+)\}", re.MULTILINE)
_KEY = re.compile(r'^\s*"(\w+)": "?\{\1\}', re.MULTILINE)
_LISTED = re.compile(r"^\s*\d+\. `(\w+)` \((.+?)\):[ ]?(.*)$", re.MULTILINE)
_INDENTED = re.compile(r"(?:^(?: {4}.*|[ \t]*)(?:\n|\Z))+\Z", re.MULTILINE)
END = "completed"
"""The marker after the last field; no field."""
ASIDES = frozenset(
    words_of("reasoning rationale thought thoughts explanation analysis reason why remarks")
)
"""Names of fields that take what precedes an answer."""
_CHOICE = re.compile(r"^Literal\[(.*)\]$")


@dataclass(frozen=True)
class Field:
    """A field that is wanted back."""

    name: str
    type: str
    """A Python type as text, such as `str` or `Literal['a', 'b']`."""


@dataclass(frozen=True)
class Fields:
    """What a conversation of named fields says and wants."""

    objective: str
    """The instructions, which hold for every request."""
    hints: tuple[str, ...]
    """What is said about single fields."""
    inputs: Mapping[str, str]
    wanted: tuple[Field, ...]
    style: Literal["markers", "json"]

    def render(self, text: str, aside: str, rng: random.Random) -> str:
        """Returns a reply that has `text` in every field but those for asides."""
        values = {
            field.name: aside if field.name in ASIDES else _typed(field.type, text, rng)
            for field in self.wanted
        }
        if self.style == "json":
            return json.dumps(values, ensure_ascii=False)
        said = [
            f"[[ ## {name} ## ]]\n{value if isinstance(value, str) else json.dumps(value)}\n"
            for name, value in values.items()
        ]
        return "\n".join([*said, f"[[ ## {END} ## ]]"])


def read_fields(messages: Sequence[Message]) -> Fields | None:
    """Returns the fields of a conversation; None if it is not written in fields."""
    system = "\n".join(message.text for message in messages if message.is_standing)
    last = messages[-1].text if messages and messages[-1].role == "user" else ""
    if not _MARKER.search(system):
        return None
    structure, objective = _part(system)
    names = [name for name in _MARKER.findall(structure) if name != END]
    keys = _KEY.findall(structure)
    if not set(_SLOT.findall(structure)).issuperset(names):
        return None
    inputs = _values(last, [*names, *keys])
    marked = [name for name in names if name not in inputs]
    wanted = keys or marked
    if not inputs or not wanted:
        return None
    listed = {name: (kind, said.strip()) for name, kind, said in _LISTED.findall(structure)}
    return Fields(
        objective=objective,
        hints=tuple(said for _, said in listed.values() if said),
        inputs=inputs,
        wanted=tuple(Field(name, listed.get(name, ("str", ""))[0]) for name in wanted),
        style="json" if keys else "markers",
    )


def without_markers(turn: str) -> str:
    """Returns a turn without the markers of its fields."""
    return _MARKER.sub("", turn)


def _part(system: str) -> tuple[str, str]:
    """Returns the structure, and the indented lines at the end that hold the instructions."""
    end = _INDENTED.search(system)
    if end and end[0].strip() and system[: end.start()].rstrip().endswith(":"):
        return system[: end.start()], dedent(end[0]).strip()
    marks = [m.end() for m in (*_MARKER.finditer(system), *_SLOT.finditer(system))]
    return system[: max(marks)], system[max(marks) :].lstrip("}\n ").strip()


def _values(turn: str, names: Sequence[str]) -> dict[str, str]:
    """Returns the fields that a turn fills in; the last paragraph may say what is wanted back."""
    marks = [mark for mark in _MARKER.finditer(turn) if mark[1] in names]
    found: dict[str, str] = {}
    for k, mark in enumerate(marks):
        end = marks[k + 1].start() if k + 1 < len(marks) else len(turn)
        found[mark[1]] = turn[mark.end() : end].strip()
    if marks:
        name = marks[-1][1]
        paragraphs = found[name].split("\n\n")
        quoted = re.findall(r"`(?:\[\[ ## )?(\w+)(?: ## \]\])?`", paragraphs[-1])
        if len(paragraphs) > 1 and any(q in names and q not in found for q in quoted):
            found[name] = "\n\n".join(paragraphs[:-1]).strip()
    return found


def _typed(kind: str, text: str, rng: random.Random) -> str | bool | int | float | list[str]:
    """Returns a value of the wanted type: the text itself, or a guess where no text fits."""
    if choice := _CHOICE.match(kind):
        options = [one.strip().strip("'\"") for one in choice[1].split(",")]
        said = [one for one in options if one.lower() in text.lower()]
        return said[0] if said else rng.choice(options)
    if kind == "bool":
        return rng.random() < 0.5
    if kind in ("int", "float"):
        return int(found[0]) if (found := re.findall(r"\d+", text)) else rng.randrange(10)
    if kind.startswith("list["):
        return text.splitlines()
    return text
