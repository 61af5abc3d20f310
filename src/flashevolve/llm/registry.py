"""The registry: from a configured model to something that answers.

`openai/…`, `openrouter/…` and `ollama/…` name a well-known endpoint and its key's variable;
`sim/<preset>` is the built-in simulation, `sim/<preset>/<shape>` the same with the load of a
published workload; `anthropic/…` and its like are asked by litellm, if that is installed. Whatever
has a `base_url` is sent there under its name as written, slashes included (`Qwen/Qwen3-8B`). Keys
are read here and nowhere else. A model that was given its own client from Python is asked through
that: nothing is looked up for it, its account is the client's `account` if it has one, and its
price is known only if it was configured.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast
from urllib.parse import parse_qsl, urlsplit

from flashevolve.errors import ConfigError, nearest
from flashevolve.llm.litellm import installed, listed_price, litellm_name
from flashevolve.llm.model import ChatModel
from flashevolve.llm.prices import FREE, Price, lookup
from flashevolve.llm.secrets import holds_secret


class PriceSpec(Protocol):
    """A configured price."""

    @property
    def input_usd_per_mtok(self) -> float:
        """Dollars per million input tokens."""
        ...

    @property
    def output_usd_per_mtok(self) -> float:
        """Dollars per million output tokens."""
        ...


class ModelSpec(Protocol):
    """What is read of a configured model."""

    @property
    def name(self) -> str:
        """The model's name, with a provider's prefix unless there is a `base_url`."""
        ...

    @property
    def base_url(self) -> str | None:
        """None = the endpoint that the name implies."""
        ...

    @property
    def key_env(self) -> str | None:
        """Environment variable that holds the key; None = the endpoint's usual one."""
        ...

    @property
    def extra_body(self) -> Mapping[str, Any]:
        """Merged last into every request's body."""
        ...

    @property
    def extra_headers(self) -> Mapping[str, str]:
        """Sent with every request."""
        ...

    @property
    def price(self) -> PriceSpec | None:
        """None = from the snapshot."""
        ...

    @property
    def send_seed(self) -> bool:
        """Whether requests carry a seed."""
        ...

    @property
    def client(self) -> ChatModel | None:
        """Answers instead of an endpoint; None = whatever the name implies."""
        ...


@dataclass(frozen=True)
class Provider:
    """A well-known endpoint."""

    base_url: str
    key_env: str | None
    base_envs: tuple[str, ...] = ()
    """Environment variables that name another address, as this provider's own client reads them."""

    def address(self, environ: Mapping[str, str]) -> str:
        """Returns the base URL, the environment's if that has one.

        Raises `ConfigError` for one with a key or a password in it.
        """
        for name in self.base_envs:
            if named := environ.get(name, "").strip():
                _check_address(name, named)
                return named
        return self.base_url


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        "https://api.openai.com/v1", "OPENAI_API_KEY", ("OPENAI_BASE_URL", "OPENAI_API_BASE")
    ),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "ollama": Provider("http://127.0.0.1:11434/v1", None),
}
SIMULATED = "sim"


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where a model's requests go, and under which name and key."""

    name: str
    base_url: str
    """Empty for a model that litellm asks, which knows where."""
    key_env: str | None

    @property
    def host(self) -> str:
        """Host without port."""
        return _split(self.base_url)[0]


def endpoint(model: ModelSpec, environ: Mapping[str, str] = os.environ) -> Endpoint:
    """Returns where the model's requests go. Raises `ConfigError` if that cannot be told."""
    if model.base_url is not None:
        host = _split(model.base_url)[0]
        usual = [p.key_env for p in PROVIDERS.values() if host == _split(p.base_url)[0]]
        key_env = model.key_env or (usual[0] if usual else None)
        return Endpoint(name=model.name, base_url=model.base_url, key_env=key_env)
    if (name := litellm_name(model.name)) is not None and installed():
        return Endpoint(name=name, base_url="", key_env=model.key_env)
    prefix, slash, rest = model.name.partition("/")
    if not slash:
        prefix, rest = "openai", model.name
    provider = PROVIDERS.get(prefix)
    if provider is None or not rest:
        known = (*PROVIDERS, SIMULATED)
        hint = nearest(prefix, known)
        if name is not None:
            hint = " Or install litellm, which knows it; in the clone: pip install '.[litellm]'"
        raise ConfigError(
            f"model {model.name!r} needs a base_url, or a name that starts with one of "
            f"{', '.join(f'{p}/' for p in known)}.{hint}"
        )
    return Endpoint(
        name=rest, base_url=provider.address(environ), key_env=model.key_env or provider.key_env
    )


def connect(
    model: ModelSpec,
    environ: Mapping[str, str],
    shared: dict[str, Any] | None = None,
    world: Path | None = None,
) -> ChatModel:
    """Returns a client for the model; nothing is sent yet.

    `shared` is one dict per run, in which simulated models of the same preset find their common
    server; `world` is the file that describes their world, None = the package's own. Raises
    `ConfigError` for an unknown endpoint, a missing key or unusable options.
    """
    if model.client is not None:
        return model.client
    if preset := _preset(model):
        # By name, since nobody who calls a real model should pay for importing the simulation.
        simulated = import_module("flashevolve.simulate.model").SimulatedModel
        load_world = import_module("flashevolve.simulate.world").load_world
        shared = {} if shared is None else shared
        return cast(ChatModel, simulated.from_preset(preset, shared, world=load_world(world)))
    at = endpoint(model, environ)
    if not at.base_url:
        from flashevolve.llm.litellm import LiteLLMModel

        return LiteLLMModel(
            at.name,
            environ,
            key_env=at.key_env,
            options=model.extra_body,
            extra_headers=model.extra_headers,
            send_seed=model.send_seed,
        )
    from flashevolve.llm.http import HTTPModel

    return HTTPModel(
        at.name,
        at.base_url,
        _key(model.name, at, environ),
        key_env=at.key_env,
        extra_body=model.extra_body,
        extra_headers=model.extra_headers,
        send_seed=model.send_seed,
    )


def account(model: ModelSpec, environ: Mapping[str, str] = os.environ) -> str:
    """Returns what an endpoint counts requests by: host and key; names a limiter."""
    if model.client is not None:
        return str(getattr(model.client, "account", None) or f"python {model.name}")
    if preset := _preset(model):
        # Shapes of one preset share its machine or its account.
        return f"{SIMULATED}/{preset.partition('/')[0]}"
    at = endpoint(model, environ)
    host, port = _split(at.base_url) if at.base_url else (at.name.partition("/")[0], None)
    where = host if port is None else f"{host}:{port}"
    return f"{where} {at.key_env}" if at.key_env else where


def key_env(model: ModelSpec) -> str | None:
    """Returns the environment variable that the model's key is read from; None if there is none."""
    if model.client is not None or _preset(model):
        return model.key_env
    return endpoint(model).key_env


def price(
    model: ModelSpec, *, local_is_free: bool = True, environ: Mapping[str, str] = os.environ
) -> Price | None:
    """Returns what the model's tokens cost; None if that is not known.

    A local host may be a proxy to one that sends a bill: with `local_is_free` False, an unlisted
    model there has no known price. The simulation is always free.
    """
    if model.price is not None:
        return Price(
            input_usd_per_mtok=model.price.input_usd_per_mtok,
            output_usd_per_mtok=model.price.output_usd_per_mtok,
        )
    if model.client is not None:
        return None
    if _preset(model):
        return FREE
    at = endpoint(model, environ)
    if not at.base_url:
        return lookup(at.name) or listed_price(at.name)
    return lookup(at.name, host=at.host, local_is_free=local_is_free)


def _preset(model: ModelSpec) -> str | None:
    prefix, _, rest = model.name.partition("/")
    return rest if prefix == SIMULATED and model.base_url is None and rest else None


def _key(model_name: str, at: Endpoint, environ: Mapping[str, str]) -> str | None:
    if at.key_env is None:
        return None
    key = environ.get(at.key_env, "").strip()
    if not key:
        raise ConfigError(
            f"model {model_name!r} needs a key for {at.host}: the environment variable "
            f"{at.key_env} is not set. Set it, or name another one in key_env."
        )
    return key


def _check_address(variable: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        held = "@" in parts.netloc or any(holds_secret(k) for k, _ in parse_qsl(parts.query))
    except ValueError:
        return  # `HTTPModel` refuses it.
    if held:
        raise ConfigError(
            f"{variable}: expected a URL without a key or password in it, found one. Put the key "
            "into its own variable, such as OPENAI_API_KEY"
        )


def _split(base_url: str) -> tuple[str, int | None]:
    """Returns (host, port) of a URL; ("", None) of one that `HTTPModel` will refuse."""
    try:
        parts = urlsplit(base_url)
        return parts.hostname or "", parts.port
    except ValueError:
        return "", None
