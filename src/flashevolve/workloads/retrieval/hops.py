"""Hops: a program that asks for a query, searches, and goes on from what it has found.

Each query component of an artifact is one hop. A component that an artifact lacks is left out of
the program: without the first query component the first query is the question itself, without a
later one the program ends there, without `summarize` the passages themselves are handed on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from flashevolve.llm.messages import Reply, system, user
from flashevolve.workloads.replies import without_thinking
from flashevolve.workloads.retrieval.index import Index
from flashevolve.workloads.retrieval.passages import Passage, key_of

N_PASSAGES = 7
"""Passages that each search returns, as in the programs that GEPA was published with."""
SUMMARIZE = "summarize"
SHOWN_QUERY_CHARS = 300
"""Longest query in an output; the search has all of it."""


class Asking(Protocol):
    """What a program needs of its context."""

    async def chat(self, role: str, messages: Any) -> Reply:
        """Asks a model of `role`."""
        ...


@dataclass(frozen=True)
class Hop:
    """One search."""

    step: str
    """The component that asked for it; empty where the query is the question itself."""
    query: str
    passages: tuple[Passage, ...]

    @property
    def titles(self) -> list[str]:
        """The titles found, the best first."""
        return list(dict.fromkeys(passage.title for passage in self.passages))


@dataclass(frozen=True)
class Walk:
    """All searches for one question."""

    asked: str
    """The question or claim, under its heading."""
    hops: tuple[Hop, ...]
    notes: str
    """What `summarize` made of the passages; empty without it."""

    @property
    def found(self) -> str:
        """What the searches gave, for whoever goes on from it."""
        if self.notes:
            return f"Notes:\n{self.notes}"
        passages = dict.fromkeys(passage for hop in self.hops for passage in hop.passages)
        return _listed(list(passages))

    def output(self) -> dict[str, Any]:
        """Returns the walk as JSON values: each query with its step and its titles, and notes."""
        hops = [
            {"step": hop.step, "query": shown(hop.query), "titles": hop.titles} for hop in self.hops
        ]
        return {"hops": hops, **({"notes": self.notes} if self.notes else {})}


@dataclass(frozen=True)
class Walker:
    """Walks from a question through as many searches as an artifact has query components."""

    index: Index
    heading: str
    """What the question is called, such as "Question"."""
    queries: tuple[str, ...]
    """The query components, in order."""
    summarize_last: bool = True
    """Whether the last search is summarized, too: not if nobody reads it."""
    n_passages: int = N_PASSAGES

    async def walk(self, artifact: Mapping[str, str], question: str, ctx: Asking) -> Walk:
        """Returns what was asked and found."""
        walk = Walk(f"{self.heading}: {question}", (), "")
        hops = self._hops(artifact)
        for place, component in enumerate(hops):
            step, query = "", question
            if component in artifact:
                step, query = component, await self._query(artifact[component], walk, ctx)
            found = tuple(await self.index.find(query, self.n_passages))
            walk = replace(walk, hops=(*walk.hops, Hop(step, query, found)))
            is_last = place + 1 == len(hops)
            if SUMMARIZE in artifact and (self.summarize_last or not is_last):
                walk = replace(walk, notes=await self._notes(artifact[SUMMARIZE], walk, ctx))
        return walk

    def _hops(self, artifact: Mapping[str, str]) -> Sequence[str]:
        """Returns the first query component, then those that follow without a gap."""
        hops = [self.queries[0]]
        for component in self.queries[1:]:
            if component not in artifact:
                break
            hops.append(component)
        return hops

    async def _query(self, instruction: str, walk: Walk, ctx: Asking) -> str:
        told = f"{walk.found}\n\n{walk.asked}" if walk.hops else walk.asked
        return await ask(instruction, told, ctx)

    async def _notes(self, instruction: str, walk: Walk, ctx: Asking) -> str:
        last = walk.hops[-1]
        before = f"Notes:\n{walk.notes}\n\n" if walk.notes else ""
        told = f"{before}{_listed(last.passages)}\n\n{walk.asked}"
        return await ask(instruction, told, ctx)


async def ask(instruction: str, told: str, ctx: Asking) -> str:
    """Returns what the task's model answers, without thinking text and the spaces around it."""
    reply = await ctx.chat("task", [system(instruction), user(told)])
    return without_thinking(reply.text).strip()


def shown(query: str) -> str:
    """Returns a query on one line, cut if it is long."""
    line = " ".join(query.split())
    return line if len(line) <= SHOWN_QUERY_CHARS else f"{line[: SHOWN_QUERY_CHARS - 3]}..."


def titles_of(output: Any) -> list[str]:
    """Returns the titles that the searches behind an output found, each once, in order."""
    hops = output.get("hops") if isinstance(output, Mapping) else None
    if not isinstance(hops, Sequence) or isinstance(hops, str):
        return []
    found = (hop.get("titles") for hop in hops if isinstance(hop, Mapping))
    every = (str(title) for titles in found for title in titles or ())
    return list(dict.fromkeys(every))


def found_of(gold: Sequence[str], output: Any) -> list[str]:
    """Returns those of some titles that the searches behind an output found."""
    found = {key_of(title) for title in titles_of(output)}
    return [title for title in gold if key_of(title) in found]


def search_feedback(gold: Sequence[str], output: Any) -> str:
    """Returns one or two sentences: which supporting pages the searches found, and which not."""
    got = found_of(gold, output)
    missing = [title for title in gold if title not in got]
    if not missing:
        return f"The searches found all {len(gold)} supporting pages: {quoted(got)}."
    start = f"The searches found {len(got)} of {len(gold)} supporting pages"
    found_ones = f": {quoted(got)}" if got else ""
    return f"{start}{found_ones}. No search found {quoted(missing)}."


def quoted(titles: Sequence[str]) -> str:
    """Returns titles in quotes, with commas between them."""
    return ", ".join(f'"{title}"' for title in titles)


def _listed(passages: Sequence[Passage]) -> str:
    lines = [f"[{place}] {passage}" for place, passage in enumerate(passages, start=1)]
    return "\n".join(["Passages:", *lines]) if lines else "Passages: none was found."
