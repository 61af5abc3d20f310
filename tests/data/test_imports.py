import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flashevolve.data.imports import load_function, load_object
from flashevolve.errors import ConfigError


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Callable[[str, str], Path]]:
    """Writes a module into a directory; forgets it and its path afterwards."""
    modules, path = set(sys.modules), list(sys.path)

    def write_module(name: str, code: str) -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(code)
        return tmp_path

    yield write_module
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def test_an_installed_function_is_found() -> None:
    assert load_function("json:dumps")([1]) == "[1]"
    assert load_object("pathlib:Path.home") == Path.home


def test_a_module_beside_the_configuration_may_import_its_neighbours_late(
    write: Callable[[str, str], Path],
) -> None:
    write("fe_helper.py", "VALUE = 7\n")
    base = write("fe_metric.py", "def score():\n    import fe_helper\n    return fe_helper.VALUE\n")
    assert load_function("fe_metric:score", base)() == 7


def test_a_module_in_a_package_beside_the_configuration_is_found(
    write: Callable[[str, str], Path],
) -> None:
    write("fe_pack/__init__.py", "")
    base = write("fe_pack/inner.py", "def f():\n    return 1\n")
    assert load_function("fe_pack.inner:f", base)() == 1


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("json", r"^task\.run: expected module:name, such as my_metric:score, found 'json'$"),
        (":f", r"expected module:name"),
        ("code/metric.py:score", r"found the file 'code/metric\.py'. Did you mean 'code\.metric:s"),
        ("json:dumpss", r"^task\.run: json has no 'dumpss'\. Did you mean 'dumps'\?$"),
        ("json:__version_", r"^task\.run: json has no '__version_'"),
        ("fe_absent:f", r"^task\.run: no module 'fe_absent' among the installed packages$"),
        ("json.absent:f", r"no module 'json\.absent' among the installed packages$"),
        ("string:digits", r"^task\.run: expected string:digits to be a function, found str$"),
    ],
)
def test_a_wrong_path_is_one_line(path: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_function(path, key="task.run")


def test_a_module_that_is_absent_names_the_directory_looked_in(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"no module 'fe_x' in {tmp_path} or among the inst"):
        load_function("fe_x:f", tmp_path)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def f(:\n", r"importing 'fe_bad' failed: SyntaxError: .*fe_bad\.py, line 1\)$"),
        ("\n1 / 0\n", r"failed: ZeroDivisionError: division by zero \(.*fe_bad\.py, line 2\)$"),
        ("import fe_nowhere\n", r"failed: ModuleNotFoundError: No module named 'fe_nowhere'"),
        ("raise ValueError('a\\nb')\n", r"failed: ValueError: a b \("),
    ],
)
def test_a_module_that_fails_says_where_on_one_line(
    write: Callable[[str, str], Path], code: str, message: str
) -> None:
    base = write("fe_bad.py", code)
    with pytest.raises(ConfigError, match=message) as caught:
        load_function("fe_bad:f", base)
    assert "\n" not in str(caught.value)


def test_a_module_of_the_same_name_from_elsewhere_is_refused(
    write: Callable[[str, str], Path],
) -> None:
    base = write("json.py", "def f():\n    return 1\n")
    with pytest.raises(ConfigError, match=r"json\.py has the name of a module that is already"):
        load_function("json:f", base)
