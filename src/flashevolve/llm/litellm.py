"""LiteLLM: models of providers that we do not speak ourselves, through the package litellm.

One request, one answer or one typed error, as everywhere: litellm's own retries and fallbacks are
off. What a request brings along reaches the provider's body at most, never litellm's own options,
since one of those says where the key is sent. No key is in a message, a reply or a `repr`. The
package is imported with the first such model: it takes seconds.
"""

import asyncio
import os
import sys
import time
import warnings
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, TypeVar

from flashevolve.errors import ConfigError
from flashevolve.llm.embeddings import Embeddings, EmbedRequest, read_embeddings
from flashevolve.llm.errors import Fatal, LLMError, Transient
from flashevolve.llm.failures import Where, from_status
from flashevolve.llm.messages import Reply, Request
from flashevolve.llm.model import Relay
from flashevolve.llm.prices import PER_MTOK, Price
from flashevolve.llm.secrets import MIN_SECRET_CHARS, holds_secret, secrets_of
from flashevolve.llm.stream import Assembly, RelayFailed, without
from flashevolve.llm.wire import Unreadable, decode, read_reply, request_body, reserved_key

Answer = TypeVar("Answer")

PREFIX = "litellm"
"""`litellm/<provider>/<model>` names what only litellm knows."""
_PROVIDERS = (
    "anthropic azure azure_ai bedrock cerebras cloudflare cohere dashscope databricks deepinfra "
    "deepseek fireworks_ai gemini github groq huggingface hyperbolic lm_studio minimax mistral "
    "moonshot nebius novita nvidia_nim perplexity replicate sagemaker sambanova together_ai "
    "vertex_ai volcengine watsonx xai zai"
)
PROVIDERS = frozenset(_PROVIDERS.split())
"""Whose models are named as litellm names them; a list of our own, since asking it takes seconds,
and a slip of the pen in a provider's name must be told at once."""
OTHER_SOURCES = frozenset({"azure", "azure_ai", "bedrock", "sagemaker", "vertex_ai"})
"""Where no key is needed if the machine has a role or is logged in, which litellm cannot tell."""
_OPENAI_FIELDS = (
    "audio frequency_penalty function_call functions logit_bias logprobs modalities "
    "parallel_tool_calls prediction presence_penalty reasoning_effort response_format seed "
    "service_tier stop temperature thinking tool_choice tools top_logprobs top_p user verbosity "
    "web_search_options dimensions"
)
OPENAI_FIELDS = frozenset(_OPENAI_FIELDS.split())
"""Fields of a body that litellm translates for each provider; others are passed on as they are.
None of litellm's own options is among them."""


def installed() -> bool:
    """Whether the package is there."""
    return find_spec("litellm") is not None


def litellm_name(model_name: str) -> str | None:
    """Returns the name by which litellm knows a model; None if it is not litellm's."""
    prefix, _, rest = model_name.partition("/")
    if prefix == PREFIX:
        return rest if "/" in rest else None
    return model_name if prefix in PROVIDERS and rest else None


def listed_price(name: str) -> Price | None:
    """Returns what the installed litellm lists for a model; None if nothing simple."""
    listed = _package().model_cost.get(name) or {}
    if not listed:
        provider, _, rest = name.partition("/")
        listed = _package().model_cost.get(rest) or {}
        if listed.get("litellm_provider") != provider:
            return None
    in_usd, out_usd = listed.get("input_cost_per_token"), listed.get("output_cost_per_token")
    # Prices that grow with the prompt's length are no bound.
    if in_usd is None or out_usd is None or any("_above_" in key for key in listed):
        return None
    return Price(
        input_usd_per_mtok=float(in_usd) * PER_MTOK, output_usd_per_mtok=float(out_usd) * PER_MTOK
    )


class LiteLLMModel:
    """A model behind litellm. `options` are the configuration's, and litellm's own if it says so.

    Raises `ConfigError` if a key is missing, as far as litellm can tell.
    """

    def __init__(
        self,
        name: str,
        environ: Mapping[str, str],
        *,
        key_env: str | None = None,
        options: Mapping[str, Any] | None = None,
        extra_headers: Mapping[str, str] | None = None,
        send_seed: bool = False,
    ) -> None:
        self.name = name
        self._litellm = _package()
        self._options = dict(options or {})
        if problem := reserved_key(self._options):
            raise ConfigError(f"model {name!r}: {problem}")
        if extra_headers:
            self._options["extra_headers"] = dict(extra_headers)
        self._send_seed = send_seed
        if key_env is not None or "api_key" not in self._options:
            self._check_key(environ, key_env)
        if key_env is not None:
            self._options["api_key"] = environ[key_env].strip()
        provider = name.partition("/")[0]
        self._where = Where(endpoint=f"{provider} (by litellm)", model=name, key_env=key_env)
        words = [v.strip() for k, v in environ.items() if holds_secret(k)]
        words += [*secrets_of(self._options), *(extra_headers or {}).values()]
        self._secrets = [w.encode() for w in set(words) if len(w) >= MIN_SECRET_CHARS]

    def __repr__(self) -> str:
        return f"LiteLLMModel({self.name!r})"

    async def complete(self, request: Request) -> Reply:
        """Answers one request, or raises the `LLMError` that says what has to be done."""

        async def ask() -> Reply:
            answer = await self._litellm.acompletion(**self._arguments(request))
            return read_reply(self._plain(answer))

        return await self._typed(ask, request.timeout_s)

    async def stream(self, request: Request, relay: Relay) -> Reply:
        """Answers as `complete` does; `relay` gets each chunk as it arrives."""
        assembly = Assembly()

        async def ask() -> Reply:
            options = {"stream": True, "stream_options": {"include_usage": True}}
            arguments = {**self._arguments(request), **options}
            async for piece in await self._litellm.acompletion(**arguments):
                chunk = self._plain(piece)
                assembly.add(chunk)
                try:
                    relay(chunk)
                except Exception as error:  # the caller's own: it passes as it is
                    raise RelayFailed(error) from error
            if not assembly.whole:
                problem = f"{self._where.endpoint}: the stream ended before the answer did"
                raise Transient(problem, billed_unknown=True)
            return read_reply(assembly.completion())

        return await self._typed(ask, request.timeout_s)

    async def embed(self, request: EmbedRequest) -> Embeddings:
        """Returns the vectors of texts, or raises the `LLMError` that says what has to be done."""

        async def ask() -> Embeddings:
            arguments = self._common(request.extra_body, request.timeout_s)
            answer = await self._litellm.aembedding(input=list(request.inputs), **arguments)
            return read_embeddings(self._plain(answer), len(request.inputs))

        return await self._typed(ask, request.timeout_s)

    async def close(self) -> None:
        """Does nothing: litellm shares its connections with whoever else uses it here."""

    def _check_key(self, environ: Mapping[str, str], key_env: str | None) -> None:
        if key_env is not None:
            missing = [key_env]
        elif self.name.partition("/")[0] in OTHER_SOURCES:
            return
        else:
            missing = self._litellm.validate_environment(model=self.name)["missing_keys"]
        if missing and not any(environ.get(name, "").strip() for name in missing):
            raise ConfigError(
                f"model {self.name!r} needs a key: the environment variable "
                f"{' or '.join(missing)} is not set. Set it, or name another one in key_env."
            )

    def _arguments(self, request: Request) -> dict[str, Any]:
        if problem := reserved_key(request.extra_body):
            raise Fatal(problem)
        body = request_body(
            self.name,
            replace(request, extra_body={}),
            tokens_field="max_tokens",
            extra_body={},
            send_seed=self._send_seed,
        )
        return {**body, **self._common(request.extra_body, request.timeout_s)}

    def _common(self, extra_body: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        known = {k: v for k, v in extra_body.items() if k in OPENAI_FIELDS}
        rest = {k: v for k, v in extra_body.items() if k not in OPENAI_FIELDS}
        arguments = {**self._options, **known}
        if rest:
            arguments["extra_body"] = {**self._options.get("extra_body", {}), **rest}
        own = {"model": self.name, "timeout": timeout_s, "num_retries": 0, "max_retries": 0}
        return arguments | own

    def _plain(self, answer: Any) -> dict[str, Any]:
        """Returns an answer or a chunk of litellm's as plain data without secrets."""
        text: str = answer.model_dump_json(exclude_none=True, warnings=False)
        return decode(without(self._secrets, text.encode()))

    async def _typed(self, ask: Callable[[], Awaitable[Answer]], timeout_s: float) -> Answer:
        """Asks; whatever goes wrong at the provider becomes one of our errors."""
        try:
            async with asyncio.timeout(timeout_s):
                return await ask()
        except (LLMError, ConfigError):
            raise
        except RelayFailed as error:
            failure: Exception = error.error
        except Exception as error:  # the boundary of a package that raises whatever it meets
            failure = self._failure(error, timeout_s)
        # Raised out here: litellm's exceptions may hold the request, and with it a key.
        raise failure

    def _failure(self, error: Exception, timeout_s: float) -> LLMError:
        endpoint = self._where.endpoint
        if isinstance(error, TimeoutError | self._litellm.exceptions.Timeout):
            return Transient(
                f"{endpoint}: no answer (timeout_s = {timeout_s:g})", billed_unknown=True
            )
        words = without(self._secrets, f"{type(error).__name__}: {error}".encode(errors="replace"))
        told = words.decode(errors="replace")
        if isinstance(error, Unreadable):
            return Transient(
                f"{endpoint} answered with an unusable body: {told}", billed_unknown=True
            )
        status = getattr(error, "status_code", None)
        lost = isinstance(error, self._litellm.exceptions.APIConnectionError)
        if lost or type(status) is not int or not 300 <= status < 600:
            return Transient(f"{endpoint}: {' '.join(told.split())[:300]}", billed_unknown=True)
        # It makes a response of its own up, without the headers, for most providers.
        headers = getattr(error, "litellm_response_headers", None)
        headers = headers or getattr(getattr(error, "response", None), "headers", None) or {}
        return from_status(self._where, status, headers, told, time.time())


def _package() -> Any:
    """Returns the module litellm, imported so that it neither asks the network nor prints."""
    if "litellm" in sys.modules:
        return sys.modules["litellm"]
    before = os.environ.get("LITELLM_LOCAL_MODEL_COST_MAP")
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import litellm
    finally:
        if before is None:
            del os.environ["LITELLM_LOCAL_MODEL_COST_MAP"]
    # pydantic says this of litellm's types at the first answer, and nobody here can mend it.
    warnings.filterwarnings("ignore", message=r".*`ReadOnly` qualifier")
    litellm.telemetry = False
    # It would print where to get help, for every error, into whatever the terminal shows.
    litellm.suppress_debug_info = True
    return litellm
