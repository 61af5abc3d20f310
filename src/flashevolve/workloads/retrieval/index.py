"""Index: the passages that match a query best by BM25, over the package `bm25s`.

Words count in any case, English stop words do not. Ties go to the passage that stands first, so
that a result depends on nothing but passages and query; passages that share no word with the query
are left out. An index is built once for each set of passages.
"""

import asyncio
import logging
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from flashevolve.errors import ConfigError, DataError
from flashevolve.workloads.retrieval.passages import Passage

INLINE_PASSAGES = 20_000
"""Most passages that are searched in the event loop: below it a search takes less than a switch to
a thread and back."""


class Index:
    """BM25 over passages. Safe to use from several threads."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        """Raises `ConfigError` if the package is missing, `DataError` if there are no words."""
        bm25s = _package()
        self._tokenize = bm25s.tokenize
        self.passages = tuple(passages)
        self._bm25 = bm25s.BM25(backend="numpy")
        texts = [f"{passage.title} {passage.text}" for passage in self.passages]
        tokens = self._tokens(texts)
        if not tokens.vocab:
            raise DataError(
                f"expected passages with words that can be searched for, found none in "
                f"{len(texts)} passages. Look at the corpus"
            )
        self._bm25.index(tokens, show_progress=False)

    def search(self, query: str, k: int) -> list[Passage]:
        """Returns at most `k` passages, the best first."""
        import numpy as np

        words = self._tokens([query], return_ids=False)[0]
        if not words:
            return []
        scores = self._bm25.get_scores(words)
        n_found = min(k, int(np.count_nonzero(scores > 0)))
        if n_found == 0:
            return []
        # Which of equal scores a partial sort takes differs between machines; its bound does not.
        bound = np.partition(scores, -n_found)[-n_found]
        places = np.flatnonzero(scores >= bound)
        best = sorted(places.tolist(), key=lambda place: (-scores[place], place))
        return [self.passages[place] for place in best[:n_found]]

    async def find(self, query: str, k: int) -> list[Passage]:
        """Returns what `search` does; a large index is searched in a thread."""
        if len(self.passages) <= INLINE_PASSAGES:
            return self.search(query, k)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, self.search, query, k)

    def _tokens(self, texts: list[str], return_ids: bool = True) -> Any:
        return self._tokenize(texts, stopwords="en", return_ids=return_ids, show_progress=False)


@lru_cache(maxsize=2)
def index_of(passages: tuple[Passage, ...]) -> Index:
    """Returns the index of some passages, the one from before if it is there."""
    return Index(passages)


def _package() -> Any:
    is_first = "bm25s" not in sys.modules
    try:
        import bm25s
    except ImportError:
        raise ConfigError(
            "task.workload: expected the package bm25s for retrieval, found none. "
            "In the clone: pip install '.[retrieval]'"
        ) from None
    if is_first:
        # It sets its logger to DEBUG, so that each index would be told of on the screen.
        logging.getLogger("bm25s").setLevel(logging.WARNING)
    return bm25s
