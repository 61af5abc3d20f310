import pytest

from flashevolve.algorithms.registry import ALGORITHMS, algorithm_class, name_of, table_name
from flashevolve.errors import ConfigError
from tests.config.beam import Beam

BEAM = "tests.config.beam:Beam"


def test_an_algorithm_of_ones_own_is_found_by_its_import_path() -> None:
    assert algorithm_class(BEAM) is Beam
    assert name_of(Beam) == BEAM
    assert table_name(BEAM) == "beam"


def test_a_built_in_algorithm_has_a_short_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ALGORITHMS, "search", BEAM)
    assert algorithm_class("search") is Beam
    assert (name_of(Beam), table_name("search")) == ("search", "search")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "gepaa",
            r"^algorithm: expected one of gepa, combee, .* Did you mean 'gepa'\?$",
        ),
        ("json:dumps", r"expected json:dumps to be a class with a method workflow\(setup\), found"),
        ("fe_absent:X", r"^algorithm: no module 'fe_absent'"),
    ],
)
def test_what_is_no_algorithm_is_refused(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        algorithm_class(name)
