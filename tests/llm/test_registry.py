import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest

from flashevolve.errors import ConfigError
from flashevolve.llm.http import HTTPModel
from flashevolve.llm.messages import Reply, Request, user
from flashevolve.llm.prices import FREE, Price, lookup
from flashevolve.llm.registry import Endpoint, account, connect, endpoint, price
from tests.fakes.endpoint import Endpoint as FakeEndpoint

KEY = "sk-canary-0123456789abcdef"


@dataclass(frozen=True)
class Spec:
    name: str
    base_url: str | None = None
    key_env: str | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    extra_headers: Mapping[str, str] = field(default_factory=dict)
    price: Price | None = None
    send_seed: bool = False
    client: Any = None


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
def test_openai_is_where_its_own_client_would_look(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:9/v1")
    assert endpoint(Spec("openai/gpt-5")).base_url == "http://127.0.0.1:9/v1"
    assert account(Spec("gpt-5")) == "127.0.0.1:9 OPENAI_API_KEY"
    assert endpoint(Spec("gpt-5"), {}).base_url == "https://api.openai.com/v1"
    assert endpoint(Spec("gpt-5"), {name: "http://h/v1"}).base_url == "http://h/v1"


@pytest.mark.parametrize("url", ["http://u:sk-canary@h/v1", "http://h/v1?api-key=sk-canary"])
def test_an_address_from_the_environment_holds_no_key(url: str) -> None:
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL: expected a URL without a key") as error:
        connect(Spec("gpt-5"), {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-x-12345678"})
    assert "sk-canary" not in str(error.value)


@pytest.mark.parametrize(
    ("spec", "name", "base_url", "key_env"),
    [
        (Spec("openai/gpt-5"), "gpt-5", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        (Spec("gpt-5"), "gpt-5", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        (Spec("gpt-5", key_env="MINE"), "gpt-5", "https://api.openai.com/v1", "MINE"),
        (
            Spec("openrouter/anthropic/claude-sonnet-4.5"),
            "anthropic/claude-sonnet-4.5",
            "https://openrouter.ai/api/v1",
            "OPENROUTER_API_KEY",
        ),
        (Spec("ollama/qwen3:8b"), "qwen3:8b", "http://127.0.0.1:11434/v1", None),
        (Spec("openai/gpt-oss-20b", "http://gpu:8000/v1"), "openai/gpt-oss-20b", None, None),
        (Spec("m", "https://api.openai.com/v1"), "m", None, "OPENAI_API_KEY"),
        (Spec("sim/x", "http://gpu:8000/v1"), "sim/x", None, None),
    ],
)
def test_a_name_implies_its_endpoint_unless_there_is_a_base_url(
    spec: Spec, name: str, base_url: str | None, key_env: str | None
) -> None:
    expected = Endpoint(name=name, base_url=base_url or spec.base_url or "", key_env=key_env)
    assert endpoint(spec) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Qwen/Qwen3-8B", "'Qwen/Qwen3-8B' needs a base_url, or a name that starts with one of"),
        ("opnai/gpt-5", "Did you mean 'openai'"),
        ("openai/", "needs a base_url"),
        ("sim/", "needs a base_url"),
    ],
)
def test_a_name_that_implies_nothing_is_refused(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        connect(Spec(name), {})


@pytest.mark.parametrize("environ", [{}, {"OPENAI_API_KEY": " "}])
def test_a_missing_key_names_its_variable(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="the environment variable OPENAI_API_KEY is not set"):
        connect(Spec("gpt-5"), environ)


def test_a_connected_model_sends_what_its_spec_says() -> None:
    async def run() -> None:
        async with FakeEndpoint(key=KEY) as fake:
            spec = Spec("a/b", fake.base_url, "MINE", {"top_k": 1}, {"x-t": "1"}, send_seed=True)
            model = connect(spec, {"MINE": KEY + "\n"})
            reply = await model.complete(Request(messages=(user("hi"),), seed=3))
            await model.close()
            assert reply.text == "ok"
            sent = fake.received[0]
            assert (sent.body["model"], sent.body["top_k"], sent.body["seed"]) == ("a/b", 1, 3)
            assert sent.headers["x-t"] == "1"
            assert KEY not in repr(model)

    asyncio.run(run())


def test_connecting_costs_no_connection() -> None:
    assert isinstance(connect(Spec("ollama/qwen3"), {}), HTTPModel)


def test_models_with_one_host_and_key_share_an_account() -> None:
    assert account(Spec("gpt-5")) == account(Spec("openai/o3")) == "api.openai.com OPENAI_API_KEY"
    assert account(Spec("gpt-5", key_env="B")) == "api.openai.com B"
    assert account(Spec("m", "http://gpu:8000/v1")) == "gpu:8000"
    assert account(Spec("sim/h100")) == "sim/h100"


def test_prices_come_from_the_spec_the_host_or_the_table() -> None:
    mine = Price(input_usd_per_mtok=3.0, output_usd_per_mtok=4.0)
    assert price(Spec("gpt-4o", price=mine)) == mine
    assert price(Spec("openai/gpt-4o")) == lookup("gpt-4o")
    assert price(Spec("openrouter/openai/gpt-4o")) == lookup("gpt-4o")
    assert price(Spec("gpt-4o", "http://127.0.0.1:4000/v1")) == lookup("gpt-4o")
    assert price(Spec("Qwen/Qwen3-8B", "http://127.0.0.1:8000/v1")) == FREE
    assert price(Spec("Qwen/Qwen3-8B", "http://gpu/v1"), local_is_free=False) is None
    assert price(Spec("ollama/qwen3"), local_is_free=False) is None
    assert price(Spec("sim/h100"), local_is_free=False) == FREE
    assert price(Spec("gpt-4o", "https://reseller.example.com/v1")) is None
    assert price(Spec("openai/nobody-knows")) is None
    assert price(Spec("sim/h100")) == FREE


def test_simulated_models_of_a_run_get_the_same_shared_dict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    class SimulatedModel:
        @classmethod
        def from_preset(
            cls, preset: str, shared: dict[str, Any], *, world: Any
        ) -> "SimulatedModel":
            asked.append((preset, shared))
            return cls()

    module = ModuleType("flashevolve.simulate.model")
    module.SimulatedModel = SimulatedModel  # type: ignore[attr-defined]  # a stand-in
    monkeypatch.setitem(sys.modules, "flashevolve.simulate.model", module)
    shared: dict[str, Any] = {}
    assert isinstance(connect(Spec("sim/h100"), {}, shared), SimulatedModel)
    connect(Spec("sim/h100"), {}, shared)
    assert [preset for preset, _ in asked] == ["h100", "h100"]
    assert all(given is shared for _, given in asked)


def test_a_providers_own_api_is_asked_by_litellm_if_that_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("flashevolve.llm.registry.installed", lambda: True)
    spec = Spec("anthropic/claude-sonnet-4.5")
    assert endpoint(spec) == Endpoint(name=spec.name, base_url="", key_env=None)
    assert account(spec) == "anthropic"
    assert account(Spec("litellm/some/model", key_env="MINE")) == "some MINE"
    assert price(spec) == lookup(spec.name) is not None
    assert endpoint(Spec("anthropic/x", "http://gpu:8000/v1")).base_url == "http://gpu:8000/v1"
    monkeypatch.setattr("flashevolve.llm.registry.installed", lambda: False)
    with pytest.raises(ConfigError, match=r"Or install litellm.*pip install '\.\[litellm"):
        account(spec)
    with pytest.raises(ConfigError, match="Did you mean 'openai'"):
        account(Spec("opnai/gpt-5"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_model_of_litellm_is_connected_and_its_missing_key_named() -> None:
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY is not set"):
        connect(Spec("anthropic/claude-sonnet-4.5"), {})
    model = connect(Spec("anthropic/claude-sonnet-4.5", key_env="MINE"), {"MINE": KEY})
    assert repr(model) == "LiteLLMModel('anthropic/claude-sonnet-4.5')"


class Own:
    """A client that a user wrote."""

    async def complete(self, request: Request) -> Reply:
        return Reply(text=f"you said {request.messages[-1].text}", tokens_in=1, tokens_out=2)

    async def close(self) -> None:
        pass


class Shared(Own):
    account = "my proxy"


def test_a_client_of_ones_own_is_asked_instead_of_an_endpoint() -> None:
    client = Own()
    spec = Spec("mine/no-such-provider", client=client)
    assert connect(spec, {}) is client


def test_a_client_of_ones_own_has_its_own_account_and_only_a_configured_price() -> None:
    assert account(Spec("mine", client=Own())) == "python mine"
    assert account(Spec("mine", client=Shared())) == "my proxy"
    assert price(Spec("gpt-4o-mini", client=Own())) is None
    costs = Price(input_usd_per_mtok=1.0, output_usd_per_mtok=2.0)
    assert price(Spec("mine", client=Own(), price=costs)) == costs
