"""A simulated endpoint on loopback, in a thread with a paced loop of its own."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random

from flashevolve.llm.messages import Message, Reply, Request
from flashevolve.simulate.answering import ObservableModel
from flashevolve.simulate.batching import FirstToken, ServingSettings
from flashevolve.simulate.endpoint import Endpoint, listening
from flashevolve.simulate.lengths import LengthSettings
from flashevolve.simulate.model import SimulatedModel
from flashevolve.simulate.pace import run_paced
from flashevolve.simulate.world import World, load_world

PRESET = "tiny"
PATIENCE_S = 30.0


class Echo:
    """A reader that repeats the last message and one draw."""

    def answer(self, messages: Sequence[Message], rng: Random) -> str:
        return f"{messages[-1].text} {rng.random()}"


def world(*, max_sequences: int = 64, mean_tokens: float = 20.0, sigma: float = 0.5) -> World:
    """A world with one machine: a second per token, 100 prompt tokens a second."""
    machine = ServingSettings(
        max_sequences=max_sequences,
        t_base_s=1.0,
        t_per_sequence_s=0.0,
        prefill_tokens_per_s=100.0,
        prefix_cache_blocks=1000,
    )
    lengths = LengthSettings(
        mean_tokens=mean_tokens, sigma_example=0.0, sigma_sample=sigma, max_tokens=1_000_000
    )
    return replace(
        load_world(), presets={PRESET: machine}, strengths={PRESET: 1.0}, lengths=lengths
    )


def model(of: World) -> SimulatedModel:
    """A model of the world that repeats what it is told."""
    return SimulatedModel.from_preset(PRESET, {}, reader=Echo(), world=of)


def echoing(of: World, seed: int = 0) -> Endpoint:
    """An endpoint of such a model."""
    return Endpoint(model(of), PRESET, world=of, seed=seed)


class Watched:
    """A model that says when it is asked."""

    def __init__(self, model: ObservableModel) -> None:
        self.asked = threading.Event()
        self._model = model

    async def complete(self, request: Request, on_first_token: FirstToken | None = None) -> Reply:
        self.asked.set()
        return await self._model.complete(request, on_first_token)


class Failing:
    """A model that raises, before its first token or after it."""

    def __init__(self, error: Exception, *, late: bool = False) -> None:
        self._error = error
        self._late = late

    async def complete(self, request: Request, on_first_token: FirstToken | None = None) -> Reply:
        if self._late and on_first_token is not None:
            on_first_token(0)
            await asyncio.sleep(0)
        raise self._error


@contextmanager
def served(endpoint: Endpoint, time_scale: float = 1000.0) -> Iterator[str]:
    """Serves in a thread; yields the base URL."""
    urls: list[str] = []
    started = threading.Event()
    stopping: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        stop = asyncio.Event()
        stopping.append((asyncio.get_running_loop(), stop))
        async with listening(endpoint, "127.0.0.1", 0) as base_url:
            urls.append(base_url)
            started.set()
            await stop.wait()

    thread = threading.Thread(target=run_paced, args=(serve(), time_scale), daemon=True)
    thread.start()
    assert started.wait(PATIENCE_S), "the simulated endpoint did not start"
    try:
        yield urls[0]
    finally:
        loop, stop = stopping[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
