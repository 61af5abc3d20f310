"""What we promise to those who write algorithms: nouns of the engine, pools, replies, messages.

An algorithm is a frozen configuration with `workflow(setup)`, which returns a `Workflow`: sources,
stages, a pool and a commit rule. It knows nothing of queues, versions, budgets or retries.
"""

from flashevolve.artifact import Artifact
from flashevolve.candidate import Candidate
from flashevolve.engine.item import Commit, End, Goto, Item, Minimum, Needs, Selection
from flashevolve.engine.workflow import Capped, Setup, Source, Stage, StageContext, Workflow
from flashevolve.llm.errors import Empty, LLMError, Refused, Truncated
from flashevolve.llm.messages import Message, Reply, assistant, system, user
from flashevolve.outcome import Outcome
from flashevolve.pools.head import HeadPool
from flashevolve.pools.pareto import ParetoPool, insert, put
from flashevolve.pools.pool import Pool
from flashevolve.replies.errors import ReplyError
from flashevolve.replies.fences import fenced_text
from flashevolve.replies.jsons import first_json_object

__all__ = [  # noqa: RUF022  # reading order
    "Workflow",
    "Setup",
    "Source",
    "Capped",
    "Stage",
    "StageContext",
    "Item",
    "Selection",
    "Needs",
    "Minimum",
    "End",
    "Goto",
    "Commit",
    "Pool",
    "ParetoPool",
    "insert",
    "put",
    "HeadPool",
    "Candidate",
    "Artifact",
    "Outcome",
    "Message",
    "system",
    "user",
    "assistant",
    "Reply",
    "LLMError",
    "Refused",
    "Truncated",
    "Empty",
    "fenced_text",
    "first_json_object",
    "ReplyError",
]
