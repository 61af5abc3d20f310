"""A model that can search and read the made worlds, as well as its instruction tells it to.

It knows how their pages are worded and nothing of what is on them. An instruction with "the name"
has it ask for the next page that is missing, any other one makes it repeat the question; one with
"only" has it answer without a sentence around; one with "keep" lets it keep lines of pages.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

from flashevolve.llm.messages import Message, Reply

NAME = r"[A-Z][a-z]+(?: [A-Z][a-z]+)*"
_LINKS = re.compile(rf"(?:by|birth was|the river) ({NAME})\.")
_LINES = re.compile(r"^\[\d+\] ([^:\n]+): (.+)$", re.MULTILINE)
_ASKED = re.compile(r"^(?:Question|Claim): (.+)\Z", re.MULTILINE)
_FACTS = {
    "in which town": rf"town of birth was ({NAME})\.",
    "year": r"born in (\d+),",
    "instrument did": r"played the (\w+)\.",
    "on which river": rf"on the river ({NAME})\.",
    "known for": r"known for its (\w+)\.",
    "hills": rf"in the ({NAME}) hills\.",
    "length": r"length of (\d+) km",
    "played the": r"played the (\w+)\.",
}
"""What a question or claim says -> where the last page says it."""
_ORDER = ("length", "known for", "hills", "on which river", "in which town", "year")

GOOD = {
    "query": "Write the name that the question gives.",
    "second_query": "Write the name of the page that is missing.",
    "answer": "Write only the answer.",
}
GOOD_HOVER = {
    "second_query": "Write the name of the page that is missing.",
    "third_query": "Write the name of the page that is missing.",
    "fourth_query": "Write the name of the page that is missing.",
}


class Searcher:
    """The context of a program; answers its calls and remembers them."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def chat(self, role: str, messages: Sequence[Message]) -> Reply:
        assert role == "task"
        instruction, told = (str(message.text) for message in messages)
        self.asked.append(told)
        return Reply(text=self._said(instruction, told))

    def _said(self, instruction: str, told: str) -> str:
        pages, question = dict(_LINES.findall(told)), _question(told)
        if "the name" in instruction:
            name = missing(question, pages)
            return (
                f"{name or ''} {question if 'what is asked' in instruction else ''}".strip()
                or question
            )
        if "label" in instruction:
            return label(question, pages)
        if "keep" in instruction:
            return "\n".join(line[0] for line in re.finditer(r"^\[.+$", told, re.MULTILINE))
        if "nswer" in instruction:
            short = answer(question, pages)
            return short if "only" in instruction else f"I think that it is {short} for sure."
        return question


def scores(run: Any, score: Any, artifact: Mapping[str, str], examples: Sequence[Any]) -> float:
    """Returns the mean score of an artifact on examples."""

    async def all_of_them() -> list[float]:
        return [score(e, await run(artifact, e, Searcher()))[0] for e in examples]

    found = asyncio.run(all_of_them())
    return sum(found) / len(found)


def missing(question: str, pages: Mapping[str, str]) -> str | None:
    """Returns the name of the next page that is needed and not there."""
    names = subjects(question)
    if len(names) > 1:
        return next((name for name in names if name not in pages), None)
    for name in names:
        place = name
        while place in pages and (link := _LINKS.search(pages[place])):
            place = link[1]
        if place not in pages:
            return place
    return None


def answer(question: str, pages: Mapping[str, str]) -> str:
    """Returns the answer that the pages give; "unknown" if they give none."""
    names = subjects(question)
    if len(names) == 2:
        return _compared(question, names, pages)
    fact = last_fact(question, names[0], pages)
    return fact or "unknown"


def label(claim: str, pages: Mapping[str, str]) -> str:
    """Returns the label that the pages give to a claim."""
    fact = last_fact(claim, subjects(claim)[0], pages)
    said = re.search(rf"\b{fact}\b", claim) if fact else None
    return "SUPPORTED" if said else "NOT_SUPPORTED"


def last_fact(question: str, name: str, pages: Mapping[str, str]) -> str | None:
    """Returns what the page at the end of the chain says about the question."""
    key = next((k for k in (*_ORDER, *_FACTS) if k in question.lower()), None)
    pattern = _FACTS[key or "played the"]
    place: str | None = name
    while place is not None and place in pages:
        if place != name or not re.search(r"^(?:In which town|In which year)", question):
            found = re.search(pattern, pages[place])
            if found:
                return found[1]
        link = _LINKS.search(pages[place])
        place = link[1] if link else None
    return None


def subjects(question: str) -> list[str]:
    """Returns the names in a question or claim; the word that begins it is none."""
    return re.findall(NAME, question.partition(" ")[2])


def _question(told: str) -> str:
    found = _ASKED.search(told)
    assert found is not None, told
    return found[1]


def _compared(question: str, names: Sequence[str], pages: Mapping[str, str]) -> str:
    pattern = {"river": _FACTS["length"], "born": _FACTS["year"]}
    key = next((k for k in pattern if k in question), None)
    facts = []
    for name in names:
        found = re.search(pattern[key] if key else _FACTS["played the"], pages.get(name, ""))
        if found is None:
            return "unknown"
        facts.append(found[1])
    if key is None:
        return "yes" if facts[0] == facts[1] else "no"
    better = max if key == "river" else min
    return better(zip(map(int, facts), names, strict=True), key=lambda pair: pair[0])[1]
