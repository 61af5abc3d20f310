"""Continuous batching as a discrete-event model: facts and a clock in, finished sequences out.

One accelerator serves at most `max_sequences` sequences; others queue, first come first served.

- Prompts are read one after the other. While one is read, decoding stands still: an engine that
  mixes both in one step spends the same total time.
- Otherwise each of the n decoding sequences gains a token every `t_base_s + t_per_sequence_s * n`.
- Work conserving: no slot stays empty while a sequence waits, no instant is idle while one runs.

All decoding sequences gain tokens at the same rate, so one clock of *service* (tokens gained since
the batch was last empty) orders them: a sequence ends when the service reaches its target, and an
event costs O(log n) however many sequences it slows down.
"""

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flashevolve.simulate.prefix import BLOCK_TOKENS, PrefixCache


@dataclass(frozen=True, kw_only=True)
class ServingSettings:
    """One model on one machine."""

    max_sequences: int
    t_base_s: float
    """Seconds per decoding step that do not depend on the batch: reading the weights."""
    t_per_sequence_s: float
    """Seconds that each sequence adds to a step: its attention, its sampling."""
    prefill_tokens_per_s: float
    prefix_cache_blocks: int
    """Blocks of 16 tokens; 0 = no prefix cache."""

    def __post_init__(self) -> None:
        for name, least in (("max_sequences", 1), ("prefix_cache_blocks", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        for name in ("t_base_s", "t_per_sequence_s"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        if self.t_base_s + self.t_per_sequence_s <= 0 or self.prefill_tokens_per_s <= 0:
            raise ValueError("a step and a prefilled token must take time, got a rate of infinity")


@dataclass(frozen=True, kw_only=True, slots=True)
class Timing:
    """Where the time of one request went; the parts sum to its latency."""

    queued_s: float
    """Waiting for a slot, and for the prompts before it to be read."""
    prefill_s: float
    """Reading the prompt; at a hosted API, all that comes before the first token."""
    decode_s: float


FirstToken = Callable[[int], None]
"""Called once, when a prompt has been read, with how many of its tokens were cached."""


class Entry:
    """A sequence in the batch. `tag` is the caller's."""

    __slots__ = (
        "arrived_s",
        "blocks",
        "cached_tokens",
        "decode_from_s",
        "dropped",
        "input_tokens",
        "on_first_token",
        "output_tokens",
        "prefill_from_s",
        "stage",
        "tag",
        "timing",
    )

    def __init__(
        self,
        input_tokens: int,
        output_tokens: int,
        blocks: Sequence[int],
        tag: object,
        on_first_token: FirstToken | None,
    ) -> None:
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.blocks = blocks
        self.tag = tag
        self.on_first_token = on_first_token
        self.cached_tokens = 0
        self.arrived_s = self.prefill_from_s = self.decode_from_s = 0.0
        self.stage = "queued"
        self.dropped = False
        self.timing: Timing | None = None


class Batch:
    """The state of one accelerator at `clock_s`. `submit` and `drop` act at that time."""

    def __init__(self, settings: ServingSettings) -> None:
        self.settings = settings
        self.clock_s = 0.0
        self.n_running = 0
        """Sequences that hold a slot: reading their prompt, waiting to read it, or decoding."""
        self.n_queued = 0
        self._queue: deque[Entry] = deque()
        self._lane: deque[Entry] = deque()
        self._prefill_end_s = 0.0
        """When the first in the lane is read."""
        self._decoding: list[tuple[float, int, Entry]] = []
        """A heap of (target service, order, entry); dropped entries leave it at the top."""
        self._n_decoding = 0
        self._order = 0
        self._service_tokens = 0.0
        self._cache = PrefixCache(settings.prefix_cache_blocks)

    def due_s(self) -> float | None:
        """Returns when the next sequence is read or done, if nothing else happens; None = idle."""
        if self._lane:
            return self._prefill_end_s
        if not self._decoding:
            return None
        left_tokens = max(0.0, self._decoding[0][0] - self._service_tokens)
        return self.clock_s + left_tokens * self._step_s()

    def advance(self, now_s: float) -> list[Entry]:
        """Moves the clock to `now_s`; returns what finished on the way, with `timing` set.

        Raises `ValueError` if time runs backwards while sequences are in service.
        """
        finished: list[Entry] = []
        while (due_s := self.due_s()) is not None and due_s <= now_s:
            if self._lane:
                self.clock_s = due_s
                self._end_prefill()
            else:
                self.clock_s = due_s
                self._service_tokens = self._decoding[0][0]
                self._end_decode(finished)
        if now_s < self.clock_s and self.n_running:
            raise ValueError(
                f"time must not run backwards: the batch is at {self.clock_s} s, got {now_s} s; "
                "a serving model belongs to one event loop"
            )
        if self._n_decoding and not self._lane:
            self._service_tokens += (now_s - self.clock_s) / self._step_s()
        self.clock_s = now_s
        return finished

    def submit(
        self,
        input_tokens: int,
        output_tokens: int,
        blocks: Sequence[int] = (),
        tag: object = None,
        on_first_token: FirstToken | None = None,
    ) -> Entry:
        """Adds a sequence. Raises `ValueError` unless it reads >= 0 and writes >= 1 tokens."""
        if input_tokens < 0 or output_tokens < 1:
            raise ValueError(
                "a sequence reads at least 0 and writes at least 1 token, "
                f"got {input_tokens} and {output_tokens}"
            )
        entry = Entry(input_tokens, output_tokens, blocks, tag, on_first_token)
        entry.arrived_s = self.clock_s
        self._queue.append(entry)
        self.n_queued += 1
        self._admit()
        return entry

    def drop(self, entry: Entry) -> None:
        """Takes a sequence out, wherever it is; what it has used is lost. Idempotent."""
        if entry.dropped or entry.stage == "done":
            return
        entry.dropped = True
        if entry.stage == "queued":
            self.n_queued -= 1
            return
        self.n_running -= 1
        if entry.stage == "decode":
            self._n_decoding -= 1
            self._tidy()
        elif self._lane[0] is entry:
            self._lane.popleft()
            self._begin_prefill()
        self._admit()

    def _step_s(self) -> float:
        return self.settings.t_base_s + self.settings.t_per_sequence_s * self._n_decoding

    def _admit(self) -> None:
        while self._queue and self.n_running < self.settings.max_sequences:
            entry = self._queue.popleft()
            if entry.dropped:
                continue
            self.n_queued -= 1
            self.n_running += 1
            entry.stage = "lane"
            self._lane.append(entry)
            if len(self._lane) == 1:
                self._begin_prefill()

    def _begin_prefill(self) -> None:
        while self._lane and self._lane[0].dropped:
            self._lane.popleft()
        if not self._lane:
            return
        entry = self._lane[0]
        cached_tokens = BLOCK_TOKENS * self._cache.match(entry.blocks)
        # Even of a prompt that is cached whole, the last token is computed: it gives the first
        # output's distribution.
        left_tokens = max(entry.input_tokens - cached_tokens, min(entry.input_tokens, 1))
        entry.cached_tokens = entry.input_tokens - left_tokens
        entry.prefill_from_s = self.clock_s
        self._prefill_end_s = self.clock_s + left_tokens / self.settings.prefill_tokens_per_s

    def _end_prefill(self) -> None:
        entry = self._lane.popleft()
        self._cache.add(entry.blocks)
        entry.stage, entry.decode_from_s = "decode", self.clock_s
        self._order += 1
        target_tokens = self._service_tokens + entry.output_tokens
        heapq.heappush(self._decoding, (target_tokens, self._order, entry))
        self._n_decoding += 1
        if entry.on_first_token is not None:
            entry.on_first_token(entry.cached_tokens)
        self._begin_prefill()

    def _end_decode(self, finished: list[Entry]) -> None:
        while self._decoding and self._decoding[0][0] <= self._service_tokens:
            entry = heapq.heappop(self._decoding)[2]
            if entry.dropped:
                continue
            self._n_decoding -= 1
            self.n_running -= 1
            entry.stage = "done"
            entry.timing = Timing(
                queued_s=entry.prefill_from_s - entry.arrived_s,
                prefill_s=entry.decode_from_s - entry.prefill_from_s,
                decode_s=self.clock_s - entry.decode_from_s,
            )
            finished.append(entry)
        self._tidy()
        self._admit()

    def _tidy(self) -> None:
        while self._decoding and self._decoding[0][2].dropped:
            heapq.heappop(self._decoding)
        if not self._decoding:
            # Starting over keeps the service small and its rounding errors with it.
            self._service_tokens = 0.0
