"""The program: up to four queries, each after what the ones before found, and a label if asked for.

Each step is a component of the artifact. The first search takes the claim itself unless there is a
component `query`, as in the program that GEPA was published with.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flashevolve.errors import ConfigError
from flashevolve.task import RunFunction
from flashevolve.workloads.hotpotqa.program import warn_of_missing
from flashevolve.workloads.hover.layout import claim, supporting
from flashevolve.workloads.retrieval.hops import SUMMARIZE, Asking, Walker, ask
from flashevolve.workloads.retrieval.index import index_of
from flashevolve.workloads.retrieval.passages import read_corpus

LABEL = "label"
QUERIES = ("query", "second_query", "third_query", "fourth_query")
SEED: Mapping[str, str] = {
    "second_query": "Write a search query for what is still missing.",
    "third_query": "Write a search query for what is still missing.",
    SUMMARIZE: "Summarize the passages.",
}
"""An artifact to start from, for the scores of the searches."""
SEED_LABEL: Mapping[str, str] = {
    **SEED,
    LABEL: "Say whether the claim is SUPPORTED or NOT_SUPPORTED.",
}
"""An artifact to start from, for the score of the label."""


def program(examples: Iterable[Mapping[str, Any]], corpus: str | Path | None = None) -> RunFunction:
    """Returns `run(artifact, example, ctx)`, over a corpus file.

    Its output is `{"hops": [{"step", "query", "titles"}, ...], "notes", "label"}`. Raises
    `DataError` for an unreadable corpus and `ConfigError` without one, or if the package for
    retrieval is missing.
    """
    if corpus is None:
        raise ConfigError(
            "task.corpus: expected the file of passages that hover searches, since its examples "
            "hold none, found none. Add --task.corpus FILE"
        )
    passages = read_corpus(Path(corpus))
    warn_of_missing({title for e in examples for title in supporting(e)}, passages)
    index = index_of(passages)

    async def run(
        artifact: Mapping[str, str], example: Mapping[str, Any], ctx: Asking
    ) -> dict[str, Any]:
        walker = Walker(index, "Claim", QUERIES, summarize_last=LABEL in artifact)
        walk = await walker.walk(artifact, claim(example), ctx)
        if LABEL not in artifact:
            return walk.output()
        said = await ask(artifact[LABEL], f"{walk.found}\n\n{walk.asked}", ctx)
        return {**walk.output(), LABEL: said}

    return run
