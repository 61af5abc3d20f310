import pytest

from flashevolve.bench.suite import SUITES, suite
from flashevolve.errors import ConfigError


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_is_found_by_its_name(name: str) -> None:
    assert suite(name).name == name
    assert suite(name).about


def test_an_unknown_suite_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"found 'stalenes'\. Did you mean 'staleness'"):
        suite("stalenes")
