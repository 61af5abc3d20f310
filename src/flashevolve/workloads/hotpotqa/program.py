"""The program: query, search, second query, search, answer, and notes between if asked for.

Each step is a component of the artifact. What is searched are the passages of a corpus file or,
without one, those of all examples, so that a question's own ten stand among those of the others.
"""

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flashevolve.errors import DataError
from flashevolve.task import RunFunction
from flashevolve.workloads.hotpotqa.layout import CONTEXT, context, question, supporting
from flashevolve.workloads.retrieval.hops import Asking, Walker, ask
from flashevolve.workloads.retrieval.index import index_of
from flashevolve.workloads.retrieval.passages import Passage, key_of, read_corpus, union

ANSWER = "answer"
SEED: Mapping[str, str] = {
    "query": "Write a search query for the question.",
    "second_query": "Write a search query for what is still missing.",
    ANSWER: "Answer the question.",
}
"""An artifact to start from."""


def program(examples: Iterable[Mapping[str, Any]], corpus: str | Path | None = None) -> RunFunction:
    """Returns `run(artifact, example, ctx)`, over a corpus file or the examples' own passages.

    Its output is `{"hops": [{"step", "query", "titles"}, ...], "notes", "answer"}`. Raises
    `DataError` for an unreadable corpus and `ConfigError` if the package for retrieval is missing.
    """
    examples = list(examples)
    passages = read_corpus(Path(corpus)) if corpus is not None else _own(examples)
    warn_of_missing({title for e in examples for title in supporting(e)}, passages)
    walker = Walker(index_of(passages), "Question", ("query", "second_query"))

    async def run(
        artifact: Mapping[str, str], example: Mapping[str, Any], ctx: Asking
    ) -> dict[str, Any]:
        walk = await walker.walk(artifact, question(example), ctx)
        answer = await ask(artifact[ANSWER], f"{walk.found}\n\n{walk.asked}", ctx)
        return {**walk.output(), ANSWER: answer}

    return run


def warn_of_missing(titles: set[str], passages: Iterable[Passage]) -> None:
    """Says how many supporting pages no search can find."""
    known = {key_of(passage.title) for passage in passages}
    missing = sorted(title for title in titles if key_of(title) not in known)
    if missing:
        warnings.warn(
            f"{len(missing)} of {len(titles)} supporting pages are not among the passages that are "
            f"searched, such as {missing[0]!r}; no search finds them",
            stacklevel=3,
        )


def _own(examples: list[Mapping[str, Any]]) -> tuple[Passage, ...]:
    found = union(context(example) for example in examples)
    if not found:
        raise DataError(
            f"expected passages in {CONTEXT} of the examples, or a corpus, found none. "
            f"Name one with --task.corpus FILE"
        )
    return found
