import pytest

from flashevolve.llm.hosts import is_local


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "::1", "[::1]", "localhost", "10.1.2.3", "192.168.0.9", "gpu7", "a.local"]
)
def test_this_machine_and_private_networks_are_local(host: str) -> None:
    assert is_local(host)


@pytest.mark.parametrize(
    "host", ["api.openai.com", "8.8.8.8", "2606:4700::1111", "localhost.com", ""]
)
def test_public_hosts_are_not(host: str) -> None:
    assert not is_local(host)
