"""The prefix cache of a serving engine: how much of a prompt was computed recently.

A prompt is a chain of blocks of `BLOCK_TOKENS` tokens, each named by a hash of everything up to its
end, so that two prompts share a block iff they share all text before it. Only full blocks count.
"""

import zlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from flashevolve.llm.messages import Message

BLOCK_TOKENS = 16
"""vLLM's default block size."""
BYTES_PER_TOKEN = 4
"""English prose under today's tokenizers; an estimate, used wherever tokens are counted here."""


def text_of(messages: Iterable[Message]) -> bytes:
    """Returns everything that a model reads, roles included, as one byte string."""
    parts: list[str] = []
    for message in messages:
        parts += (message.role, "\n", message.text, "\n")
        for call in message.tool_calls:
            parts += (call.name, call.arguments, "\n")
    return "".join(parts).encode()


def count_tokens(text: bytes) -> int:
    """Returns the estimated number of tokens, rounded up."""
    return -(-len(text) // BYTES_PER_TOKEN)


def prefix_blocks(text: bytes) -> tuple[int, ...]:
    """Returns the names of the prompt's full blocks, from its beginning."""
    # A running CRC is not randomised per process as `hash` is; a collision costs a few tokens.
    size, names, crc = BLOCK_TOKENS * BYTES_PER_TOKEN, [], 0
    for start in range(0, len(text) - size + 1, size):
        crc = zlib.crc32(text[start : start + size], crc)
        names.append(crc)
    return tuple(names)


class PrefixCache:
    """Blocks by recency of use, at most `capacity_blocks`."""

    def __init__(self, capacity_blocks: int) -> None:
        self._capacity_blocks = capacity_blocks
        self._blocks: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._blocks)

    def match(self, blocks: Sequence[int]) -> int:
        """Returns how many leading blocks are cached."""
        for n_hits, block in enumerate(blocks):
            if block not in self._blocks:
                return n_hits
        return len(blocks)

    def add(self, blocks: Sequence[int]) -> None:
        """Makes these blocks the most recently used, the first one last to be evicted."""
        cached = self._blocks
        for block in reversed(blocks[: self._capacity_blocks]):
            cached[block] = None
            cached.move_to_end(block)
        while len(cached) > self._capacity_blocks:
            cached.popitem(last=False)
