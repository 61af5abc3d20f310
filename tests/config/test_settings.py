import copy
import dataclasses
import pickle
import subprocess
import sys

import pytest

from flashevolve.config import Budget, Limits, Model, Price, Settings, Staleness, dump
from flashevolve.errors import ConfigError


def test_a_model_is_made_from_its_name() -> None:
    model = Model("qwen3-8b", base_url="http://127.0.0.1:8000/v1")
    assert (model.name, model.timeout_s, model.max_output_tokens) == ("qwen3-8b", 600.0, 8192)
    assert (model.price, model.weight, model.send_seed) == (None, 1.0, False)


def test_models_are_frozen_and_can_be_copied() -> None:
    model = Model("m", extra_body={"top_k": 1}, price=Price(**_price(1, 2)))
    assert pickle.loads(pickle.dumps(model)) == model == copy.deepcopy(model)
    with pytest.raises(dataclasses.FrozenInstanceError, match="name"):
        model.name = "n"  # type: ignore[misc]


def _price(input_usd: float, output_usd: float) -> dict[str, float]:
    return {"input_usd_per_mtok": input_usd, "output_usd_per_mtok": output_usd}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": ""}, r"^Model: name: expected some text, found ''$"),
        ({"timeout_s": 0}, r"^Model: timeout_s: expected a number greater than 0, found 0$"),
        ({"timeout_s": "5"}, r"^Model: timeout_s: expected a number, found '5'$"),
        ({"timeout_s": float("nan")}, r"^Model: timeout_s: expected a finite number, found nan$"),
        ({"max_output_tokens": True}, r"^Model: max_output_tokens: expected a whole number, fou"),
        (
            {"temperature": 2.5},
            r"^Model: temperature: expected a number less than or equal to 2, found",
        ),
        ({"weight": -1}, r"^Model: weight: expected a number greater than 0, found -1$"),
        ({"price": 3}, r"^Model: price: expected a table, found 3$"),
        (
            {"price": _price(-1, 1)},
            r"^Model: price\.input_usd_per_mtok: expected a number greater than or",
        ),
        ({"base_url": "127.0.0.1:8000"}, r"^Model: base_url: expected an http or https URL"),
        ({"tiemout_s": 3}, r"^Model: tiemout_s: unknown key\. Did you mean 'timeout_s'\?"),
    ],
)
def test_a_wrong_model_is_one_line(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        Model(**{"name": "m", **wrong})  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "leaking",
    [
        {"key_env": "sk-CANARY"},
        {"key_env": "gsk_CANARY"},
        {"base_url": "https://me:CANARY@host/v1"},
        {"base_url": "https://host/v1?api-key=CANARY"},
        {"base_url": "http://x/v1?key=CANARY"},
        {"base_url": "http://x/v1?api-version=1&Token=CANARY"},
        {"extra_headers": {"Authorization": ["CANARY"]}},
        {"extra_headers": "CANARY"},
        {"extra_body": "CANARY"},
    ],
)
def test_what_may_be_a_key_is_refused_without_repeating_it(leaking: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="what was found is not shown") as caught:
        Model("m", **leaking)  # type: ignore[arg-type]
    assert "CANARY" not in str(caught.value)


def test_headers_are_not_in_the_repr() -> None:
    assert "CANARY" not in repr(Model("m", extra_headers={"Authorization": "CANARY"}))


def test_an_empty_base_url_is_the_providers_own() -> None:
    assert Model("m", base_url="").base_url is None


def test_a_budget_is_empty_until_something_limits_the_run() -> None:
    assert Budget().empty
    assert Budget(grace_s=5).empty
    for limit in ("metric_calls", "proposals", "tokens", "usd", "seconds"):
        assert not Budget(**{limit: 1}).empty


@pytest.mark.parametrize("usd", [0, -1, float("inf"), "5", True])
def test_a_budget_takes_positive_numbers_only(usd: object) -> None:
    with pytest.raises(ConfigError, match=r"^Budget: usd: expected "):
        Budget(usd=usd)  # type: ignore[arg-type]


def test_limits_follow_from_concurrency() -> None:
    limits = Limits(concurrency=8)
    derived = (limits.max_in_flight, limits.max_workers, limits.queue_items, limits.max_threads)
    assert derived == (8, 8, 16, 8)


def test_limits_that_are_given_hold() -> None:
    limits = Limits(concurrency=8, in_flight=6, workers=3, queue=1, threads=2)
    derived = (limits.max_in_flight, limits.max_workers, limits.queue_items, limits.max_threads)
    assert derived == (6, 3, 1, 2)


def test_the_largest_gap_is_half_of_what_is_in_flight_unless_given() -> None:
    assert Settings(limits=Limits(in_flight=9)).delta_max == 4
    assert Settings(staleness=Staleness(delta_max=0)).delta_max == 0


def test_nothing_is_released_early_unless_it_is_set() -> None:
    speculation = Settings().speculation
    assert (speculation.rollout, speculation.evaluate) == (1.0, 1.0)


def test_a_role_without_models_of_its_own_uses_the_default() -> None:
    settings = Settings(model=Model("a"), models={"judge": (Model("b"),)})
    assert [m.name for m in settings.role("task")] == ["a"]
    assert [m.name for m in settings.role("judge")] == ["b"]


def test_a_role_without_any_model_says_how_to_give_one() -> None:
    with pytest.raises(ConfigError, match=r"no model for role 'task': .* --model\.name \"openai/"):
        Settings().role("task")


def test_a_task_is_metered_unless_user_code_may_call_models() -> None:
    metered = [
        Settings.model_validate({"task": task}).task.all_metered
        for task in ({}, {"run": "a:b"}, {"run": "a:b", "metered": True})
    ]
    assert metered == [True, False, True]


def test_importing_the_configuration_loads_nothing_heavy() -> None:
    # importlib.metadata is what pydantic loads, for a quarter of the time, to build a validator.
    heavy = {"aiohttp", "rich", "asyncio", "sqlite3", "click", "tenacity", "importlib.metadata"}
    code = "import sys, flashevolve.config; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not heavy & set(out.stdout.split())


class Client:
    """Answers nothing, but could."""

    async def complete(self, request: object) -> object:
        return request

    async def close(self) -> None:
        pass


def test_a_model_may_bring_a_client_which_is_neither_recorded_nor_compared() -> None:
    model = Model("mine", client=Client())
    assert model == Model("mine")
    assert "client" not in repr(model)
    settings = Settings(models={"task": (model,)})
    assert settings.role("task")[0].client is model.client
    assert "client" not in dump(settings)["models"]["task"]


def test_a_client_that_cannot_answer_is_one_line() -> None:
    with pytest.raises(ConfigError, match=r"^Model: client: expected an object with `async comp"):
        Model("mine", client="gpt-4o-mini")
