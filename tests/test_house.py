"""The house rules that a program can check."""

import ast
from collections.abc import Iterator
from itertools import chain

import pytest

import flashevolve
from tests.source import TESTS, Module, modules

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 80
OF_WHOLE_RUNS = {
    "test_awaited_seed",
    "test_determinism",
    "test_disk",
    "test_examples",
    "test_hostile",
    "test_older_runs",
    "test_frontier_runs",
    "test_own_client",
    "test_one_worker",
    "test_house",
    "test_kill",
    "test_portable",
    "test_reuse",
    "test_served_runs",
    "test_walls",
}
"""Tests of promises that no single module keeps."""
ALL = pytest.mark.parametrize("module", modules(), ids=lambda m: str(m.name))


def functions(module: Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@ALL
def test_a_file_has_at_most_500_lines_and_a_function_80(module: Module) -> None:
    assert len(module.text.splitlines()) <= MAX_FILE_LINES
    for function in functions(module):
        n_lines = (function.end_lineno or 0) - function.lineno + 1
        assert n_lines <= MAX_FUNCTION_LINES, f"{function.name} has {n_lines} lines"


@ALL
def test_a_module_opens_with_its_purpose(module: Module) -> None:
    purpose = ast.get_docstring(module.tree)
    assert purpose
    assert purpose.splitlines()[0].endswith((".", ":", "?"))


@ALL
def test_imports_are_absolute_and_annotations_are_real(module: Module) -> None:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, ast.unparse(node)
            assert node.module != "__future__", ast.unparse(node)


@ALL
def test_nothing_speaks_of_work_that_is_left_to_do(module: Module) -> None:
    for mark in ("TODO", "FIXME", "XXX"):
        assert mark not in module.text


def test_every_package_with_logic_has_tests_in_the_same_place() -> None:
    tested = {p.parent.relative_to(TESTS).as_posix() for p in TESTS.rglob("test_*.py")}
    for module in modules():
        if module.path.name == "__init__.py" or not any(functions(module)):
            continue
        package = "/".join(module.name.split(".")[1:-1]) or "."
        assert package in tested, f"{module.name} has no tests in tests/{package}"


def test_every_test_of_a_module_still_has_its_module() -> None:
    known = {m.name.replace(".", "/").removeprefix("flashevolve/") for m in modules()}
    for path in TESTS.rglob("test_*.py"):
        place = path.relative_to(TESTS).with_suffix("")
        if place.as_posix() in OF_WHOLE_RUNS or {"fixtures", "docs"} & set(place.parts):
            continue
        name = place.name.removeprefix("test_")
        mirrored = (place.parent / name).as_posix()
        packages = {place.parent.as_posix()}
        assert mirrored in known or packages & known, f"{path} mirrors nothing in src"


def test_every_test_folder_is_a_package() -> None:
    for folder in chain([TESTS], {p.parent for p in TESTS.rglob("test_*.py")}):
        assert (folder / "__init__.py").exists(), folder


def test_no_module_takes_the_place_of_a_public_name() -> None:
    # Importing `flashevolve.x` sets the attribute `x` of the package, whatever it was before.
    names = {m.name.split(".")[1] for m in modules() if m.name.count(".")}
    assert not names & set(flashevolve.__all__)
