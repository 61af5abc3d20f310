"""Resolve: a tree of tables becomes `Settings`, or one line that says why not.

Files named in `[artifact]` are read here and relative paths are made absolute, so that nothing
later depends on the working directory. `dump` is the way back: `resolve(dump(settings))` equals
`settings`, except that what may be a key was not recorded and has to be given again.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from flashevolve.algorithms.registry import ALGORITHMS, algorithm_class, name_of, table_name
from flashevolve.config.explain import Loc, dotted, explain, shown
from flashevolve.config.settings import Model, Price, Settings, field_names
from flashevolve.config.tree import Tree, key_path
from flashevolve.errors import ConfigError
from flashevolve.llm.secrets import HIDDEN, without_secrets
from flashevolve.workloads.registry import WORKLOADS

PATHS = {
    "task": ("corpus",),
    "data": ("train", "val", "test", "path"),
    "run": ("dir", "reuse"),
    "simulation": ("world",),
}
"""Keys that hold paths, which the file's directory or, from the command line, ours completes."""
TEMPLATES = {"staleness": "repair_prompt", "gepa": "reflect", "combee": "reflect"}
"""Keys that hold a template or, where there is no placeholder in them, the path of one."""


def resolve(
    tree: Mapping[str, Any],
    base_dir: str | Path = ".",
    *,
    source: str = "configuration",
    overridden: Collection[str] = (),
) -> Settings:
    """Checks a tree and returns the settings.

    Besides what TOML can hold, a tree may hold instances: an algorithm's settings under
    `algorithm`, `Model`s and a `Budget`. `source` names the file in messages; `overridden` are the
    keys that came from the command line instead. Raises `ConfigError`.
    """
    tree = dict(tree)
    run = tree.get("run", {})
    own_base = run.get("base") if isinstance(run, Mapping) else None
    base = Path(base_dir, own_base if isinstance(own_base, str | Path) else "").absolute()
    origin = _Origin(source, base, frozenset(".".join(key_path(key)) for key in overridden))
    tree["algorithm"], table, tree["options"] = _algorithm(tree, origin)
    if isinstance(run, Mapping) and isinstance(own_base, str | Path | None):
        tree["run"] = {**run, "base": base}
    for group, keys in PATHS.items():
        tree[group] = _absolute(tree.get(group, {}), group, keys, origin)
    tree["task"], tree["data"] = _of_workload(tree.get("task", {}), tree["data"])
    tree["staleness"] = _template(tree.get("staleness", {}), "staleness", origin)
    tree["artifact"] = _texts(tree.get("artifact", {}), origin)
    tree["model"], tree["models"] = _models(tree.get("model"), tree.get("models", {}))

    def siblings(loc: Loc) -> tuple[str, ...]:
        if len(loc) == 1:
            return (*(name for name in field_names(Settings) if name != "options"), table)
        if loc[0] in ("model", "models"):
            return field_names(Price if "price" in loc[:-1] else Model)
        return field_names(Settings.model_fields[str(loc[0])].annotation)

    try:
        return Settings.model_validate(tree)
    except ValidationError as error:
        raise explain(error, where=origin.place, known=siblings) from None


class _Origin:
    """Where each key of a tree was given: in the file, or on the command line."""

    def __init__(self, source: str, base: Path, overridden: frozenset[str]) -> None:
        self.source = source
        self.base = base
        self.overridden = overridden

    def on_command_line(self, key: str) -> bool:
        return any(key == given or key.startswith(f"{given}.") for given in self.overridden)

    def place(self, loc: Loc) -> str:
        # The only model of a role is written as a table, though settings hold a tuple of one.
        key = dotted(part for part in loc if not (loc[0] == "models" and part == 0))
        return f"--{key}" if self.on_command_line(key) else f"{self.source}: {key}"

    def path(self, key: str, given: str | Path) -> Path:
        """Completes a relative path as the user who wrote it there means it."""
        return Path("." if self.on_command_line(key) else self.base, given).absolute()


def _algorithm(tree: Tree, origin: _Origin) -> tuple[str, str, Any]:
    """Takes the algorithm's table out of `tree`; returns its name, table and checked settings."""
    if "options" in tree:
        raise ConfigError(
            f"{origin.place(('options',))}: unknown key. All keys: flashevolve config"
        )
    chosen = tree.get("algorithm", "gepa")
    if not isinstance(chosen, str):
        if not hasattr(chosen, "workflow"):
            raise ConfigError(
                f"{origin.place(('algorithm',))}: expected a name such as 'gepa', or an instance "
                f"with a method workflow(setup), found {shown(chosen)}"
            )
        name = name_of(type(chosen))
        return name, table_name(name), chosen
    table = table_name(chosen)
    cls = algorithm_class(chosen, origin.base)
    given = _template(tree.pop(table, {}), table, origin)
    # Tables of other algorithms stay in a file when one tries `--algorithm`.
    for other in ALGORITHMS:
        tree.pop(other, None)
    try:
        return chosen, table, TypeAdapter(cls).validate_python(given)
    except ValidationError as error:
        raise explain(
            error, where=lambda loc: origin.place((table, *loc)), known=field_names(cls)
        ) from None


def _absolute(group: Any, name: str, keys: tuple[str, ...], origin: _Origin) -> Any:
    if not isinstance(group, Mapping):
        return group
    return {
        key: origin.path(f"{name}.{key}", value)
        if key in keys and isinstance(value, str | Path) and value
        else value
        for key, value in group.items()
    }


def _of_workload(task: Any, data: Any) -> tuple[Any, Any]:
    """Fills in the fields that a workload's examples have, where none are named."""
    name = task.get("workload") if isinstance(task, Mapping) else None
    if not isinstance(name, str) or name not in WORKLOADS or not isinstance(data, Mapping):
        return task, data
    workload = WORKLOADS[name]
    return {"input": workload.input, **task}, {"id": workload.id, **data}


def _template(group: Any, name: str, origin: _Origin) -> Any:
    """Completes the path of a table's template, where it is a path."""
    key = TEMPLATES.get(name, "")
    given = group.get(key) if isinstance(group, Mapping) else None
    if not isinstance(given, str) or "{{" in given:
        return group
    return {**group, key: str(origin.path(f"{name}.{key}", given))}


def _texts(artifact: Any, origin: _Origin) -> Any:
    """Replaces `{file = path}` by the file's text."""
    if not isinstance(artifact, Mapping):
        return artifact
    texts: dict[str, Any] = {}
    for name, given in artifact.items():
        texts[name] = given
        if isinstance(given, Mapping):
            where = origin.place(("artifact", name))
            if set(given) != {"file"} or not isinstance(given["file"], str):
                raise ConfigError(
                    f'{where}: expected a text or {{file = "prompt.md"}}, found {dict(given)!r}'
                )
            path = origin.path(f"artifact.{name}", given["file"])
            try:
                texts[name] = path.read_text(encoding="utf-8-sig")
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
                raise ConfigError(f"{where}: cannot read {path}: {why}") from None
    return texts


def _models(default: Any, roles: Any) -> tuple[Any, Any]:
    """Completes each role's models by the default; roles become lists.

    A default without a name only completes. A price belongs to a name and is not inherited by
    another.
    """
    if isinstance(default, str):
        default = {"name": default}
    inherited = default if isinstance(default, Mapping) else {}

    def completed(model: Any) -> Any:
        given = {"name": model} if isinstance(model, str) else model
        if not isinstance(given, Mapping):
            return given
        full = {**inherited, **given}
        if "price" not in given and full.get("name") != inherited.get("name"):
            full["price"] = None
        return full

    if isinstance(roles, Mapping):
        roles = {
            role: [completed(m) for m in (models if isinstance(models, list | tuple) else [models])]
            for role, models in roles.items()
        }
    nameless = isinstance(default, Mapping) and "name" not in default and roles
    return None if nameless else default, roles


def dump(settings: Settings) -> dict[str, Any]:
    """Returns settings as a JSON tree that `resolve` reads, without anything that may be a key."""
    tree = settings.model_dump(mode="json", exclude={"options"})
    cls = type(settings.options)
    if settings.options is not None:
        table = table_name(settings.algorithm)
        tree[table] = TypeAdapter(cls).dump_python(settings.options, mode="json")
    models = [tree["model"], *(model for role in tree["models"].values() for model in role)]
    for model in filter(None, models):
        model["extra_headers"] = dict.fromkeys(model["extra_headers"], HIDDEN)
        model["extra_body"] = without_secrets(model["extra_body"])
    for role, own in tree["models"].items():
        short = [_without_inherited(model, tree["model"] or {}) for model in own]
        tree["models"][role] = short[0] if len(short) == 1 else short
    return tree


def _without_inherited(model: Tree, default: Tree) -> Tree:
    """Keeps what a role sets itself, so that a default changed on resume still reaches it."""
    own_price = model["name"] != default.get("name")
    return {
        key: value
        for key, value in model.items()
        if key == "name"
        or key not in default
        or value != default[key]
        or (key == "price" and own_price)
    }
