"""Calls: the one way to a model, for stages and for user code alike.

Every request has a journal key; what is recorded under it is returned, never asked again. A new one
waits for a slot of its account's limiter, then for its worst case to fit the budget, is recorded,
and only then sent; it is settled whatever happens. Retries are attempts of the same call, each with
a reservation of its own, and hold neither slot nor reservation while they sleep. A call whose
chunks are relayed is the same call, with the same record; once a chunk was passed on it is not
tried again.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, cast

from flashevolve import events as ev
from flashevolve.engine.funds import Funds
from flashevolve.engine.intake import Intake
from flashevolve.engine.log import EventLog
from flashevolve.errors import ConfigError, nearest
from flashevolve.llm.deadline import TailDeadline
from flashevolve.llm.embeddings import (
    EmbeddingModel,
    Embeddings,
    EmbedRequest,
    Inputs,
    embed_request,
    embed_request_to_json,
    embeddings_from_json,
    embeddings_to_json,
)
from flashevolve.llm.errors import (
    CutShort,
    Empty,
    Fatal,
    LLMError,
    RateLimited,
    Refused,
    Truncated,
)
from flashevolve.llm.limiter import Limiter
from flashevolve.llm.messages import Message, Reply, Request
from flashevolve.llm.model import ChatModel, Relay, StreamingModel
from flashevolve.llm.prices import Price
from flashevolve.llm.record import reply_from_json, reply_to_json, request_hash, request_to_json
from flashevolve.llm.retry import RetryPolicy, with_retries
from flashevolve.llm.roles import KNOWN_ROLES, meant
from flashevolve.outcome import Usage
from flashevolve.policies.draws import derived_rng, derived_seed
from flashevolve.store.codec import text_hash

FINAL_ERRORS: dict[str, type[LLMError]] = {
    "refused": Refused,
    "truncated": Truncated,
    "empty": Empty,
}
"""Statuses that answer the call for good; a resume raises them again without asking."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A model as a role uses it."""

    label: str
    """Model name, as events and prices know it."""
    model: ChatModel
    limiter: Limiter
    price: Price | None
    """None = unknown; then no budget in dollars is possible."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `Request` that the configuration sets."""
    extra_input_tokens: int = 0
    """What the configured `extra_body`, which no request shows, may add to each request."""
    weight: float = 1.0
    deadline: TailDeadline = field(default_factory=lambda: TailDeadline(600.0))
    """Follows this endpoint's latencies; its cap is the configured time-out."""

    def cost_usd(self, tokens_in: int, tokens_out: int) -> float:
        """Returns the cost in dollars; 0 if the price is unknown."""
        if self.price is None:
            return 0.0
        return self.price.cost_usd(tokens_in=tokens_in, tokens_out=tokens_out)


class CallKey(NamedTuple):
    """What names a call within its item, however often the process restarts."""

    stage: str
    visit: int
    map_key: str
    name: str
    request_hash: str
    occurrence: int


Journal = dict[CallKey, ev.CallSettled]
Reuse = Callable[[str], ev.CallSettled | None]
"""Content of a call -> an answer that another run has paid for."""


@dataclass
class Origin:
    """Where in a run calls come from; with name, hash and occurrence it makes the journal key."""

    ticket: int
    stage: str
    visit: int
    map_key: str
    priority: tuple[int, ...]
    sample: tuple[object, ...]
    """What the call's random seed derives from; equal for calls that must give equal answers."""
    journal: Journal
    occurrences: Counter[tuple[object, ...]] = field(default_factory=Counter)

    def key(self, name: str, digest: str) -> CallKey:
        """Returns the journal key of the next call with this name and content."""
        occurrence = self.occurrences[(name, digest)]
        self.occurrences[(name, digest)] += 1
        return CallKey(self.stage, self.visit, self.map_key, name, digest, occurrence)


class CallService:
    """Asks models, journaled and within limits and budget."""

    def __init__(
        self,
        endpoints: Mapping[str, Sequence[Endpoint]],
        log: EventLog,
        funds: Funds,
        retry: RetryPolicy,
        run_seed: int,
        reuse: Reuse | None = None,
        roles: Iterable[str] = (),
        intake: Intake | None = None,
    ) -> None:
        """`roles` are those that the workflow asks besides the usual ones.

        `intake` is told of each call that a model must answer, and when it is over.
        """
        self._endpoints = endpoints
        self._roles = {*KNOWN_ROLES, *roles, *endpoints}
        self._log = log
        self._funds = funds
        self._retry = retry
        self._run_seed = run_seed
        self._reuse = reuse
        self._intake = intake or Intake(())

    async def chat(
        self,
        origin: Origin,
        role: str,
        messages: Sequence[Message],
        *,
        name: str = "",
        relay: Relay | None = None,
        **parameters: Any,
    ) -> Reply:
        """Answers from the journal or asks; see `StageContext.chat` for what is raised.

        `relay` gets the chunks of the answer as they arrive; none of an answer that is recorded,
        or of a model that does not stream. Raises `CutShort` if a stream fails after its first.
        """
        endpoint, number = self._draw(origin, role)
        seed = derived_seed(self._run_seed, "call", role, *origin.sample, name, number)
        request = Request(
            messages=tuple(messages), seed=seed, **{**endpoint.parameters, **parameters}
        )
        data = request_to_json(request)
        key = origin.key(name, request_hash(data))
        recorded = origin.journal.get(key)
        if recorded is not None:
            return _replayed_reply(recorded)
        # Unlike a resume, another run may allow longer answers because these were cut off.
        content = (key.request_hash, request.max_output_tokens, origin.sample, number)
        counted = None if relay is None else _Counted(relay)
        call = _NewCall(origin, key, role, endpoint, request, data, content, counted)
        answer = await self._answer(call)
        return (
            _replayed_reply(answer) if isinstance(answer, ev.CallSettled) else cast(Reply, answer)
        )

    async def embed(
        self,
        origin: Origin,
        role: str,
        inputs: Inputs,
        *,
        options: Mapping[str, Any] | None = None,
    ) -> Embeddings:
        """Returns the vectors of texts: from the journal, or asks like `chat`.

        `options` are what the endpoint knows besides, such as `dimensions`. Raises `ConfigError`
        if the role's model has no embeddings.
        """
        endpoint, _ = self._draw(origin, role)
        if not isinstance(endpoint.model, EmbeddingModel):
            raise ConfigError(
                f"the model {endpoint.label!r} of role {role!r} gives no embeddings. Set "
                f"[models.{role}] to one that does, at an OpenAI-compatible endpoint"
            )
        request = embed_request(inputs, options or {})
        data = embed_request_to_json(request)
        key = origin.key("embed", request_hash(data))
        answer: Embeddings | Reply | ev.CallSettled | None = origin.journal.get(key)
        if answer is None:
            # The same texts have the same vectors: no sample is part of the question.
            content = (key.request_hash, "embed")
            call = _NewCall(origin, key, role, endpoint, request, data, content, None)
            answer = await self._answer(call)
        if isinstance(answer, ev.CallSettled):
            _raise_final(answer, None)
            return embeddings_from_json(answer.reply or {})
        return cast(Embeddings, answer)

    async def _answer(self, call: "_NewCall") -> Reply | Embeddings | ev.CallSettled:
        """Asks, or returns the record of another run's answer, which is this call's as well."""
        if self._reuse is not None and (answer := self._reuse(call.content)) is not None:
            return self._take_over(call, answer)

        async def attempt(n: int) -> Reply | Embeddings:
            try:
                return await self._attempt(call, n)
            except LLMError as error:
                if call.relay is None or not call.relay.n or not error.retryable:
                    raise
                raise CutShort(str(error), billed_unknown=error.billed_unknown) from error

        origin, limiter = call.origin, call.endpoint.limiter
        new_rng = partial(derived_rng, self._run_seed, "retry", *call.key)
        visit = (origin.ticket, origin.stage, origin.visit)
        limiter.opened()
        self._intake.asked(visit, limiter)
        try:
            return await with_retries(attempt, self._retry, new_rng)
        finally:
            self._intake.answered(visit, limiter)
            limiter.closed()

    def _draw(self, origin: Origin, role: str) -> tuple[Endpoint, int]:
        """Returns the endpoint for the origin's next call of this role, and the call's number."""
        choices = self._endpoints.get(role) or self._endpoints.get("")
        has_roles = self._endpoints.keys() > {""}
        if has_roles and choices and (right := meant(role, self._roles)):
            raise ConfigError(
                f"no model for role {role!r}. Did you mean {right!r}? If it is a role of its own, "
                f"set [models.{role}]"
            )
        if not choices:
            raise ConfigError(
                f"no model for role {role!r}; known roles: {', '.join(self._endpoints) or 'none'}."
                f"{nearest(role, self._endpoints)} Set [model] or [models.{role}]"
            )
        number = origin.occurrences[("role", role)]
        origin.occurrences[("role", role)] += 1
        if len(choices) == 1:
            return choices[0], number
        rng = derived_rng(self._run_seed, "model", role, *origin.sample, number)
        return rng.choices(choices, [c.weight for c in choices])[0], number

    def _take_over(self, call: "_NewCall", answer: ev.CallSettled) -> ev.CallSettled:
        """Records another run's answer as this call's, at no cost."""
        number = self._log.state.next_call
        settled = replace(answer, call=number, ticket=call.origin.ticket, usage=Usage())
        settled = replace(settled, usage_known=True, wait_s=0.0, latency_s=0.0)
        self._log.append(call.reserved(number, 0, Usage()), settled)
        return settled

    async def _attempt(self, call: "_NewCall", n: int) -> Reply | Embeddings:
        origin, endpoint, request = call.origin, call.endpoint, call.request
        loop = asyncio.get_running_loop()
        asked_s = loop.time()
        bound_in = request.input_bound_tokens + endpoint.extra_input_tokens
        bound_out = request.max_output_tokens
        worst_usd = endpoint.cost_usd(bound_in, bound_out)
        worst = Usage(calls=1, tokens_in=bound_in, tokens_out=bound_out, usd=worst_usd)
        await self._slot(endpoint.limiter, origin.priority, worst)
        try:
            number = self._log.state.next_call
            self._log.append(call.reserved(number, n, worst))
            settled = _Settlement(self._log, self._funds, endpoint, number, origin.ticket, worst)
            try:
                await self._log.durable()
                sent_s = loop.time()
                settled.wait_s = sent_s - asked_s
                reply = await call.answered(endpoint.deadline.seconds)
                settled.latency_s = loop.time() - sent_s
                endpoint.deadline.observe(settled.latency_s)
                settled.ok(reply)
            except LLMError as error:
                settled.latency_s = loop.time() - asked_s - settled.wait_s
                settled.failed(error)
                if isinstance(error, RateLimited):
                    endpoint.limiter.throttled(error.retry_after_s)
                elif error.retryable:
                    endpoint.limiter.faltered()
                    endpoint.deadline.missed(settled.latency_s)
                elif not isinstance(error, Fatal):
                    endpoint.limiter.succeeded()
                raise
            except BaseException:
                settled.orphaned()
                raise
            endpoint.limiter.succeeded()
            return reply
        finally:
            endpoint.limiter.release()

    async def _slot(self, limiter: Limiter, priority: tuple[int, ...], worst: Usage) -> None:
        """Returns holding a slot while the worst case fits the budget."""
        amounts = {"tokens": float(worst.tokens), "usd": worst.usd}
        while True:
            await limiter.acquire(priority)
            try:
                if self._funds.fits(amounts):  # type: ignore[arg-type]
                    return
            except BaseException:
                limiter.release()
                raise
            limiter.release()
            await self._funds.change()


class _Counted:
    """A relay that knows whether it was used."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self.n = 0

    def __call__(self, chunk: Mapping[str, Any]) -> None:
        self.n += 1
        self._relay(chunk)


@dataclass(frozen=True)
class _NewCall:
    """A call that the journal does not know."""

    origin: Origin
    key: CallKey
    role: str
    endpoint: Endpoint
    request: Request | EmbedRequest
    data: dict[str, Any]
    asked: tuple[object, ...]
    """What another run may reuse the answer by, besides the model."""
    relay: "_Counted | None"

    @cached_property
    def content(self) -> str:
        return text_hash("\n".join(map(str, (self.endpoint.label, *self.asked))))

    async def answered(self, timeout_s: float) -> Reply | Embeddings:
        model = self.endpoint.model
        if isinstance(self.request, EmbedRequest):
            return await cast(EmbeddingModel, model).embed(
                replace(self.request, timeout_s=timeout_s)
            )
        request = replace(self.request, timeout_s=timeout_s)
        if self.relay is None or not isinstance(model, StreamingModel):
            return await model.complete(request)
        return await model.stream(request, self.relay)

    def reserved(self, number: int, attempt: int, worst: Usage) -> ev.CallReserved:
        return ev.CallReserved(
            call=number,
            ticket=self.origin.ticket,
            **self.key._asdict(),
            attempt=attempt,
            role=self.role,
            model=self.endpoint.label,
            tokens=worst.tokens,
            usd=worst.usd,
            request=self.data,
            content=self.content,
        )


class _Settlement:
    """Settles one reserved call, exactly once."""

    def __init__(
        self, log: EventLog, funds: Funds, endpoint: Endpoint, call: int, ticket: int, worst: Usage
    ) -> None:
        self._log, self._funds, self._endpoint = log, funds, endpoint
        self._call, self._ticket, self._worst = call, ticket, worst
        self.wait_s = 0.0
        self.latency_s = 0.0

    def ok(self, reply: Reply | Embeddings) -> None:
        self._settle("ok", reply, None, unknown=False)

    def failed(self, error: LLMError) -> None:
        self._settle(error.kind, error.reply, str(error), unknown=error.billed_unknown)

    def orphaned(self) -> None:
        self._settle("orphaned", None, "cancelled while in flight", unknown=True)

    def _settle(
        self, status: str, reply: Reply | Embeddings | None, error: str | None, unknown: bool
    ) -> None:
        usage, known = self._usage(reply, unknown)
        # An error's text is left as it is: a resume raises it again, and may not find another.
        error = self._overrun(usage) if error is None else error
        self._log.append(
            ev.CallSettled(
                call=self._call,
                ticket=self._ticket,
                status=status,  # type: ignore[arg-type]
                usage=usage,
                usage_known=known,
                reply=_answer_to_json(reply),
                error=error,
                wait_s=self.wait_s,
                latency_s=self.latency_s,
            )
        )
        self._funds.settled()

    def _overrun(self, usage: Usage) -> str | None:
        """Returns a line if the endpoint counted more than was set aside, which funds then lack."""
        if usage.tokens_in <= self._worst.tokens_in and usage.tokens_out <= self._worst.tokens_out:
            return None
        return (
            f"{self._endpoint.label} counted {usage.tokens_in} + {usage.tokens_out} tokens, more "
            f"than the {self._worst.tokens_in} + {self._worst.tokens_out} reserved"
        )

    def _usage(self, reply: Reply | Embeddings | None, unknown: bool) -> tuple[Usage, bool]:
        if reply is not None and reply.tokens_in is not None and reply.tokens_out is not None:
            usd = self._endpoint.cost_usd(reply.tokens_in, reply.tokens_out)
            usage = Usage(calls=1, tokens_in=reply.tokens_in, tokens_out=reply.tokens_out, usd=usd)
            return usage, True
        if reply is not None or unknown:
            return self._worst, False
        return Usage(calls=1), True


def _answer_to_json(answer: Reply | Embeddings | None) -> dict[str, Any] | None:
    if isinstance(answer, Embeddings):
        return embeddings_to_json(answer)
    return None if answer is None else reply_to_json(answer)


def _replayed_reply(recorded: ev.CallSettled) -> Reply:
    reply = reply_from_json(recorded.reply) if recorded.reply is not None else None
    _raise_final(recorded, reply)
    assert reply is not None, f"call {recorded.call} is recorded as {recorded.status} without reply"
    return reply


def _raise_final(recorded: ev.CallSettled, reply: Reply | None) -> None:
    kind = FINAL_ERRORS.get(recorded.status)
    if kind is not None:
        raise kind(recorded.error or recorded.status, reply=reply)


def journal_of(entries: Sequence[tuple[ev.CallReserved, ev.CallSettled | None]]) -> Journal:
    """Returns the journal of an item's recorded calls: those that were answered for good."""
    return {
        CallKey(r.stage, r.visit, r.map_key, r.name, r.request_hash, r.occurrence): s
        for r, s in entries
        if s is not None and (s.status == "ok" or s.status in FINAL_ERRORS)
    }
