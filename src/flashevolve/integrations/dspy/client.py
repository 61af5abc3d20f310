"""Client: a user's LM as a model of the run, whatever it speaks to and with its own key.

DSPy's cache and retries are off here: a replica is a new sample, and attempts, limits and money are
the run's. What DSPy's LM raises becomes the error that says what is to be done about it. No key
that the LM holds passes into a reply or a message.
"""

import asyncio
import json
from collections.abc import Mapping
from contextvars import copy_context
from functools import partial
from typing import Any

import dspy
from dspy.utils import exceptions as failures

from flashevolve.engine.threads import DaemonThreads
from flashevolve.errors import ConfigError
from flashevolve.llm.errors import Fatal, LLMError, RateLimited, Refused, Transient
from flashevolve.llm.messages import Reply, Request
from flashevolve.llm.prices import Price
from flashevolve.llm.registry import price as price_of
from flashevolve.llm.secrets import HIDDEN
from flashevolve.llm.wire import message_to_wire

OPTIONS, OUTPUTS = "dspy", "outputs"
"""Where a request holds the options of its LM, and a reply what the LM returned."""
TOO_LONG = "the prompt is too long"
CONNECTION = frozenset({
    "api_key", "api_base", "base_url", "headers", "extra_headers", "timeout", "api_version",
    "azure_ad_token_provider", "organization", "project", "extra_query", "custom_llm_provider",
})  # fmt: skip
"""Options of an LM that say where and as whom it asks, not what."""

FATAL = (
    failures.LMAuthError,
    failures.LMBillingError,
    failures.LMConfigurationError,
    failures.LMUnsupportedModelError,
    failures.LMUnsupportedFeatureError,
)
TRANSIENT = (
    failures.LMServerError,
    failures.LMTimeoutError,
    failures.LMTransportError,
    failures.LMLockTimeoutError,
)


class DspyClient:
    """A `flashevolve.llm.model.ChatModel` that asks a `dspy.LM`, or any `dspy.BaseLM`."""

    def __init__(self, lm: Any, threads: DaemonThreads) -> None:
        self._lm = _uncached(lm)
        self._threads = threads
        """For LMs that only know how to block."""
        # Of an LM of DSPy's own, whoever has overridden a method wants it called.
        self._is_async = _overrides(lm, "aforward") or (
            isinstance(lm, dspy.LM) and not _overrides(lm, "forward")
        )

    @property
    def account(self) -> str:
        """Where it asks, as far as one limit of requests holds there."""
        given = self._lm.kwargs
        base = given.get("api_base") or given.get("base_url")
        return f"dspy {base or self._lm.model.partition('/')[0]}"

    def price(self) -> Price | None:
        """Returns the list price of its tokens; None if that is not known."""
        if any(self._lm.kwargs.get(name) for name in ("api_base", "base_url")):
            return None
        try:
            return price_of(_Named(self._lm.model), local_is_free=False)
        except ConfigError:
            return None

    async def complete(self, request: Request) -> Reply:
        """Asks the LM; raises an `LLMError` of the fitting kind."""
        options = request.extra_body.get(OPTIONS)
        kwargs = _options(request) if options is None else _undescribed(options)
        if isinstance(self._lm, dspy.LM):
            kwargs["cache"] = False
        messages = [message_to_wire(message) for message in request.messages]
        try:
            async with asyncio.timeout(request.timeout_s):
                raw = await self._forward(messages, kwargs)
        except TimeoutError:
            raise Transient(
                f"{self._lm.model} (dspy): no answer (timeout_s = {request.timeout_s:g})",
                billed_unknown=True,
            ) from None
        except Exception as error:
            raise self._failure(error) from error
        return self._reply(raw, kwargs)

    async def close(self) -> None:
        """Does nothing: the LM is the user's."""

    async def _forward(self, messages: list[dict[str, Any]], kwargs: dict[str, Any]) -> Any:
        if self._is_async:
            return await self._lm.aforward(messages=messages, **kwargs)
        ask = partial(copy_context().run, self._lm.forward, messages=messages, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._threads, ask)

    def _reply(self, raw: Any, kwargs: Mapping[str, Any]) -> Reply:
        if self._lm.model_type == "responses":
            outputs = self._lm._process_response(raw)
        else:
            outputs = self._lm._process_completion(raw, {**self._lm.kwargs, **kwargs})
        outputs = _plain(outputs)
        usage = _plain(dict(_value(raw, "usage") or {}))
        first = outputs[0] if outputs else None
        first = first if isinstance(first, dict) else {"text": first}
        extra: dict[str, Any] = {OUTPUTS: outputs}
        if usage:
            extra["usage"] = usage
        return Reply(
            text=first.get("text") or "",
            reasoning=first.get("reasoning_content") or "",
            tokens_in=_count(usage, "prompt_tokens", "input_tokens"),
            tokens_out=_count(usage, "completion_tokens", "output_tokens"),
            model=str(_value(raw, "model") or self._lm.model),
            extra=extra,
        )

    def _failure(self, error: Exception) -> LLMError:
        line = f"{self._lm.model} (dspy): {self._without_key(error)}"
        status = getattr(error, "status", None) or getattr(error, "status_code", None)
        if isinstance(error, failures.ContextWindowExceededError):
            return Refused(f"{TOO_LONG}: {line}")
        if isinstance(error, failures.LMRateLimitError) or status == 429:
            return RateLimited(line, retry_after_s=getattr(error, "retry_after", None))
        if isinstance(error, TRANSIENT) or (isinstance(status, int) and status >= 500):
            sent = isinstance(error, failures.LMTimeoutError | failures.LMTransportError)
            return Transient(line, billed_unknown=sent)
        if isinstance(error, FATAL) or status in (401, 403):
            return Fatal(f"{line}. Next: check the key, the name and the options of dspy.LM(...)")
        return Refused(line)

    def _without_key(self, error: Exception) -> str:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        for name in CONNECTION & self._lm.kwargs.keys():
            value = self._lm.kwargs[name]
            if name == "api_key" and isinstance(value, str) and value:
                text = text.replace(value, HIDDEN)
        return text[:MAX_QUOTED_CHARS]


MAX_QUOTED_CHARS = 500
"""Of an error: hosts quote whole pages."""


class _Named:
    """A model as the price list asks for it."""

    base_url = key_env = price = client = None
    extra_body: Mapping[str, Any] = {}
    extra_headers: Mapping[str, str] = {}
    send_seed = False

    def __init__(self, name: str) -> None:
        self.name = name


def _uncached(lm: Any) -> Any:
    """Returns the LM without cache and retries; one with code of its own stays itself.

    A copy of that would count and answer for itself alone.
    """
    if not isinstance(lm, dspy.LM) or _overrides(lm, "forward") or _overrides(lm, "aforward"):
        return lm
    return lm.copy(cache=False, num_retries=0)


def _overrides(lm: Any, method: str) -> bool:
    own = getattr(type(lm), method)
    return method in vars(lm) or own not in (
        getattr(dspy.LM, method),
        getattr(dspy.BaseLM, method),
    )


def _options(request: Request) -> dict[str, Any]:
    """Returns the options of a request that no LM made, such as one for a repair."""
    given: dict[str, Any] = dict(request.extra_body)
    if request.temperature is not None:
        given["temperature"] = request.temperature
    if request.reasoning_effort is not None:
        given["reasoning_effort"] = request.reasoning_effort
    if request.tools:
        given["tools"] = [
            dict(t) if t.get("type") == "function" else {"type": "function", "function": dict(t)}
            for t in request.tools
        ]
    return given


def _undescribed(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options with the values that only memory holds."""
    return {name: getattr(value, "value", value) for name, value in options.items()}


def _plain(value: Any) -> Any:
    """Returns JSON: what providers' libraries return holds objects of theirs."""
    return json.loads(json.dumps(value, default=_fields))


def _fields(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump()
    return vars(value) if hasattr(value, "__dict__") else str(value)


def _value(raw: Any, name: str) -> Any:
    return raw.get(name) if isinstance(raw, dict) else getattr(raw, name, None)


def _count(usage: Mapping[str, Any], *names: str) -> int | None:
    found = [usage[name] for name in names if isinstance(usage.get(name), int)]
    return found[0] if found else None
