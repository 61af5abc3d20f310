"""`flashevolve sim serve`: the simulated world behind a real endpoint, for clients of any kind."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from flashevolve.simulate.endpoint import Endpoint


@click.group("sim")
def command() -> None:
    """The built-in simulation, outside runs."""


@command.command("serve")
@click.option(
    "--preset", default="h100-qwen3-8b", show_default=True, metavar="NAME", help="What to simulate."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    metavar="N",
    help="Port to listen on; 0 = any that is free.",
)
@click.option(
    "--time-scale",
    type=float,
    default=1.0,
    show_default=True,
    metavar="X",
    help="Simulated seconds per real one.",
)
@click.option(
    "--world",
    "world_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A world of your own instead of the built-in one.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    metavar="N",
    help="Seed of the answers to requests without one.",
)
def serve(
    preset: str, host: str, port: int, time_scale: float, world_file: Path | None, seed: int
) -> None:
    """Serve a simulated model over HTTP, in real time, until Ctrl-C.

    It speaks OpenAI's chat completions at http://HOST:PORT/v1; any key will do.
    Figures got from it are predictions about the simulated world.
    """
    from flashevolve.cli.console import say
    from flashevolve.simulate.endpoint import Endpoint
    from flashevolve.simulate.pace import run_paced
    from flashevolve.simulate.world import load_world

    world = load_world(world_file)
    endpoint = Endpoint.from_preset(preset, world=world, seed=seed)
    run_paced(_serve(endpoint, host, port), time_scale)
    say(f"stopped; requests {endpoint.tally}")


async def _serve(endpoint: "Endpoint", host: str, port: int) -> None:
    """Serves until a signal to stop."""
    import asyncio
    import signal

    from flashevolve.cli.console import say
    from flashevolve.simulate.endpoint import listening
    from flashevolve.simulate.pace import running_scale

    loop, stop = asyncio.get_running_loop(), asyncio.Event()

    def stopped(*_: object) -> None:
        loop.call_soon_threadsafe(stop.set)

    async with listening(endpoint, host, port) as base_url:
        before = {n: signal.signal(n, stopped) for n in (signal.SIGINT, signal.SIGTERM)}
        try:
            say(
                f"simulated {endpoint.preset} at {base_url} (world {endpoint.world.hash}, "
                f"time scale {running_scale():g}); Ctrl-C stops it"
            )
            await stop.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
