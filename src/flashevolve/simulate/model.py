"""A model that exists only here: a reader's answers, at the length and speed of a served model.

Invariants:

- The same messages and the same seed give the same answer of the same length; without a seed each
  request is a new sample, numbered per model.
- All models of a run that name one preset share its accelerators, or its account's limits.
- A request that is not answered within its `timeout_s` fails as it would over HTTP.
- `preset/shape` names a preset that answers as a shape of the world: its lengths, and no content.
- `tokens_out` counts simulated tokens, most of which stand for reasoning that is not shown: it is
  not the length of the text, but never less than that.
"""

import asyncio
from collections.abc import MutableMapping, Sequence
from dataclasses import replace
from importlib import import_module
from random import Random
from typing import ClassVar, Protocol

from flashevolve.llm.errors import ModelBug, Transient, Truncated
from flashevolve.llm.messages import Message, Reply, Request
from flashevolve.simulate.batching import FirstToken
from flashevolve.simulate.charged import charge_call, free
from flashevolve.simulate.lengths import LengthSettings, digest, draw_tokens
from flashevolve.simulate.prefix import count_tokens, prefix_blocks, text_of
from flashevolve.simulate.serving import Job, Server, server_of
from flashevolve.simulate.shapes import ShapeReader, ShapeSettings
from flashevolve.simulate.world import World, load_world


class Reader(Protocol):
    """Something that answers: text in, text out, all chance from `rng`."""

    def answer(self, messages: Sequence[Message], rng: Random) -> str:
        """Returns the text of the answer."""
        ...


class SimulatedModel:
    """A chat model whose answers come from a reader and whose time from a serving model."""

    simulated: ClassVar[bool] = True

    def __init__(
        self,
        reader: Reader,
        server: Server,
        lengths: LengthSettings,
        *,
        name: str,
        shape: ShapeSettings | None = None,
    ) -> None:
        """`shape` None = all answers are as long as `lengths` says."""
        self._reader = reader
        self._server = server
        self._lengths = lengths
        self._shape = shape
        self._name = name
        self._n_samples = 0

    @classmethod
    def from_preset(
        cls,
        preset: str,
        shared: MutableMapping[str, Server],
        *,
        reader: Reader | None = None,
        world: World | None = None,
    ) -> "SimulatedModel":
        """Returns a model of a preset of the world.

        `preset` may be followed by a slash and a shape. `shared` holds a run's servers by preset; a
        missing one is added. `reader` None = the built-in one, `world` None = the package's own.
        Raises `ConfigError` for an unknown preset or shape.
        """
        world, name = world or load_world(), preset
        preset, slash, shape_name = preset.partition("/")
        settings = world.preset(preset)
        shape = world.shape(shape_name) if slash else None
        if preset not in shared:
            shared[preset] = server_of(settings)
        if reader is None and shape is not None:
            reader = ShapeReader(shape)
        elif reader is None:
            # By name, since a reader is the largest part of the simulation and needs none of this.
            reader_class = import_module("flashevolve.simulate.reader").TextReader
            built_in: Reader = reader_class(world.reader_of(preset))
            reader = built_in
        return cls(reader, shared[preset], world.lengths, name=name, shape=shape)

    async def complete(self, request: Request, on_first_token: FirstToken | None = None) -> Reply:
        """Answers one request.

        Raises `Truncated` if the answer exceeds `max_output_tokens`, `Transient` if it takes longer
        than `timeout_s`, `RateLimited` if the preset has limits and they are reached, and
        `ModelBug` if the reader raised.
        """
        charge_call()
        with free():
            text, wanted_tokens, job = self._written(request)
        tokens_in, tokens_out = job.input_tokens, job.output_tokens
        try:
            async with asyncio.timeout(request.timeout_s):
                await self._server.serve(job, on_first_token)
        except TimeoutError:
            raise Transient(
                f"{self._name} (simulated): no answer (timeout_s = {request.timeout_s:g})",
                billed_unknown=True,
            ) from None
        reply = Reply(text="", tokens_in=tokens_in, tokens_out=tokens_out, model=self._name)
        if wanted_tokens > tokens_out:
            # Reasoning precedes the answer, so a reply that is cut shows nothing of it.
            raise Truncated(
                f"expected an answer within {tokens_out} tokens, found {wanted_tokens} wanted by "
                f"{self._name} (simulated); raise max_output_tokens",
                reply=replace(reply, finish="length"),
            )
        return replace(reply, text=text)

    def _lengths_of(self, request: Request) -> LengthSettings:
        if self._shape is None:
            return self._lengths
        return self._shape.lengths(request.messages, self._lengths.max_tokens)

    def _written(self, request: Request) -> tuple[str, int, Job]:
        """Returns the answer's text, the tokens that it wants, and what it asks of the server."""
        sample = self._sample(request)
        prompt = text_of(request.messages)
        wanted_tokens = draw_tokens(self._lengths_of(request), request.messages, sample)
        text = ""
        if wanted_tokens <= request.max_output_tokens:
            rng = Random(digest(b"answer", prompt, sample.encode()))
            text = self._read(request.messages, rng)
            wanted_tokens = max(wanted_tokens, count_tokens(text.encode()))
        job = Job(
            count_tokens(prompt),
            min(wanted_tokens, request.max_output_tokens),
            prefix_blocks(prompt),
            max_output_tokens=request.max_output_tokens,
            draw=digest(b"speed", prompt, sample.encode()),
        )
        return text, wanted_tokens, job

    def _read(self, messages: Sequence[Message], rng: Random) -> str:
        try:
            return self._reader.answer(messages, rng)
        except Exception as error:  # otherwise it would pass for an error of the caller's code
            raise ModelBug(
                f"expected an answer of {self._name} (simulated), found that its reader raised "
                f"{type(error).__name__}: a bug of flashevolve, please report it"
            ) from error

    async def close(self) -> None:
        """Does nothing: there is no connection."""

    def _sample(self, request: Request) -> str:
        if request.seed is not None:
            return f"seed {request.seed}"
        self._n_samples += 1
        return f"sample {self._n_samples}"
