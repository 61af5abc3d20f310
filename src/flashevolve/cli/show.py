"""`flashevolve show`: what happened in a run, folded from its events."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from flashevolve import events as ev
from flashevolve import rundir
from flashevolve.cli.console import one_line, print_json, safe
from flashevolve.cli.progress import Progress
from flashevolve.cli.report import duration, money, number, result_lines, score, table
from flashevolve.config import resolve
from flashevolve.errors import FlashEvolveError, StoreError
from flashevolve.prepare import models_in_words
from flashevolve.result import result_of
from flashevolve.store.lock import is_locked
from flashevolve.task import SPLITS

REASONS_SHOWN = 3
"""Of each outcome; the rest is in the events."""

REASON_CHARS = 90


@click.command("show")
@click.argument("run_dir", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(run_dir: Path | None, as_json: bool) -> None:
    """Say what happened in a run: scores, admitted candidates, why steps ended, time and cost.

    Without DIR, in the run below ./runs that was written last.
    """
    story = tell(run_dir or rundir.latest_run(Path("runs")))
    if as_json:
        print_json(story)
        return
    for line in in_words(story):
        click.echo(safe(line))


def tell(run_dir: Path) -> dict[str, Any]:
    """Returns everything that `show` says, as JSON-serialisable data."""
    progress = Progress()
    admitted: list[dict[str, Any]] = []
    sources: dict[int, str] = {}
    running = is_locked(run_dir)
    for record in rundir.read_records(run_dir):
        progress.apply(record)
        event = record.event
        if isinstance(event, ev.ItemSelected):
            sources[event.ticket] = event.source
        elif isinstance(event, ev.PoolChanged) and event.admits:
            admitted += _admitted(progress, event, record.t_s, sources)
    state = progress.state
    if state is None:
        raise StoreError(f"{run_dir}: no event of this run was stored; remove the directory")
    started = state.started
    assert started is not None, "a log begins with run_started"
    wall_s = (rundir.read_result(run_dir) or {}).get("wall_s")
    result = result_of(state, run_dir, _models(started), wall_s)
    return {
        "result": {**result.to_json(), "running": running},
        "config": _config(started),
        "examples": {split: started.data.get(split, {}).get("n", 0) for split in SPLITS},
        "admitted": admitted,
        "ended": _ends(progress.ends),
        "gaps": {str(gap): n for gap, n in sorted(progress.gaps.items())},
        "stages": [asdict(stage) for stage in progress.stages()],
        "conservation": state.conservation(),
        "resumable": state.ended is None or state.ended.resumable,
        "detail": state.ended.detail if state.ended else "",
    }


def _admitted(
    progress: Progress, event: ev.PoolChanged, t_s: float, sources: dict[int, str]
) -> list[dict[str, Any]]:
    assert progress.state is not None
    candidates = progress.state.pool.candidates.values()
    marks = _marks_by_place(event.marks)
    return [
        {
            "t_s": t_s,
            "candidate": candidate.id,
            "parents": list(candidate.parents),
            "score": candidate.mean if candidate.scores else None,
            "source": sources.get(event.ticket, ""),
            "ticket": event.ticket,
            "marks": next(marks, []),
            "version": event.version,
        }
        for candidate in candidates
        if candidate.ticket == event.ticket
    ]


def _marks_by_place(marks: Iterable[str]) -> Iterator[list[str]]:
    """Yields the marks of each candidate of a transaction; see `Commit.marks`."""
    found: list[str] = []
    for mark in marks:
        if mark == "admitted":
            yield found
            found = []
        else:
            found.append(mark)
    yield found


def _ends(ends: Counter[tuple[str, str]]) -> list[dict[str, Any]]:
    """Returns outcomes by frequency, each with its reasons; numbers in reasons are left out."""
    by_outcome: dict[str, Counter[str]] = {}
    for (outcome, reason), n in ends.items():
        by_outcome.setdefault(outcome, Counter())[_kind(reason)] += n
    rows = [
        {"outcome": outcome, "n": reasons.total(), "reasons": dict(reasons.most_common())}
        for outcome, reasons in by_outcome.items()
    ]
    return sorted(rows, key=lambda row: -int(str(row["n"])))


def _kind(reason: str) -> str:
    """Returns a reason with its numbers replaced, so that the same reason counts once."""
    words = reason.split()
    return " ".join("#" if _is_number(word) else word for word in words)


def _is_number(word: str) -> bool:
    try:
        float(word.strip("(),;:"))
    except ValueError:
        return False
    return True


def _models(started: ev.RunStarted) -> str:
    try:
        return models_in_words(resolve(started.config, source="recorded"))
    except FlashEvolveError:  # a user's algorithm that is no longer there: the rest can be told
        return ""


def _config(started: ev.RunStarted) -> dict[str, Any]:
    config = started.config
    keys = ("budget", "limits", "staleness", "speculation", started.algorithm)
    tables = {key: config[key] for key in keys if isinstance(config.get(key), dict)}
    return {
        "algorithm": started.algorithm,
        "policy": started.policy,
        "schedule": started.schedule,
        "seed": started.rng_seed,
        **{key: {k: v for k, v in t.items() if v is not None} for key, t in tables.items()},
    }


def in_words(story: dict[str, Any]) -> list[str]:
    """Returns a story as lines for a person."""
    result, config = story["result"], story["config"]
    sizes = ", ".join(f"{n} {split}" for split, n in story["examples"].items())
    status = "running" if result["running"] else "resumable" if story["resumable"] else "finished"
    lines = [
        f"run {result['run_id']} in {result['run_dir']}: {status}",
        f"{config['algorithm']}, policy {config['policy']}, schedule {config['schedule']}, "
        f"model {result['model'] or '?'}, seed {config['seed']}; data: {sizes}",
        "",
        *result_lines(result, story["examples"]),
    ]
    if story["detail"]:
        lines.append(one_line(story["detail"]))
    lines += ["", "admitted candidates", *_timeline(story["admitted"])]
    lines += ["", "how steps ended", *_endings(story["ended"])]
    lines += ["", "stages", *_stage_lines(story["stages"])]
    if story["gaps"]:
        gaps = ", ".join(f"{gap} ({n} x)" for gap, n in story["gaps"].items())
        lines += ["", f"gaps at the check: {gaps}"]
    lines += ["", "usage by role", *_usage(result["usage_by_role"])]
    return [*lines, "", _conservation(story["conservation"])]


def _timeline(admitted: list[dict[str, Any]]) -> list[str]:
    if not admitted:
        return ["  none"]
    rows = [("  at", "candidate", "parents", "score", "from", "")]
    for entry in admitted:
        parents = " ".join(map(str, entry["parents"])) or "-"
        at, marks = f"  {duration(entry['t_s'])}", " ".join(entry["marks"])
        name = str(entry["candidate"])
        rows.append((at, name, parents, score(entry["score"]), entry["source"], marks))
    return table(rows)


def _endings(ended: list[dict[str, Any]]) -> list[str]:
    lines = []
    for row in ended:
        lines.append(f"  {row['n']} {row['outcome']}")
        reasons = list(row["reasons"].items())
        for reason, n in reasons[:REASONS_SHOWN]:
            if reason:
                lines.append(f"      {n} x {one_line(reason, REASON_CHARS)}")
        if len(reasons) > REASONS_SHOWN:
            lines.append(f"      and {len(reasons) - REASONS_SHOWN} other reasons")
    return lines or ["  none"]


def _stage_lines(stages: list[dict[str, Any]]) -> list[str]:
    total_s = sum(stage["busy_s"] for stage in stages) or 1.0
    rows = [("  stage", "items", "share of time", "mean", "mean wait")]
    for stage in stages:
        n = max(1, stage["done"])
        share = f"{100 * stage['busy_s'] / total_s:.0f} %"
        mean, wait = duration(stage["busy_s"] / n), duration(stage["waited_s"] / n)
        rows.append((f"  {stage['name']}", str(stage["done"]), share, mean, wait))
    return table(rows, right=frozenset({1, 2, 3, 4}))


def _usage(by_role: dict[str, dict[str, Any]]) -> list[str]:
    rows = [("  role", "calls", "tokens in", "tokens out", "cost")]
    for role, used in by_role.items():
        tokens = number(used["tokens_in"]), number(used["tokens_out"])
        rows.append((f"  {role}", number(used["llm_calls"]), *tokens, money(used["cost_usd"])))
    return table(rows, right=frozenset({1, 2, 3, 4}))


def _conservation(counts: dict[str, int]) -> str:
    parts = " + ".join(f"{n} {name.replace('_', ' ')}" for name, n in counts.items() if n)
    created = counts["created"]
    parts = parts.removeprefix(f"{created} created + ") if created else "0"
    total = sum(n for name, n in counts.items() if name != "created")
    verdict = "" if total == created else f"  (do not add up: {total}; please report this)"
    return f"steps: {created} created = {parts}{verdict}"
