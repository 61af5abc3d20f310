import pytest

from flashevolve.llm.gateway.environment import child_environment, exempt_loopback

KEY = "sk-canary-3141592653589793"
LOOPBACK = "127.0.0.1,localhost"
NO_PROXY = {"NO_PROXY": LOOPBACK, "no_proxy": LOOPBACK}


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "OPENAI_API_KEY_2",
        "OPENAI_API_KEY_PROD",
        "AZURE_OPENAI_KEY1",
        "AWS_ACCESS_KEY_ID",
        "PGPASSWORD",
        "MYSQL_PWD",
        "SSHPASS",
        "GITHUB_PAT",
        "HF_TOKEN",
        "hf_token",
        "APIKEY2",
    ],
)
def test_a_variable_that_is_named_like_a_secret_is_left_out(name: str) -> None:
    assert child_environment({name: "x", "HOME": "/h"}, ()) == {"HOME": "/h", **NO_PROXY}


def test_what_no_secret_is_stays() -> None:
    kept = {
        "PATH": "/bin",
        "PWD": "/h",
        "OLDPWD": "/",
        "TOKENIZERS_PARALLELISM": "false",
        "MAX_TOKENS": "5",
        "KEYBOARD": "us",
        "BYPASS_CACHE": "1",
        "PATTERN": "a:b@c",
        "INDEX_URL": "https://user@host/simple",
        "HTTPS_PROXY": "http://user:pw@proxy:3128",
    }
    assert child_environment(kept, ()) == {**kept, **NO_PROXY}


def test_a_configured_key_is_left_out_whatever_holds_it() -> None:
    environ = {"MINE": KEY, "COPY": f"Bearer {KEY}", "LOCAL": "EMPTY", "STATE": "EMPTY", "A": "b"}
    assert child_environment(environ, ["MINE", "LOCAL", "UNSET"]) == {
        "STATE": "EMPTY",
        "A": "b",
        **NO_PROXY,
    }


def test_an_address_with_a_password_is_left_out() -> None:
    assert child_environment({"DATABASE_URL": "postgres://me:pw@db/x"}, ()) == NO_PROXY


def test_hosts_that_need_no_proxy_already_are_kept() -> None:
    both = dict.fromkeys(("NO_PROXY", "no_proxy"), "corp,localhost,127.0.0.1")
    assert child_environment({"NO_PROXY": "corp, localhost"}, ()) == both
    every = child_environment({"no_proxy": "*"}, ())
    assert every == {"no_proxy": "*", "NO_PROXY": "*"}


def test_this_machine_is_exempt_where_there_is_a_proxy() -> None:
    without = {"HOME": "/h", "NO_PROXY": "corp"}
    exempt_loopback(without)
    assert without == {"HOME": "/h", "NO_PROXY": "corp"}
    behind = {"http_proxy": "http://proxy"}
    exempt_loopback(behind)
    assert behind == {"http_proxy": "http://proxy", **NO_PROXY}
