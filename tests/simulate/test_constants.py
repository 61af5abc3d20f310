import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from flashevolve.simulate import constants as found_by
from flashevolve.simulate import world as worlds
from flashevolve.simulate.constants import constants, world_modules
from flashevolve.simulate.world import load_world

PACKAGE = "flashevolve.simulate"
FOUND = constants()


def changed(value: Any) -> Any:
    """Returns a value of the same kind that says something else."""
    match value:
        case int() | float():
            return value + 1
        case str():
            return f"{value}~"
        case tuple() | list():
            return (*value[:-1], changed(value[-1])) if value else ("~",)
        case dict():
            return {**value, "~": "~"}
        case _:
            return value | {"~"}


@pytest.mark.parametrize("name", sorted(FOUND))
def test_a_constant_that_is_changed_makes_another_world(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _, constant = f"{PACKAGE}.{name}".rpartition(".")
    before = worlds.hash_of({"constants": FOUND})
    old = vars(sys.modules[module])[constant]
    monkeypatch.setattr(sys.modules[module], constant, changed(old))
    assert worlds.hash_of({"constants": constants()}) != before


@pytest.mark.parametrize(
    "name",
    [
        "attention.REQUEST_WEIGHT",
        "attention.ADVICE_WEIGHT",
        "attention.RELATED_WEIGHT",
        "reflecting.MORE_LESSONS",
        "reflecting.KNOWN_WEIGHT",
        "merging.COMPARING",
        "lessons.SAME",
        "lessons.RELATED",
        "lessons.ASKS_THE_SAME",
        "writing.body.TOPIC_SHARE",
        "writing.habits.MARKERS",
        "writing.habits.COMMAS",
        "prefix.BYTES_PER_TOKEN",
        "terms.THESAURUS",
    ],
)
def test_weights_habits_thresholds_and_words_are_found(name: str) -> None:
    assert name in FOUND


def test_every_habit_is_found() -> None:
    habits = vars(sys.modules[f"{PACKAGE}.writing.habits"])
    tables = {f"writing.habits.{name}" for name in habits if name.isupper() and len(name) > 1}
    assert len(tables) > 20
    assert tables <= FOUND.keys()


def test_the_worlds_hash_is_over_the_constants_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = worlds.WORLD_FILE.read_text(encoding="utf-8")
    path, again = tmp_path / "a.toml", tmp_path / "b.toml"
    for file in (path, again):
        file.write_text(text, encoding="utf-8")
    before = load_world(path).hash
    assert before == load_world().hash
    monkeypatch.setattr(f"{PACKAGE}.attention.REQUEST_WEIGHT", 3.5)
    assert load_world(again).hash != before


def test_what_carries_the_world_decides_nothing_in_it_and_is_left_out() -> None:
    names = {module.__name__.removeprefix(f"{PACKAGE}.") for module in world_modules()}
    assert not names & found_by.NOT_OF_THE_WORLD
    files = {
        path.relative_to(Path(found_by.__file__).parent).with_suffix("").as_posix()
        for path in Path(found_by.__file__).parent.rglob("*.py")
        if path.name != "__init__.py"
    }
    assert files >= found_by.NOT_OF_THE_WORLD
    assert {name.replace(".", "/") for name in names} >= files - found_by.NOT_OF_THE_WORLD


def test_patterns_and_functions_are_no_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType(f"{PACKAGE}.planted")
    module.TABLE = {"a": (1, 2.5), "b": ("c",)}  # type: ignore[attr-defined]
    module.WORDS = frozenset({"b", "a"})  # type: ignore[attr-defined]
    module.PATTERNS = (sys, "a")  # type: ignore[attr-defined]
    module.lower = 3  # type: ignore[attr-defined]
    monkeypatch.setattr(found_by, "world_modules", lambda: [module])
    assert constants() == {
        "planted.TABLE": [["a", [1, 2.5]], ["b", ["c"]]],
        "planted.WORDS": ["a", "b"],
    }
