"""Records: what an artifact did on some examples, as Markdown for a reflecting model."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flashevolve.outcome import Outcome
from flashevolve.task import Example

MAX_VALUE_CHARS = 20_000
"""One runaway output or trace must not push the other examples out of a model's context."""


def records(
    examples: Sequence[Example], outcomes: Mapping[str, Outcome], shown: str | None = None
) -> str:
    """Returns input, trace if there is one, output, score and feedback of each example, in order.

    `outcomes` is keyed by example id; `shown` is the one field that the artifact was run on, None =
    all. What only the metric reads reaches the model through feedback or not at all. Long values
    lose their middle, visibly.
    """
    return numbered(record(example, outcomes[example.id], shown) for example in examples)


def record(example: Example, outcome: Outcome, shown: str | None = None) -> str:
    """Returns what `records` says about one example, without its heading."""
    parts = ["## Input"]
    if shown is not None:
        parts.append(_text(_field(example, shown)))
    else:
        parts += [f"### {name}\n{_text(value)}" for name, value in example.data.items()]
    if outcome.trace is not None:
        parts.append(f"## Trace\n{_text(outcome.trace)}")
    parts.append(f"## Output\n{_text(outcome.output)}")
    parts.append(f"## Feedback\nScore: {outcome.score:g}\n{outcome.feedback}".rstrip())
    return "\n".join(parts)


def numbered(found: Iterable[str]) -> str:
    """Returns records below each other, each under a heading with its number from 1."""
    return "\n\n".join(f"# Example {place}\n{one}" for place, one in enumerate(found, start=1))


def _field(example: Example, name: str) -> Any:
    # Built-in tasks may read a column whose name a file spells in another case.
    if name in example:
        return example[name]
    spelt = next((key for key in example if key.casefold() == name.casefold()), name)
    return example[spelt]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, indent=2, default=repr)
    text: str = value.strip()
    if len(text) <= MAX_VALUE_CHARS:
        return text
    half = MAX_VALUE_CHARS // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters cut ...]\n{text[-half:]}"
