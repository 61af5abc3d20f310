from pathlib import Path

import pytest

from flashevolve.config import load, merge
from flashevolve.errors import ConfigError


def test_a_file_is_read_as_a_tree(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text('seed = 3\n[budget]\nusd = 5\n[artifact]\nsystem = "Grüß Gott"\n', "utf-8")
    assert load(path) == {"seed": 3, "budget": {"usd": 5}, "artifact": {"system": "Grüß Gott"}}


def test_a_missing_file_is_named_with_its_nearest_neighbour(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("")
    with pytest.raises(
        ConfigError, match=r"ruin\.toml: expected a TOML file, found none\. .* 'run\.toml'\?$"
    ):
        load(tmp_path / "ruin.toml")


def test_a_missing_directory_is_no_traceback(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none/run\.toml: expected a TOML file, found none\.$"):
        load(tmp_path / "none" / "run.toml")


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected a TOML file, found Is a directory"):
        load(tmp_path)


def test_a_syntax_error_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("seed = 1\nbudget = = 2\n")
    with pytest.raises(ConfigError, match=r"run\.toml: expected TOML, found: .*at line 2, column"):
        load(path)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes(b"# \xff\n")
    with pytest.raises(ConfigError, match=r"run\.toml: expected UTF-8 text, byte 2 is not$"):
        load(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("20", 20),
        ("0.5", 0.5),
        (".5", 0.5),
        ("-.5e-3", -0.0005),
        ("5.", 5.0),
        (".", "."),
        ("007", "007"),
        ("5.x", "5.x"),
        ("true", True),
        ("[0.6, 0.2, 0.2]", [0.6, 0.2, 0.2]),
        ('{file = "prompt.md"}', {"file": "prompt.md"}),
        ('"4"', "4"),
        ("openai/gpt-4o-mini", "openai/gpt-4o-mini"),
        ("Answer: (.+)", "Answer: (.+)"),
        ("", ""),
        ("1\nseed = 2", "1\nseed = 2"),
    ],
)
def test_an_override_is_a_toml_literal_or_else_text(text: str, value: object) -> None:
    assert merge({}, [("artifact.x", text)]) == {"artifact": {"x": value}}


def test_dashes_are_underscores_except_in_free_form_tables_and_role_names() -> None:
    merged = merge(
        {},
        [
            ("budget.metric-calls", "9"),
            ("model.extra-body.top-k", "20"),
            ("model.extra-headers.X-Title", "me"),
            ("models.my-judge.max-output-tokens", "7"),
            ('artifact."tools/calc.py"', "x"),
        ],
    )
    assert merged == {
        "budget": {"metric_calls": 9},
        "model": {"extra_body": {"top-k": 20}, "extra_headers": {"X-Title": "me"}},
        "models": {"my-judge": {"max_output_tokens": 7}},
        "artifact": {"tools/calc.py": "x"},
    }


def test_overrides_go_beside_what_the_file_says_and_the_last_one_wins() -> None:
    tree = {"budget": {"usd": 1, "tokens": 2}}
    merged = merge(tree, [("budget.usd", "3"), ("budget.usd", "4")])
    assert merged == {"budget": {"usd": 4, "tokens": 2}}
    assert tree == {"budget": {"usd": 1, "tokens": 2}}


def test_a_model_that_is_a_plain_name_can_be_refined() -> None:
    tree = {"model": "a", "models": {"reflect": "b"}}
    merged = merge(tree, [("model.timeout-s", "5"), ("models.reflect.price", "{}")])
    assert merged == {
        "model": {"name": "a", "timeout_s": 5},
        "models": {"reflect": {"name": "b", "price": {}}},
    }


def test_a_key_that_runs_through_a_list_is_refused() -> None:
    tree = {"models": {"task": [{"name": "a"}, {"name": "b"}]}}
    with pytest.raises(
        ConfigError,
        match=r"^--models\.task\.weight: expected models\.task to be a table, found a list\. "
        r"Set it as a whole: --models\.task VALUE$",
    ):
        merge(tree, [("models.task.weight", "2")])


def test_a_key_that_runs_through_a_value_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"expected seed to be a table, found a single value"):
        merge({"seed": 1}, [("seed.x", "2")])


@pytest.mark.parametrize("key", ["", ".", "a..b", "a b", "a = 1\nb", "a = {x", "x=", "a]\n[b"])
def test_a_key_that_is_none_is_refused(key: str) -> None:
    with pytest.raises(ConfigError, match=r"expected a dotted key such as --budget\.usd 5$"):
        merge({}, [(key, "1")])
