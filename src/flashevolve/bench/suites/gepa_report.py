"""The report of gepa: times of real clients beside their ceilings, and what they found.

It reads rows alone. Arms of one seed are compared at equal work: the metric calls that all of them
made, at most the budget. The best peer setting is chosen with hindsight, by that time. The score to
be reached is what that setting ends with on the seed, all that it did beyond its budget included; a
run that never reached it has no time to it, and says nothing about who is faster.
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from flashevolve.bench import stats
from flashevolve.bench.cell import Row, one_world
from flashevolve.bench.compare import arms_of, by_seed, shown
from flashevolve.bench.realtime.figures import time_of, time_to_score
from flashevolve.bench.report import Figure, Line, Report, Table, Verdict
from flashevolve.bench.targets import judge

NAME = "gepa"
ABOUT = "gepa, dspy.GEPA and ours in their place, in real time over real HTTP, at the same slots"
GEPA_FAMILY, DSPY_FAMILY = "gepa", "dspy.GEPA"
LONGER = 4
"""Times as many metric calls, in the groups that show what a run's start and end cost."""
OURS = "flashevolve, drop-in"
OWN_CLIENT = "flashevolve, own client"
FLOOR_SHARE, AIM_SHARE = 90.0, 95.0
"""Percent of the work-conserving floor."""
NOT_WORSE = -0.5
"""Points on test that the interval's lower bound must lie above."""

NOTES = (
    "Endpoint: simulated. Its answers are those of the built-in reader, its latencies lognormal, "
    "of one mean at every sigma, drawn from (seed, messages, how often they were asked before); at "
    "most 16 requests are served at once. Clients, HTTP and times are real.",
    "Each client runs in a process of its own, with its imports done before it is timed, and keeps "
    "its own defaults but for what the table names: a thread pool of 16 and a language model that "
    "answers batches for gepa, num_threads = 16 for dspy.GEPA, concurrency = 16 for ours. gepa "
    "and dspy.GEPA keep no directory; ours writes its durable log.",
    "Two runs at a time unless --jobs says otherwise; what they take of a processor is told below.",
    "The peers' grid is run whole on one seed in five, its slowest settings at one spread alone, "
    "the fastest of a first trial on all; dspy.GEPA on three seeds in five, for the suite's time.",
    "openevolve is left out: it evolves programs, and this task evolves a prompt.",
)
READING = (
    "s to equal calls: until as many metric calls had been answered as all arms of the seed "
    "made. Share of the floor: of the whole run, cold start and last answers included; the floor "
    "is the run's own calls, spread evenly over the slots. In the middle half: slots in use "
    "between a quarter and three quarters of the run. Pool busy: metric calls alone. Calls that "
    "a client gave up are in none of the three. s to score: until the best peer setting's last "
    "score on validation, on the seeds that reached it. Overshoot: metric calls beyond the "
    "budget, which also serve the peers' scores. A candidate counts from the end of its own "
    "validation; gepa counts those of one step one after another, though it makes them at once. "
    "Growth: of the process while its client ran, without imports."
)


def group_of(family: str, sigma: float, times: int = 1) -> str:
    """Returns the group of rows of one kind of client at one spread and one length."""
    length = "" if times == 1 else f", {times} times as long"
    return f"{family}, sigma {sigma:g}{length}"


def report(rows: Sequence[Row], command: str) -> Report:
    """Tells what each arm took, how ours compares with the best setting, and the targets."""
    made = {group: with_equal([r for r in rows if r.group == group]) for group in _groups(rows)}
    tables = [_taken(group, mine) for group, mine in made.items()]
    verdicts = [v for group, mine in made.items() for v in _verdicts(group, mine)]
    findings = [told for group, mine in made.items() for told in _findings(group, mine)]
    return Report(
        suite=NAME,
        about=ABOUT,
        head=_head(rows, command),
        tables=(_against(made), *_by_length(made), *tables),
        verdicts=tuple(verdicts),
        findings=tuple(findings),
        figures=_figures(made),
        real_time=True,
    )


def _groups(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row.group for row in rows))


def _head(rows: Sequence[Row], command: str) -> tuple[str, ...]:
    world = one_world(rows)
    seeds = sorted({row.seed for row in rows})
    cells = sorted({f"{row.group.partition(',')[0]}: {row.cell}, {row.model}" for row in rows})
    packages = ", ".join(sorted({row.package for row in rows}))
    return (
        f"MEASURED in real time, of real clients; the endpoint is simulated (world {world}).",
        f"{len(rows)} runs on {len(seeds)} paired seeds ({seeds[0]} to {seeds[-1]}), "
        f"flashevolve {packages}.",
        f"Cells: {'; '.join(cells)}.",
        f"Again, on an idle machine: `{command}`.",
        "Values are interquartile means over seeds, with 95 % bootstrap intervals [low, high] from "
        f"{stats.LEAST_SEEDS} seeds on, else with their range (least to most).",
        *NOTES,
    )


# -- equal work ------------------------------------------------------------------------------------


def with_equal(rows: Sequence[Row]) -> list[Row]:
    """Returns the rows of one group with what only all arms of a seed together give.

    `equal_calls` and `equal_s`; `room`: how much faster the arm's own calls could have been served;
    `score_s` and `score_reached`, against the best peer setting.
    """
    by: dict[int, list[Row]] = {}
    for row in rows:
        by.setdefault(row.seed, []).append(row)
    timed = [_timed(row, _equal_calls(together)) for together in by.values() for row in together]
    best = best_peer(timed)
    targets = by_seed(timed, best, "val") if best is not None else {}
    return [_scored(row, targets.get(row.seed)) for row in timed]


def _equal_calls(together: Sequence[Row]) -> int:
    budget = min(_budget(row) for row in together)
    return min(budget, *(len(row.curves["ends"]) for row in together))


def _budget(row: Row) -> int:
    made, beyond = row.figures["metric_calls"] or 0.0, row.figures["overshoot"] or 0.0
    return round(made - beyond)


def _timed(row: Row, n_calls: int) -> Row:
    ends = row.curves["ends"]
    equal_s, floor_s = time_of(ends, n_calls), row.figures["floor_s"]
    extra: dict[str, float | None] = {"equal_calls": float(n_calls), "equal_s": equal_s}
    if equal_s is not None and floor_s:
        extra["room"] = equal_s / (floor_s * n_calls / len(ends))
    return replace(row, figures={**row.figures, **extra})


def _scored(row: Row, target: float | None) -> Row:
    if target is None:
        return row
    seconds = time_to_score(row.curves["ends"], row.curves["bests"], target)
    extra = {"score_s": seconds, "score_reached": float(seconds is not None)}
    return replace(row, figures={**row.figures, **extra})


def best_peer(rows: Sequence[Row]) -> str | None:
    """Returns the peer setting with the least mean time to equal calls.

    Only of those that were run on as many seeds as any other, since seeds differ.
    """
    found = {name: list(by_seed(rows, name, "equal_s").values()) for name in peers_of(rows)}
    most = max((len(values) for values in found.values()), default=0)
    means = {name: fmean(v) for name, v in found.items() if v and len(v) == most}
    return min(means, key=means.__getitem__) if means else None


def peers_of(rows: Sequence[Row]) -> list[str]:
    """Returns the peers' settings that were run."""
    return [name for name in arms_of(rows) if name not in (OURS, OWN_CLIENT)]


# -- tables ----------------------------------------------------------------------------------------

COLUMNS = (
    ("equal_s", "s to equal calls", 1, 1.0),
    ("share_of_floor", "share of the floor, %", 100, 0.0),
    ("steady", "in the middle half, %", 100, 0.0),
    ("busy", "pool busy, %", 100, 0.0),
    ("score_s", "s to score, if reached", 1, 1.0),
    ("score_reached", "reached it, %", 100, 0.0),
    ("test", "test, points", 100, 1.0),
    ("metric_calls", "metric calls", 1, 0.0),
    ("overshoot", "overshoot", 1, 0.0),
    ("reflections", "reflections", 1, 0.0),
    ("candidates", "candidates", 1, 0.0),
    ("cpu_share", "CPU, % of a core", 100, 0.0),
    ("cpu_ms_per_call", "CPU ms/call", 1, 1.0),
    ("left", "given up", 1, 0.0),
    ("peak_mb", "peak MB", 1, 0.0),
    ("grown_mb", "growth, MB", 1, 0.0),
)
"""Key, title, scale, digits."""


def ranged(values: Sequence[float], digits: int) -> str:
    """Returns the mean of values over seeds, with its interval or with their range."""
    if not values:
        return "-"
    estimate = stats.mean(values)
    if len(values) == 1 or estimate.low is not None:
        return shown(estimate, digits)
    return f"{estimate.value:.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def _taken(group: str, rows: Sequence[Row]) -> Table:
    lines = []
    for name in arms_of(rows):
        cells = [name, str(len(by_seed(rows, name, "wall_s")))]
        for key, _, scale, digits in COLUMNS:
            cells.append(ranged(list(by_seed(rows, name, key, scale).values()), int(digits)))
        lines.append(tuple(cells))
    columns = ("arm", "seeds", *(title for _, title, _, _ in COLUMNS))
    endpoint = [100 * (row.figures["endpoint_cpu_share"] or 0.0) for row in rows]
    load = f"The endpoint's own process took {max(endpoint):.0f} % of a core at most."
    return Table(title=f"{group}: each arm", columns=columns, rows=tuple(lines),
                 notes=(READING, load))  # fmt: skip


def _against(made: dict[str, list[Row]]) -> Table:
    lines = []
    for group, rows in made.items():
        best = best_peer(rows)
        for name in (OURS, OWN_CLIENT):
            if best is None or name not in arms_of(rows):
                continue
            calls = faster(rows, name, best, "equal_s")
            difference = stats.difference(
                by_seed(rows, name, "test", 100.0), by_seed(rows, best, "test", 100.0)
            )
            cpu = stats.ratio(by_seed(rows, name, "cpu_s"), by_seed(rows, best, "cpu_s"))
            lines.append(
                (
                    f"{group}: {name}",
                    best,
                    _times(calls),
                    _times(room(rows, best)),
                    to_score(rows, name, best),
                    shown(difference, 1, sign=True),
                    _times(cpu),
                )
            )
    columns = (
        "ours", "best peer setting", "faster to equal calls", "ceiling", "faster to its score",
        "test at the end, points", "CPU of the run",
    )  # fmt: skip
    note = (
        "Faster: the best setting's time by ours. Ceiling: how much faster that setting's own "
        "calls could have been served at the same slots without any dependency between them."
    )
    return Table(title="Ours against the best peer setting", columns=columns, rows=tuple(lines),
                 notes=(note, *_on_the_grid(made)))  # fmt: skip


def _on_the_grid(made: dict[str, list[Row]]) -> list[str]:
    """Says which settings ran on fewer seeds or not at all, and which was best where all ran."""
    told = []
    for group, rows in made.items():
        best, peers = best_peer(rows), peers_of(rows)
        if best is None:
            continue
        family = group.partition(",")[0]
        every = {n for g, r in made.items() if g.partition(",")[0] == family for n in peers_of(r)}
        shared = set.intersection(*(set(by_seed(rows, name, "equal_s")) for name in peers))
        fewer = [n for n in peers if len(by_seed(rows, n, "equal_s")) < len(_seeds(rows, best))]
        parts = [f"{group}: {best} is the best of {', '.join(n for n in peers if n not in fewer)}"]
        if fewer:
            parts.append(f"{', '.join(fewer)} ran on fewer seeds")
        if fewer and shared:
            means = {
                n: fmean(by_seed(rows, n, "equal_s")[s] for s in sorted(shared)) for n in peers
            }
            first = min(means, key=means.__getitem__)
            places = ", ".join(map(str, sorted(shared)))
            parts.append(
                f"where all ran (seeds {places}) the fastest is {first}, {means[first]:.1f} s, "
                f"and {best} {means[best]:.1f}"
            )
        if missing := sorted(every - set(peers)):
            parts.append(f"not run: {', '.join(missing)}")
        told.append("; ".join(parts) + ".")
    return told


def _seeds(rows: Sequence[Row], arm: str) -> set[int]:
    return {row.seed for row in rows if row.arm == arm}


def _by_length(made: dict[str, list[Row]]) -> list[Table]:
    """Returns the share of the floor of longer runs beside that of the same seeds' usual ones."""
    ending, lines = f", {LONGER} times as long", []
    for group, rows in made.items():
        usual = made.get(group.removesuffix(ending))
        if not group.endswith(ending) or usual is None:
            continue
        for name in arms_of(rows):
            long = by_seed(rows, name, "share_of_floor", 100.0)
            short = by_seed(usual, name, "share_of_floor", 100.0)
            both = sorted(long.keys() & short.keys())
            pair = (ranged([found[s] for s in both], 0) for found in (short, long))
            lines.append((f"{group.removesuffix(ending)}: {name}", str(len(both)), *pair))
    note = "A run's start and end cost the same whatever its length; waits within it grow with it."
    columns = ("arm", "seeds", "usual length, %", f"{LONGER} times as long, %")
    title = "Share of the floor by the run's length"
    return [Table(title=title, columns=columns, rows=tuple(lines), notes=(note,))] if lines else []


def _times(found: stats.Estimate | None) -> str:
    return "-" if found is None else f"{shown(found, 2)} x"


def faster(rows: Sequence[Row], ours: str, peer: str, key: str) -> stats.Estimate | None:
    """Returns how many times as fast as a peer's setting an arm of ours is, on paired seeds."""
    return stats.ratio(by_seed(rows, peer, key), by_seed(rows, ours, key))


def to_score(rows: Sequence[Row], ours: str, peer: str) -> str:
    """Returns how much faster ours came to a peer's score, and on how many seeds it came there."""
    reached = by_seed(rows, ours, "score_reached").values()
    if not any(reached):
        return f"not reached (0 of {len(reached)})"
    found = faster(rows, ours, peer, "score_s")
    return f"{_times(found)} ({sum(reached):.0f} of {len(reached)} reached)"


def room(rows: Sequence[Row], peer: str) -> stats.Estimate | None:
    """Returns how much faster a setting's own calls could have been served."""
    found = list(by_seed(rows, peer, "room").values())
    return stats.mean(found) if found else None


# -- targets and findings --------------------------------------------------------------------------


def _verdicts(group: str, rows: Sequence[Row]) -> list[Verdict]:
    if len({row.seed for row in rows}) == 1:
        return []  # one seed decides nothing
    share = stats.mean(list(shares.values())) if (shares := _shares(rows)) else None
    made = [
        Verdict(
            what=f"{group}: {OURS}, share of the work-conserving floor, %",
            floor=f"at least {FLOOR_SHARE:.0f}",
            aim=f"{AIM_SHARE:.0f}",
            found=ranged(list(shares.values()), 0),
            ceiling="-" if share is None else f"{100 / share.value:.2f} x",
            n=None if share is None else share.n,
            verdict="no figure" if share is None else judge(share.value, FLOOR_SHARE, AIM_SHARE),
        )
    ]
    best = best_peer(rows)
    return made if best is None else [*made, *_against_best(group, rows, best)]


def _shares(rows: Sequence[Row]) -> dict[int, float]:
    return by_seed(rows, OURS, "share_of_floor", 100.0)


def _against_best(group: str, rows: Sequence[Row], best: str) -> list[Verdict]:
    found, ceiling = faster(rows, OURS, best, "equal_s"), room(rows, best)
    test = stats.difference(by_seed(rows, OURS, "test", 100.0), by_seed(rows, best, "test", 100.0))
    aim = None if ceiling is None else max(1.0, FLOOR_SHARE / 100 * ceiling.value)
    return [
        Verdict(
            what=f"{group}: faster to equal metric calls than {best}",
            floor="above 1",
            aim="-" if aim is None else f"{aim:.2f}",
            found=_times(found),
            ceiling=_times(ceiling),
            n=None if found is None else found.n,
            verdict="no figure" if found is None else judge(found.value, 1.0, aim or 1.0),
        ),
        Verdict(
            what=f"{group}: test at the end, points against {best}",
            floor=f"interval above {NOT_WORSE:g}",
            aim="-",
            found=shown(test, 1, sign=True),
            n=None if test is None else test.n,
            verdict=not_worse(test),
        ),
    ]


def not_worse(found: stats.Estimate | None) -> str:
    """Returns whether the interval of a difference lies above what still counts as equal."""
    if found is None:
        return "no figure"
    if found.low is None:
        return f"no interval below {stats.LEAST_SEEDS} seeds"
    return "floor met" if found.low > NOT_WORSE else "MISSED"


def _findings(group: str, rows: Sequence[Row]) -> list[str]:
    best = best_peer(rows)
    if best is None:
        return []
    made = []
    reached = by_seed(rows, OURS, "score_reached")
    beside = f", where reached: {sum(reached.values()):.0f} of {len(reached)} seeds"
    said = (("equal_s", "to equal metric calls"), ("score_s", f"to {best}'s score{beside}"))
    for key, words in said:
        found = faster(rows, OURS, best, key)
        if found is not None:
            made.append(f"{group}, {OURS} against {best}, {words}: {_times(found)} as fast "
                        f"({_side(found, 'faster', 'slower')}; n={found.n})")  # fmt: skip
    if reached and not any(reached.values()):
        made.append(f"{group}, {OURS}: {best}'s score was not reached on any of {len(reached)} "
                    "seeds")  # fmt: skip
    return [*made, *_cpu_finding(group, rows, best)]


def _cpu_finding(group: str, rows: Sequence[Row], best: str) -> list[str]:
    """Tells what the speed costs: the client's processor time for each call."""
    ours, theirs = (by_seed(rows, name, "cpu_ms_per_call") for name in (OURS, best))
    found = stats.ratio(ours, theirs)
    if found is None:
        return []
    each = f"{fmean(ours.values()):.1f} ms against {fmean(theirs.values()):.1f}"
    return [f"{group}, {OURS} against {best}, the client's CPU for each call: {_times(found)} "
            f"({each}; {_side(found, 'more', 'less')}; n={found.n})"]  # fmt: skip


def _side(found: stats.Estimate, above: str, below: str) -> str:
    if found.low is None:
        return "too few seeds for an interval"
    return {1: above, -1: below, 0: "undecided"}[found.side(1.0)]


def _figures(made: dict[str, list[Row]]) -> tuple[Figure, ...]:
    """Returns the share of the floor by spread, for each kind of client."""
    figures = []
    for family in (GEPA_FAMILY, DSPY_FAMILY):
        mine = {
            group: rows
            for group, rows in made.items()
            if group.partition(", ")[0] == family and group.count(", ") == 1
        }
        names = dict.fromkeys(name for rows in mine.values() for name in arms_of(rows))
        if mine:
            figures.append(
                Figure(
                    name=f"bench-gepa-floor-{family.partition('.')[0]}",
                    title=f"{family}: share of the work-conserving floor, real time",
                    x="spread of latencies",
                    y="share, %",
                    lines=tuple(_line(name, list(mine.values())) for name in names),
                    kind="point",
                    ticks=tuple(group.partition(", ")[2] for group in mine),
                )
            )
    return tuple(figures)


def _line(name: str, groups: Sequence[Sequence[Row]]) -> Line:
    found = [list(by_seed(rows, name, "share_of_floor", 100.0).values()) for rows in groups]
    known = [(float(i), values) for i, values in enumerate(found) if values]
    return Line(
        label=name,
        x=tuple(x for x, _ in known),
        y=tuple(round(fmean(values), 3) for _, values in known),
        low=tuple(round(min(values), 3) for _, values in known),
        high=tuple(round(max(values), 3) for _, values in known),
    )
