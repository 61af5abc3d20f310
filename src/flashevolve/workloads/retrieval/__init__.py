"""What tasks with retrieval share: passages, BM25 over them, programs of several hops, made worlds.

Retrieval is lexical and exact: the same passages and query give the same result on any machine. A
passage that no word of the query names is never found.
"""

from flashevolve.workloads.retrieval.index import Index, index_of
from flashevolve.workloads.retrieval.passages import Passage, read_corpus, union

__all__ = ["Index", "Passage", "index_of", "read_corpus", "union"]
