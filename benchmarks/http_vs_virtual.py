"""The same run in virtual time and over real HTTP: does the clock that jumps tell the truth?

    .venv/bin/python benchmarks/http_vs_virtual.py [--seeds 5] [--calls 600] [--scale 5]
        [--policy reflective] [--preset h100-qwen3-8b] [--json F]

Each seed is run twice with one configuration and the same number of metric calls: in virtual time,
and against `flashevolve sim serve` in another process, over real sockets, with real threads, a
real store and real waiting. The server's model is the same; what the second run adds is everything
that virtual time leaves out. Aim: within 15 %.

So that minutes take seconds, both processes of the second run count S seconds for each real one:
the server by `--time-scale S`, the run by an event loop of the same pace. Whatever is configured in
seconds (deadlines, pauses, cooldowns) keeps its proportion to the answers. What a real machine adds
(sockets, JSON, SQLite, checkers, waiting for a processor) is not sped up: in scaled seconds it
counts S times what it would at S = 1. So the gap grows with S and with whatever else the machine
does, and bounds the one at S = 1 from above. The processors that the run and the server kept busy,
and the machine's load, are printed; where they come near what there is, the figure tells about the
machine. (Retry-After comes in real seconds, which a paced run takes for its own: with a preset
whose limits are reached use --scale 1.)

Requests carry seeds, so that the same messages get the same answer on both sides. With --policy
sync both then make the same calls, and the ratio is one of time alone. Asynchronous runs part ways:
what a step selects depends on what was committed before, and answers that come at almost the same
time may come in either order, after which other texts are asked for. A pair then differs by that
chance, whatever the clocks; the ratio of the sums over seeds is the figure. The line below it takes
the chance out: each side's own calls, replayed through the same server at the same limit, over the
time that they took (the share of the ceiling), HTTP's against virtual time's.

Simulated on both sides: nothing here is a measurement of a model or an accelerator.
"""

import argparse
import json
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flashevolve as fe
from flashevolve.bench.served import served_calls
from flashevolve.rundir import read_records
from flashevolve.simulate.ceiling import ceiling_s
from flashevolve.simulate.pace import run_paced
from flashevolve.simulate.world import load_world
from flashevolve.workloads.instructions import generate, score

CONCURRENCY = 64
AIM = 0.15


@dataclass(frozen=True, kw_only=True)
class Side:
    """One run."""

    seconds: float
    """Of the run's own clock, from its first to its last event."""
    calls: int
    tokens_out: int
    ceiling_s: float
    cpu: float = 0.0
    """Processors that the run's process kept busy."""
    server_cpu: float = 0.0


def run(seed: int, options: argparse.Namespace, base_url: str | None) -> Side:
    """Runs one seed, in virtual time or against an endpoint."""
    data = generate(seed, n_train=60, n_val=options.val, n_test=1)
    model: Any = f"sim/{options.preset}"
    if base_url is not None:
        model = fe.Model(options.preset, base_url=base_url, send_seed=True)
    with tempfile.TemporaryDirectory() as directory:
        run_dir = Path(directory) / "run"
        arguments: dict[str, Any] = {
            "seed": {"system": "Answer the request."},
            "train": data["train"],
            "val": data["val"],
            "score": score,
            "input": "prompt",
            "algorithm": fe.GEPA(minibatch=3),
            "policy": "full" if options.policy == "sync" else options.policy,
            "schedule": "sync" if options.policy == "sync" else "async",
            "models": model,
            "budget": fe.Budget(metric_calls=options.calls),
            "concurrency": CONCURRENCY,
            "rng_seed": seed,
            "run_dir": run_dir,
        }
        began_s, cpu_s = time.monotonic(), time.process_time()
        if base_url is None:
            fe.optimize(**arguments)
        else:
            run_paced(fe.aoptimize(**arguments), options.scale)
        cpu = (time.process_time() - cpu_s) / (time.monotonic() - began_s)
        records = list(read_records(run_dir))
    calls = served_calls(records)
    return Side(
        seconds=records[-1].t_s,
        calls=len(calls),
        tokens_out=sum(call.output_tokens for call in calls),
        ceiling_s=ceiling_s(calls, load_world().preset(options.preset), max_in_flight=CONCURRENCY),
        cpu=cpu,
    )


@contextmanager
def endpoint(preset: str, scale: float) -> Iterator[str]:
    """Starts `flashevolve sim serve` in a process of its own; yields its base URL."""
    command = [sys.executable, "-m", "flashevolve", "sim", "serve", "--port", "0"]
    command += ["--preset", preset, "--time-scale", str(scale)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            ready = server.stderr.readline()
            found = re.search(r"http://\S+", ready)
            assert found, f"expected the line of a server that is ready, found {ready!r}"
            yield found[0]
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)


def over_http(seed: int, options: argparse.Namespace) -> Side:
    """Runs one seed against a fresh server."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began_s = time.monotonic()
    with endpoint(options.preset, options.scale) as base_url:
        side = run(seed, options, base_url)
    wall_s = time.monotonic() - began_s
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Side(**{**vars(side), "server_cpu": used_s / wall_s})


def report(pairs: list[tuple[Side, Side]], options: argparse.Namespace) -> bool:
    """Prints a line per seed and the ratios; returns whether the aim is reached."""
    row = "{:<6}{:>10}{:>10}{:>8}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}"
    print(
        row.format(
            "seed",
            "virtual s",
            "HTTP s",
            "ratio",
            "calls v",
            "calls h",
            "share v",
            "share h",
            "cpu run",
            "cpu srv",
        )
    )
    for seed, (v, h) in enumerate(pairs):
        cells = [
            f"{v.seconds:.1f}",
            f"{h.seconds:.1f}",
            f"{h.seconds / v.seconds:.3f}",
            v.calls,
            h.calls,
            f"{v.ceiling_s / v.seconds:.3f}",
            f"{h.ceiling_s / h.seconds:.3f}",
            f"{h.cpu:.2f}",
            f"{h.server_cpu:.2f}",
        ]
        print(row.format(seed, *cells))
    ratios = [h.seconds / v.seconds for v, h in pairs]
    total = sum(h.seconds for _, h in pairs) / sum(v.seconds for v, _ in pairs)
    shares = [
        sum(side.ceiling_s for side in sides) / sum(side.seconds for side in sides)
        for sides in zip(*pairs, strict=True)
    ]
    paired = f"median {statistics.median(ratios):.3f} [{min(ratios):.3f}, {max(ratios):.3f}]"
    print(f"\nHTTP over virtual: {total:.3f} of all seeds together; by seed {paired}")
    print(
        f"share of the ceiling of its own calls: virtual {shares[0]:.3f}, HTTP {shares[1]:.3f}; "
        f"at equal calls HTTP takes {shares[0] / shares[1]:.3f} of the time"
    )
    holds = abs(total - 1) <= AIM
    print(f"load of the machine at the end: {os.getloadavg()[0]:.1f}")
    print(f"aim: within {AIM:.0%}: {'holds' if holds else 'FAILS'}")
    return holds


def main() -> None:
    """Runs all seeds on both sides."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=600)
    parser.add_argument("--val", type=int, default=60)
    parser.add_argument("--scale", type=float, default=5.0)
    parser.add_argument("--policy", default="reflective")
    parser.add_argument("--preset", default="h100-qwen3-8b")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(
        f"simulated {options.preset}, world {load_world().hash}; policy {options.policy}, "
        f"C={CONCURRENCY}, {options.calls} metric calls, S={options.scale:g}, "
        f"{os.cpu_count()} processors\n"
    )
    pairs = []
    for seed in range(options.seeds):
        pairs.append((run(seed, options, None), over_http(seed, options)))
    holds = report(pairs, options)
    if options.json:
        options.json.write_text(json.dumps([[vars(v), vars(h)] for v, h in pairs], indent=2))
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
