"""Metrics: how an output is scored, with feedback that helps a reflecting model.

A metric is called with an example and an output and returns a score in [0, 1] and one or two
sentences. It never raises for an output, whatever it is. What it expects of examples is checked
once, before anything is paid for.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from flashevolve.config.settings import METRICS, TaskSettings
from flashevolve.data.imports import load_function
from flashevolve.errors import ConfigError, DataError, nearest
from flashevolve.outcome import as_text
from flashevolve.replies.errors import ReplyError
from flashevolve.replies.jsons import first_json_object
from flashevolve.task import Example, RunFunction, ScoreFunction, place_of
from flashevolve.workloads.registry import WORKLOADS

Scored = tuple[float, str]
Rule = Callable[[Any, str], Scored]
"""Expected value and the output's text -> score and feedback."""

SHOWN_CHARS = 200
"""Longest quote in feedback: a reflecting model sees the whole output beside it."""


@dataclass(frozen=True)
class Metric:
    """A built-in metric; a `ScoreFunction`."""

    rule: Rule
    expected: Callable[[Example], Any]
    """Reads from an example what the rule compares with; raises `DataError` if it is not there."""
    runs_user_code: bool = False
    """Whether the rule is the user's in part, such as a pattern that may take long."""

    def __call__(self, example: Example, output: Any) -> Scored:
        """Returns score and feedback."""
        return self.rule(self.expected(example), as_text(output))

    def check_examples(self, examples: Iterable[Example]) -> None:
        """Raises `DataError` for the first example that cannot be scored."""
        for example in examples:
            self.expected(example)


def score_function(task: TaskSettings, base_dir: Path | None = None) -> ScoreFunction:
    """Returns the score function that `[task]` names.

    Raises `ConfigError` if it names none, or one that cannot be imported.
    """
    if task.workload is not None:
        if task.metric is not None:
            raise ConfigError(
                f"task: expected workload or metric, found both; {task.workload!r} scores by itself"
            )
        if task.workload not in WORKLOADS:
            raise ConfigError(
                f"task.workload: expected one of {', '.join(WORKLOADS)}, found {task.workload!r}."
                f"{nearest(task.workload, WORKLOADS)}"
            )
        return load_function(WORKLOADS[task.workload].score, key="task.workload")
    if task.metric is None:
        raise ConfigError(
            f"task: expected metric or workload, found neither. For example --task.metric exact; "
            f"metrics are {', '.join(METRICS)} and module:function"
        )
    if ":" in task.metric:
        return load_function(task.metric, base_dir, key="task.metric")
    return metric(task)


def workload_run(task: TaskSettings, examples: Iterable[Example]) -> RunFunction | None:
    """Returns what runs an artifact on an example of the named workload; None = one chat call.

    `examples` are those of all splits, of which some workloads make what they search. Raises
    `ConfigError` or `DataError`.
    """
    workload = WORKLOADS.get(task.workload or "")
    if workload is not None and workload.program is not None:
        program = load_function(workload.program, key="task.workload")
        made: RunFunction = program(examples, task.corpus)
        return made
    if task.corpus is not None:
        raise ConfigError(
            f"task.corpus: expected a workload that searches a corpus, such as hotpotqa, found "
            f"{task.workload or 'none'}. Remove one of the two"
        )
    if workload is None or workload.run is None:
        return None
    return load_function(workload.run, key="task.workload")


def workload_of(score: ScoreFunction) -> str:
    """Returns the built-in task that a score function belongs to; empty if to none."""
    while isinstance(score, partial):
        score = score.func
    module = getattr(score, "__module__", None) or ""
    owners = ((name, w.score.partition(":")[0]) for name, w in WORKLOADS.items())
    names = (name for name, package in owners if f"{module}.".startswith(f"{package}."))
    return next(names, "")


def metric(task: TaskSettings) -> Metric:
    """Returns a built-in metric, set as `[task]` says. Raises `ConfigError`."""
    answer = partial(field_of, task.answer, "task.answer")
    if task.metric == "exact":
        return Metric(exact, answer)
    if task.metric == "contains":
        return Metric(contains, answer)
    if task.metric == "numeric":
        return Metric(partial(numeric, tolerance=task.tolerance), partial(_number_of, task.answer))
    if task.metric == "regex":
        return _regex_metric(task)
    return Metric(json_fields, partial(_fields_of, task.answer, task.fields))


def field_of(name: str, key: str, example: Example) -> Any:
    """Returns a field of an example; `key` is the setting that names it. Raises `DataError`."""
    if name not in example:
        raise DataError(
            f"{place_of(example)}: expected a field {name!r}, which {key} names, found "
            f"{', '.join(map(str, example)) or 'none'}.{nearest(name, map(str, example))}"
        )
    return example[name]


def exact(expected: Any, text: str) -> Scored:
    """1 if the output is the expected text; spaces and line breaks don't count."""
    wanted, given = _squeezed(as_text(expected)), _squeezed(text)
    if given == wanted:
        return 1.0, f"Correct: the answer is exactly {_quoted(wanted)}."
    start = f"Wrong: the answer should be exactly {_quoted(wanted)}, it was {_quoted(given)}."
    if given.casefold() == wanted.casefold():
        return 0.0, f"{start} Only upper and lower case differ."
    if wanted and wanted in given:
        return 0.0, f"{start} It contains the expected text; nothing else may stand around it."
    return 0.0, start


def contains(expected: Any, text: str) -> Scored:
    """1 if the expected text occurs as whole words, in any case."""
    wanted = _squeezed(as_text(expected))
    pattern = rf"(?<!\w){re.escape(wanted.casefold())}(?!\w)"
    if re.search(pattern, _squeezed(text).casefold()):
        return 1.0, f"Correct: the answer contains {_quoted(wanted)}."
    return 0.0, f"Wrong: the answer should contain {_quoted(wanted)}; it does not occur in it."


_NUMBER = re.compile(
    r"(?<![\w.])(?P<number>[-+]?(?:\d{1,3}(?:,\d{3})+(?![\d,])|\d+)?(?:\.\d+|(?<=\d)))"
    r"(?P<exponent>[eE][-+]?\d+)?\s?(?P<percent>%)?"
)


@dataclass(frozen=True)
class Number:
    """A number as it was written."""

    value: float
    percent: bool

    def __str__(self) -> str:
        return f"{self.value:.12g}{'%' if self.percent else ''}"


def last_number(text: str) -> Number | None:
    """Returns the last number in a text; commas between thousands are skipped."""
    last = None
    for match in _NUMBER.finditer(text.replace("−", "-")):
        last = match
    if last is None:
        return None
    value = float(last["number"].replace(",", "") + (last["exponent"] or ""))
    return Number(value, last["percent"] is not None)


def numeric(expected: Number, text: str, *, tolerance: float = 0.0) -> Scored:
    """1 if the last number of the output is the expected one, within an absolute tolerance.

    Where only one of both is written as a percentage, 50% equals 50 as well as 0.5.
    """
    given = last_number(text)
    if given is None:
        return 0.0, f"Wrong: the answer should end with the number {expected}; it holds no number."
    pairs = [(given.value, expected.value)]
    if given.percent and not expected.percent:
        pairs.append((given.value / 100, expected.value))
    if expected.percent and not given.percent:
        pairs.append((given.value * 100, expected.value))
    if any(math.isclose(a, b, rel_tol=1e-9, abs_tol=tolerance) for a, b in pairs):
        return 1.0, f"Correct: the last number is {given}."
    within = f" (within {tolerance:g})" if tolerance else ""
    feedback = f"Wrong: the expected number is {expected}{within}, the last number was {given}."
    if any(_same_number(m, expected) for m in _NUMBER.finditer(text)):
        feedback += (
            " The right number occurs earlier; the last number in the answer is what counts."
        )
    return 0.0, feedback


def _same_number(match: re.Match[str], expected: Number) -> bool:
    return last_number(match[0]) == expected


def _number_of(name: str, example: Example) -> Number:
    value = field_of(name, "task.answer", example)
    number = None if isinstance(value, bool) else last_number(as_text(value))
    if number is None:
        raise DataError(f"{place_of(example)}: expected a number in {name!r}, found {value!r}")
    return number


def _regex_metric(task: TaskSettings) -> Metric:
    if task.pattern is None:
        raise ConfigError(
            "task.pattern: expected a regular expression for metric regex, found none. For "
            r"example --task.pattern 'Answer: (.+)'"
        )
    try:
        pattern = re.compile(task.pattern)
    except re.error as error:
        raise ConfigError(
            f"task.pattern: expected a regular expression, found {task.pattern!r}: {error}"
        ) from None
    if pattern.groups == 0:
        return Metric(partial(occurs, pattern), lambda example: None, runs_user_code=True)
    answer = partial(field_of, task.answer, "task.answer")
    return Metric(partial(captured, pattern), answer, runs_user_code=True)


def occurs(pattern: re.Pattern[str], expected: Any, text: str) -> Scored:
    """1 if the pattern occurs."""
    if pattern.search(text):
        return 1.0, "Correct: the answer has the required form."
    return 0.0, f"Wrong: nothing in the answer matches the pattern {_quoted(pattern.pattern)}."


def captured(pattern: re.Pattern[str], expected: Any, text: str) -> Scored:
    """1 if group 1 of the pattern's last match is the expected text."""
    wanted = _squeezed(as_text(expected))
    matches = [match[1] or "" for match in pattern.finditer(text)]
    if not matches:
        return 0.0, (
            f"Wrong: the answer should be {_quoted(wanted)} in a form that matches the pattern "
            f"{_quoted(pattern.pattern)}; nothing matches it."
        )
    given = _squeezed(matches[-1])
    if given == wanted:
        return 1.0, f"Correct: the answer is {_quoted(wanted)}."
    return 0.0, f"Wrong: the answer should be {_quoted(wanted)}, it was {_quoted(given)}."


def json_fields(expected: Mapping[str, Any], text: str) -> Scored:
    """The fraction of expected fields that the output's JSON object has with an equal value."""
    found = _object_in(text)
    if found is None:
        names = ", ".join(map(repr, expected))
        return 0.0, f"Wrong: the answer should be one JSON object with {names}; there is none."
    problems = []
    for name, wanted in expected.items():
        if name not in found:
            problems.append(f"{name!r} is missing and should be {_quoted(wanted)}")
        elif not _equal(found[name], wanted):
            problems.append(f"{name!r} should be {_quoted(wanted)} and was {_quoted(found[name])}")
    n_right = len(expected) - len(problems)
    if not problems:
        return 1.0, f"Correct: all {len(expected)} fields are right."
    return n_right / len(expected), (
        f"{n_right} of {len(expected)} fields are right: {'; '.join(problems)}."
    )


def _object_in(text: str) -> dict[str, Any] | None:
    try:
        return first_json_object(text)
    except ReplyError:
        return None


def _fields_of(answer: str, fields: Sequence[str] | None, example: Example) -> Mapping[str, Any]:
    # Columns of a table are fields of the example itself; in JSONL the answer is an object.
    source: Any = example
    if fields is None or answer in example:
        source = field_of(answer, "task.answer", example)
        if isinstance(source, str):
            source = _object_in(source)
    if not isinstance(source, Mapping) or not source:
        raise DataError(
            f"{place_of(example)}: expected a JSON object in {answer!r}, "
            f"found {example.data.get(answer)!r}"
        )
    names = tuple(source) if fields is None else fields
    missing = next((name for name in names if name not in source), None)
    if missing is not None:
        raise DataError(
            f"{place_of(example)}: expected a field {missing!r}, which task.fields names, found "
            f"{', '.join(map(str, source))}.{nearest(missing, map(str, source))}"
        )
    return {name: source[name] for name in names}


def _equal(given: Any, wanted: Any) -> bool:
    if isinstance(given, bool) or isinstance(wanted, bool):
        return given is wanted
    if isinstance(given, str) and isinstance(wanted, str):
        return _squeezed(given) == _squeezed(wanted)
    return bool(given == wanted)


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _quoted(value: Any) -> str:
    text = as_text(value) if not isinstance(value, str) else value
    text = text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 3] + "..."
    return f'"{text}"' if isinstance(value, str) else text
