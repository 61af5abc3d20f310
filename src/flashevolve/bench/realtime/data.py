"""The task of all clients: following instructions, with the same examples for each seed.

One call per metric call, answered by the endpoint's reader and scored by checkers, so that scores
mean in this stated world what they mean in the other suites.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from flashevolve.bench.realtime.brief import Brief
from flashevolve.bench.realtime.client import Client, Turns
from flashevolve.bench.tasks import SEED_TEXT
from flashevolve.workloads.instructions import generate, score

COMPONENT = "system"
SEED = {COMPONENT: SEED_TEXT}
Example = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Data:
    """Disjoint examples."""

    train: Sequence[Example]
    val: Sequence[Example]
    test: Sequence[Example]


def data_of(brief: Brief) -> Data:
    """Returns the examples of the brief's seed."""
    made = generate(brief.seed, n_train=brief.n_train, n_val=brief.n_val, n_test=brief.n_test)
    return Data(train=made["train"], val=made["val"], test=made["test"])


def turns(text: str, example: Example) -> Turns:
    """Returns the conversation that runs a prompt on an example."""
    return [
        {"role": "system", "content": text},
        {"role": "user", "content": example["prompt"]},
    ]


def judged(example: Example, output: str) -> tuple[float, str]:
    """Returns score and feedback of an answer."""
    value, feedback = score(dict(example), output)
    return float(value), feedback


def on_test(brief: Brief, data: Data, texts: Iterable[str]) -> list[float]:
    """Returns the mean score on test of each prompt, as plain conversations; takes no slot."""
    client = Client(brief.urls["test"])

    def scored(work: tuple[str, Example]) -> float:
        text, example = work
        return judged(example, client.complete(turns(text, example)))[0]

    with closing(client), ThreadPoolExecutor(brief.slots) as pool:
        return [fmean(pool.map(scored, [(text, e) for e in data.test])) for text in texts]
