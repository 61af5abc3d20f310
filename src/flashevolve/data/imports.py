"""Imports: the user's own functions and classes by `module:name`.

A module next to the configuration is found before an installed one, and may import its own
neighbours. Whatever goes wrong is one line that names the key that asked.
"""

import importlib
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flashevolve.errors import ConfigError, nearest


def load_object(path: str, base_dir: Path | None = None, *, key: str = "import") -> Any:
    """Returns what `module:name` names; `name` may be dotted.

    `base_dir` is put in front of `sys.path` and stays there, for imports that the module does
    later. Raises `ConfigError`, with `key` in front.
    """
    module_name, colon, attribute = path.partition(":")
    if not (colon and module_name and attribute):
        raise ConfigError(f"{key}: expected module:name, such as my_metric:score, found {path!r}")
    if module_name.endswith(".py"):
        raise ConfigError(
            f"{key}: expected a module, found the file {module_name!r}. "
            f"Did you mean '{module_name.removesuffix('.py').replace('/', '.')}:{attribute}'?"
        )
    found: Any = _module(module_name, base_dir, key)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ConfigError(
                f"{key}: {module_name} has no {attribute!r}.{nearest(part, _public(found))}"
            )
        found = getattr(found, part)
    return found


def load_function(
    path: str, base_dir: Path | None = None, *, key: str = "import"
) -> Callable[..., Any]:
    """Returns the function that `module:name` names. Raises `ConfigError`, also for no function."""
    found = load_object(path, base_dir, key=key)
    if not callable(found):
        raise ConfigError(f"{key}: expected {path} to be a function, found {type(found).__name__}")
    return found  # type: ignore[no-any-return]  # whatever is callable


def _public(owner: Any) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_")]


def _module(name: str, base_dir: Path | None, key: str) -> Any:
    beside = base_dir.resolve() if base_dir else None
    if beside:
        _refuse_another(name, beside, key)
        if str(beside) not in sys.path:
            sys.path.insert(0, str(beside))
        importlib.invalidate_caches()  # the file may be younger than the directory's cached listing
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            place = f"in {beside} or among" if beside else "among"
            raise ConfigError(f"{key}: no module {name!r} {place} the installed packages") from None
        raise ConfigError(f"{key}: importing {name!r} failed: {_last_line(error)}") from error
    except Exception as error:  # the boundary to user code: any module may raise anything
        raise ConfigError(f"{key}: importing {name!r} failed: {_last_line(error)}") from error


def _refuse_another(name: str, beside: Path, key: str) -> None:
    # Python keeps one module per name: the one from elsewhere would be used in silence.
    here = beside.joinpath(*name.split("."))
    files = [here.with_suffix(".py"), here / "__init__.py"]
    loaded = getattr(sys.modules.get(name), "__file__", None)
    wanted = next((file for file in files if file.is_file()), None)
    if loaded and wanted and not wanted.samefile(loaded):
        raise ConfigError(
            f"{key}: {wanted} has the name of a module that is already imported from {loaded}. "
            f"Rename the file"
        )


def _last_line(error: Exception) -> str:
    what = " ".join(f"{type(error).__name__}: {error}".split())
    if isinstance(error, SyntaxError):
        return what
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    return f"{what} ({last.filename}, line {last.lineno})"
