"""Models: gepa's language models as models of ours.

A name becomes a model of our own clients, under our limiter, ledger and retries. A function becomes
a client that calls it in a thread: limited and recorded like any other, but nobody knows what it
costs.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from flashevolve.config import Model
from flashevolve.errors import ConfigError, nearest
from flashevolve.integrations.gepa.threads import Threads
from flashevolve.llm.errors import Empty, Fatal, LLMError, RateLimited, Transient
from flashevolve.llm.messages import Message, Reply, Request
from flashevolve.llm.wire import message_to_wire

RENAMED = {
    "temperature": "temperature",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "api_base": "base_url",
    "base_url": "base_url",
    "timeout": "timeout_s",
    "reasoning_effort": "reasoning_effort",
    "extra_body": "extra_body",
    "extra_headers": "extra_headers",
}
"""LiteLLM's keyword -> field of our model."""
BODY = ("top_p", "top_k", "min_p", "stop", "presence_penalty", "frequency_penalty", "logit_bias")
"""Keywords that go into a request's body as they are."""
WITHOUT_EFFECT = ("num_retries", "drop_params", "cache")
"""Keywords for what we do in our own way."""
N_FATAL = 3
"""Failures of a function that has never answered, after which nobody waits for it to."""


def model_of(name: str, kwargs: Mapping[str, Any] | None, argument: str) -> Model:
    """Returns the model that LiteLLM's name and keywords mean. Raises `ConfigError`."""
    fields: dict[str, Any] = {}
    body: dict[str, Any] = {}
    for key, value in (kwargs or {}).items():
        if key in RENAMED:
            fields[RENAMED[key]] = value
        elif key in BODY:
            body[key] = value
        elif key == "api_key":
            raise ConfigError(
                f"{argument}['api_key']: expected no key, which would be recorded, found one. Put "
                "it into the environment, such as OPENAI_API_KEY, or pass "
                "models={'reflect': fe.Model(name, key_env='MY_KEY')}"
            )
        elif key not in WITHOUT_EFFECT:
            known = (*RENAMED, *BODY, *WITHOUT_EFFECT)
            raise ConfigError(
                f"{argument}[{key!r}]: expected one of {', '.join(known)}.{nearest(key, known)} "
                "Anything else goes into extra_body"
            )
    if isinstance(fields.get("timeout_s"), int):
        fields["timeout_s"] = float(fields["timeout_s"])
    if body:
        fields["extra_body"] = {**body, **fields.get("extra_body", {})}
    return Model(name, **fields)


class CallableModel:
    """A function `(text or messages) -> text` as a client of ours."""

    def __init__(self, function: Callable[..., Any], *, name: str, n_calls: int) -> None:
        """Sets up; at most `n_calls` calls of the function at once."""
        self.account = f"python {name}"
        self._function = function
        self._name = name
        self._threads = Threads(n_calls)
        self._n_calls = n_calls
        self._turns: asyncio.Semaphore | None = None
        self._answered = False
        self._n_failed = 0
        self._calls: set[asyncio.Task[Any]] = set()

    async def complete(self, request: Request) -> Reply:
        """Asks the function; raises an `LLMError` for what it raises."""
        if self._turns is None:
            self._turns = asyncio.Semaphore(self._n_calls)
        call = asyncio.get_running_loop().create_task(self._in_turn(_prompt(request.messages)))
        self._calls.add(call)
        call.add_done_callback(self._over)
        try:
            # Cancelled or not, the turn is over only when the thread has left the function.
            text = await asyncio.shield(call)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            raise self._error(error) from error
        self._answered = True
        if not isinstance(text, str):
            raise Fatal(f"{self._name}: expected a text, found {type(text).__name__}. Mend it")
        if not text.strip():
            raise Empty(f"{self._name} answered nothing")
        return Reply(text=text, model=self._name)

    async def close(self) -> None:
        """Lets the threads go."""
        self._threads.close(0.0)

    async def _in_turn(self, prompt: Any) -> Any:
        assert self._turns is not None
        async with self._turns:
            return await self._threads.call(self._function, prompt)

    def _over(self, call: "asyncio.Task[Any]") -> None:
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()  # Looked at: whoever asked may be gone.

    def _error(self, error: Exception) -> LLMError:
        if isinstance(error, LLMError):
            return error
        said = " ".join(str(error).split())
        message = f"{self._name} raised {type(error).__name__}" + (f": {said}" if said else "")
        status = getattr(error, "status_code", None)
        if status == 429:
            return RateLimited(message)
        if isinstance(error, TimeoutError | ConnectionError) or (
            isinstance(status, int) and status >= 500
        ):
            return Transient(message)
        self._n_failed += 1
        hopeless = not self._answered and self._n_failed >= N_FATAL
        if hopeless or status in (400, 401, 403, 404):
            return Fatal(f"{message}. Mend it and go on")
        return Empty(message)


def _prompt(messages: tuple[Message, ...]) -> Any:
    """Returns text alone as one text, which is all that gepa passes, the rest as OpenAI's messages.

    Most functions of users know nothing else, and a repair, too, must be able to ask them.
    """
    turns = [message_to_wire(message) for message in messages]
    if all(turn.keys() == {"role", "content"} and type(turn["content"]) is str for turn in turns):
        return "\n\n".join(turn["content"] for turn in turns)
    return turns
