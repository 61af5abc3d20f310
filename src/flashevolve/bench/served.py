"""What a run's calls cost the server, for the ceiling of a row."""

from collections.abc import Iterable, Iterator

from flashevolve.events import CallReserved, CallSettled, Record
from flashevolve.llm.messages import Message
from flashevolve.simulate.ceiling import RecordedCall
from flashevolve.simulate.prefix import prefix_blocks, text_of

SERVED = ("ok", "truncated", "refused", "empty")
"""Whatever became of the answer, the server wrote it."""


def served_calls(records: Iterable[Record], before_s: float = float("inf")) -> list[RecordedCall]:
    """Returns what each call that was served cost the server, in order of reservation.

    `before_s`: only those that were over by then.
    """
    return list(_served(list(records), before_s))


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
