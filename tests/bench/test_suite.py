from dataclasses import replace

import pytest

from flashevolve.bench.suite import SUITES, check_needs, suite
from flashevolve.errors import ConfigError


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_is_found_by_its_name(name: str) -> None:
    assert suite(name).name == name
    assert suite(name).about


def test_an_unknown_suite_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"found 'stalenes'\. Did you mean 'staleness'"):
        suite("stalenes")


def test_a_missing_package_names_the_extra_that_brings_it() -> None:
    lacking = replace(suite("gepa"), needs={"no_such_package": "gepa"})
    with pytest.raises(
        ConfigError,
        match=r"expected the package no_such_package, found none\. "
        r"In the clone: pip install '\.\[gepa\]'",
    ):
        check_needs(lacking)
    check_needs(suite("workers"))
