import pytest

from flashevolve.llm.messages import Request, user
from flashevolve.llm.record import request_to_json
from flashevolve.llm.secrets import HIDDEN, holds_secret, secrets_of, without_secrets

SECRET = [
    "key",
    "api_key",
    "api-key",
    "apikey",
    "apiKey",
    "APIKey",
    "x-api-key",
    "Ocp-Apim-Subscription-Key",
    "token",
    "Token",
    "access_token",
    "accessToken",
    "authtoken",
    "client_secret",
    "secret",
    "secrets",
    "password",
    "Authorization",
    "auth",
    "Proxy-Authorization",
    "X-Amz-Signature",
    "sig",
    "credentials",
    "Cookie",
]
PLAIN = [
    "max_tokens",
    "min_tokens",
    "max_completion_tokens",
    "top_k",
    "key_env",
    "tokens",
    "stop_token_ids",
    "author",
    "prompt_cache_key",
    "monkey",
    "skip_special_tokens",
    "keyword",
    "api-version",
    "tokenizer",
    "design",
    "secretary",
]


@pytest.mark.parametrize("name", SECRET)
def test_names_that_stand_beside_a_key_are_known(name: str) -> None:
    assert holds_secret(name)


@pytest.mark.parametrize("name", PLAIN)
def test_names_that_only_look_alike_are_left_in_peace(name: str) -> None:
    assert not holds_secret(name)


def test_what_is_hidden_is_found_at_any_depth_and_nothing_else() -> None:
    body = {"top_k": 3, "via": [{"token": "a"}], "auth": {"user": "b", "more": ["c", 1]}}
    hidden = {"top_k": 3, "via": [{"token": HIDDEN}], "auth": HIDDEN}
    assert without_secrets(body) == hidden
    assert secrets_of(body) == ["a", "b", "c"]


def test_a_recorded_request_shows_no_secret_of_its_body() -> None:
    request = Request(messages=(user("hi"),), extra_body={"token": "CANARY", "top_k": 2})
    assert request_to_json(request)["extra_body"] == {"token": HIDDEN, "top_k": 2}
