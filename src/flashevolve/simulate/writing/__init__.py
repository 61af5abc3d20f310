"""Writing: a real answer that realises a plan, with habits where the plan is silent.

Content is filler: grammatical sentences of a wanted length from common words and the request's
topic. Form is exact: what the plan asks for is done, as far as a careful writer can do it.
"""

from flashevolve.simulate.writing.answer import write

__all__ = ["write"]
