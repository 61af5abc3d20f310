"""Report: a result in words, for the end of a run and for `show`."""

from collections.abc import Mapping, Sequence
from typing import Any

from flashevolve.engine.state import REAL
from flashevolve.llm.messages import UNRECORDED_WORLD
from flashevolve.result import COUNTERS

REASONS = {
    "metric_calls": "the budget of metric calls is spent",
    "proposals": "the budget of proposals is spent",
    "tokens": "the token budget is spent",
    "usd": "the money is spent",
    "deadline": "the time is over",
    "finished": "nothing is left to try",
    "stop": "stopped by the user",
    "failed": "failed",
    "unfinished": "still running, or killed",
}


def number(value: float) -> str:
    """Returns a count with thousands separated, or a short decimal."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}"


def score(value: float | None) -> str:
    """Returns a score with four digits, or a dash."""
    return "-" if value is None else f"{value:.4f}"


def money(usd: float) -> str:
    """Returns dollars, with more digits where they are few."""
    return f"${usd:,.2f}" if usd >= 1 or usd == 0 else f"${usd:.4f}"


def duration(seconds: float | None) -> str:
    """Returns seconds as a person would say them."""
    if seconds is None:
        return "-"
    if seconds < 120:
        return f"{seconds:.1f} s"
    if seconds < 7200:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"


def counts(counters: Mapping[str, int]) -> str:
    """Returns the counters that are not zero, always in the same order."""
    names = [*COUNTERS, *sorted(counters.keys() - set(COUNTERS))]
    shown = [f"{counters[name]} {name}" for name in names if counters.get(name)]
    return ", ".join(shown) or "nothing happened"


def result_lines(result: Mapping[str, Any], sizes: Mapping[str, int]) -> list[str]:
    """Returns a result (as `--json` prints it) as lines; `sizes` are examples by split."""
    reason = result["reason"]
    lines = [f"{result['run_id']}: {REASONS.get(reason, reason)}", *_scores(result, sizes)]
    lines += gain_lines(result["test_gain"])
    lines += simulated_lines(result)
    usage = result["usage"]
    time = duration(result["wall_s"]) if result["wall_s"] is not None else ""
    if result["virtual_s"] is not None:
        time = f"{duration(result['virtual_s'])} simulated" + (f" in {time}" if time else "")
    lines += [
        counts(result["counters"]),
        f"{number(usage['llm_calls'])} calls, {number(usage['tokens_in'])} + "
        f"{number(usage['tokens_out'])} tokens, {money(usage['cost_usd'])}, {time}",
    ]
    return lines


def simulated_lines(result: Mapping[str, Any]) -> list[str]:
    """Returns what has to be said of a result that a simulated world had a part in."""
    if not result["simulated"]:
        return []
    if len(result["answered_by"]) > 1:
        return [
            f"mixed: {answerers(result['answered_by'])} answered. Scores and times are neither "
            "predictions about one world nor measurements of a model"
        ]
    served = result["virtual_s"] is None
    how = "over HTTP, in real seconds of a paced endpoint" if served else "in virtual time"
    return [
        f"simulated: a built-in reader answered, {how}. Scores and times are predictions about a "
        "stated world, not about any model" + (f" ({result['world']})" if result["world"] else "")
    ]


def answerers(answered_by: Sequence[str]) -> str:
    """Returns in words who answered; before the first answer that is the models' own claim."""
    words = {REAL: "real models", UNRECORDED_WORLD: "a simulated world that was not recorded"}
    named = [words.get(by, f"simulated world {by}") for by in answered_by or (REAL,)]
    return " and ".join(named)


def gain_lines(gain: Mapping[str, Any] | None) -> list[str]:
    """Returns the gain on test in words, for what it is: an interval over one run's examples."""
    if gain is None:
        return []
    mean = f"gain on test {gain['mean']:+.4f}"
    if gain["low"] is None:
        return [f"{mean} ({gain['reason']})"]
    return [
        f"{mean}, 95 % interval {gain['low']:+.4f} to {gain['high']:+.4f} "
        f"(paired, over the {gain['n']} examples of this one run)"
    ]


def _scores(result: Mapping[str, Any], sizes: Mapping[str, int]) -> list[str]:
    replicas = result["replicas"]
    rows = [("", "seed", "best", "")]
    val = (score(result["seed_score"]), score(result["best_score"]))
    rows.append(("val", *val, _of(sizes.get("val"), replicas)))
    test = (score(result["seed_test_score"]), score(result["test_score"]))
    note = result["test_reason"] or _of(sizes.get("test"), replicas)
    return table([*rows, ("test", *test, note)])


def _of(n: int | None, replicas: int) -> str:
    if not n:
        return ""
    return f"{n} examples" if replicas == 1 else f"{n} examples, each run {replicas} times"


def table(rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset()) -> list[str]:
    """Returns rows as aligned lines; columns in `right` are aligned to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
