"""What a run's calls cost the server, for the ceiling of a row."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from flashevolve.events import CallReserved, CallSettled, Record
from flashevolve.llm.messages import Message
from flashevolve.simulate.ceiling import RecordedCall, ceiling_s
from flashevolve.simulate.prefix import prefix_blocks, text_of
from flashevolve.simulate.serving import Preset

SERVED = ("ok", "truncated", "refused", "empty")
"""Whatever became of the answer, the server wrote it."""
SALT = 1 << 32


def served_calls(records: Iterable[Record], before_s: float = float("inf")) -> list[RecordedCall]:
    """Returns what each call that was served cost the server, in order of reservation.

    `before_s`: only those that were over by then.
    """
    return list(_served(list(records), before_s))


def marginal_s(calls: Sequence[RecordedCall], settings: Preset, *, max_in_flight: int) -> float:
    """Returns what the calls add to a backend that is busy with as many others; 0 without calls.

    That is the makespan of the calls twice over, less that of the calls once: how long the last
    and longest call takes alone, which no schedule can fill, is in both. The second copy's
    prompts are others, so that it finds no more of them cached than the first did.
    """
    once_s = ceiling_s(calls, settings, max_in_flight=max_in_flight)
    twice = chain(calls, map(_salted, calls))
    return ceiling_s(twice, settings, max_in_flight=max_in_flight) - once_s


def _salted(call: RecordedCall) -> RecordedCall:
    # Names of blocks are CRCs of 32 bits: those with a 33rd are nobody else's.
    return replace(call, prefix_blocks=tuple(SALT | block for block in call.prefix_blocks))


def _served(records: list[Record], before_s: float) -> Iterator[RecordedCall]:
    settled = {
        r.event.call: r.event
        for r in records
        if isinstance(r.event, CallSettled) and r.t_s <= before_s and r.event.status in SERVED
    }
    for record in records:
        call = record.event
        if isinstance(call, CallReserved) and call.call in settled:
            messages = [Message(**message) for message in call.request["messages"]]
            answered = settled[call.call]
            yield RecordedCall(
                input_tokens=answered.usage.tokens_in,
                output_tokens=answered.usage.tokens_out,
                max_output_tokens=call.request["max_output_tokens"],
                latency_s=answered.latency_s,
                prefix_blocks=prefix_blocks(text_of(messages)),
            )
