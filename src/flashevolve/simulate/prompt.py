"""Prompts: a conversation as a reader takes it in, before it knows what role it has.

What holds for every request (system turns, earlier turns, an objective) is told apart from what is
asked now; the parts that the prompt shows are told apart from what it says itself. Nothing here
reads an instruction: that is left to the roles.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from flashevolve.llm.messages import Message
from flashevolve.simulate.fields import Fields, read_fields, without_markers
from flashevolve.simulate.lessons import Trace, traces
from flashevolve.simulate.sections import Section, records, sections, unfenced


@dataclass(frozen=True)
class Prompt:
    """A conversation, taken apart."""

    standing: str
    """What holds for every request."""
    request: str
    """What is asked now."""
    whole: str
    """All that was said to the reader, its own turns left out."""
    fields: Fields | None
    """The named fields of the conversation; None = it has none."""

    @cached_property
    def parts(self) -> tuple[Section, ...]:
        """The sections that it shows, one per field or heading."""
        if self.fields is None:
            return sections(self.whole)
        found = [
            part
            for name, value in self.fields.inputs.items()
            for part in _parts_of_field(name.replace("_", " "), value)
        ]
        return (*sections(self.fields.objective), *found)

    @cached_property
    def traces(self) -> tuple[Trace, ...]:
        """The examples that it shows, wherever and however they stand."""
        blocks = [block for part in self.parts for _, block in part.blocks]
        shapes = [self.parts, *(records(b) or sections(b) for b in blocks)]
        told = [found for shape in shapes if (found := traces(shape))]
        if self.fields is None and blocks:
            # A fence inside a shown answer ends the fence around it; then headings say more.
            told.append(traces(unfenced(self.whole)))
        return tuple(max(told, key=_n_complete, default=[]))

    @cached_property
    def says(self) -> str:
        """What the prompt says itself, without what it shows."""
        if self.fields is not None:
            return self.fields.objective
        shown = "\n".join(f"{t.inputs}\n{t.output}\n{t.feedback}" for t in self.traces)
        said: list[str] = []
        for part in self.parts:
            if part.text and part.text in shown:
                continue
            said += [*part.path[-1:], *(p for p in paragraphs(part.outside) if p not in shown)]
        return "\n".join(said)

    @property
    def tail(self) -> str:
        """Its last paragraph: where prompts say what they want, or else the end of an example."""
        if self.fields is not None:
            return ""
        return (paragraphs(self.whole) or [""])[-1]


def take_apart(messages: Sequence[Message]) -> Prompt:
    """Returns the prompt that a conversation makes."""
    last = max((i for i, m in enumerate(messages) if m.role == "assistant"), default=-1)
    earlier = [m.text for m in messages[: last + 1] if not m.is_standing]
    now = [m.text for m in messages[last + 1 :] if not m.is_standing]
    whole = "\n\n".join(m.text for m in messages if m.role != "assistant")
    fields = read_fields(messages)
    if fields is None:
        standing = [m.text for m in messages if m.is_standing] + earlier
        return Prompt("\n".join(standing), "\n".join(now), whole, None)
    standing = [fields.objective, *fields.hints, *map(without_markers, earlier)]
    return Prompt("\n".join(standing), "\n".join(fields.inputs.values()), whole, fields)


def paragraphs(text: str) -> list[str]:
    """Returns the parts of a text between blank lines."""
    return [part for part in re.split(r"\n\s*\n", text) if part.strip()]


def _parts_of_field(name: str, value: str) -> list[Section]:
    inner = records(value) or sections(value)
    return [Section((name, *p.path), p.text, p.blocks, p.outside) for p in inner]


def _n_complete(found: Iterable[Trace]) -> int:
    return sum(bool(trace.inputs.strip() and trace.feedback.strip()) for trace in found)
