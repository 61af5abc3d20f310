import json
from typing import Any

import pytest

from flashevolve.errors import DataError
from flashevolve.workloads.instructions import CHECKERS
from flashevolve.workloads.instructions.layout import constraints, parameters

COMMA, BULLETS = "punctuation:no_comma", "detectable_format:number_bullet_lists"
NULLS = dict.fromkeys(["num_bullets", "keywords", "relation", "language", "letter"])


def example(ids: Any, kwargs: Any, **more: Any) -> dict[str, Any]:
    return {"key": 1000, "prompt": "Do.", "instruction_id_list": ids, "kwargs": kwargs, **more}


def test_the_public_layout_is_read_unchanged() -> None:
    line = (
        '{"key": 1219, "prompt": "Do.", "instruction_id_list": ["change_case:english_capital", '
        '"keywords:frequency"], "kwargs": [{}, {"relation": "at least", "keyword": "tea", '
        '"frequency": 10}]}'
    )
    capital, frequency = constraints(json.loads(line))
    assert (capital.id, capital.values) == ("change_case:english_capital", {})
    assert frequency.values == {"relation": "at least", "keyword": "tea", "frequency": 10}


def test_nulls_float_counts_missing_tables_and_further_columns_are_tolerated() -> None:
    given = example([COMMA, BULLETS, COMMA], [NULLS, {**NULLS, "num_bullets": 3.0}, None], source=1)
    assert [dict(c.values) for c in constraints(given)] == [{}, {"num_bullets": 3}, {}]
    (bullets,) = constraints(example([BULLETS], [{"num_bullets": 3.0}]))
    assert type(bullets.values["num_bullets"]) is int


def test_every_checker_says_what_each_of_its_values_must_be() -> None:
    for name, checker in CHECKERS.items():
        for parameter in parameters(checker).values():
            assert parameter.expected, name


WRONG = [
    (
        example(["punctuation:no_coma"], [{}]),
        r"^example 1000: expected a known instruction as instruction_id_list\[0\], found "
        r"'punctuation:no_coma'\. Did you mean 'punctuation:no_comma'\?$",
    ),
    (
        example([COMMA, 7], [{}, {}]),
        r"expected a known instruction as instruction_id_list\[1\], found 7\. "
        r"docs/instructions\.md lists them$",
    ),
    (
        example([BULLETS], [{"num_bullet": 3}]),
        r"^example 1000: expected in kwargs\[0\] of detectable_format:number_bullet_lists nothing "
        r"but num_bullets, found 'num_bullet'\. Did you mean 'num_bullets'\?$",
    ),
    (
        example([COMMA], [{"n": 3}]),
        r"expected in kwargs\[0\] of punctuation:no_comma nothing but null values, found 'n'\.$",
    ),
    (
        example([COMMA, BULLETS], [{}]),
        r"^example 1000: expected as many tables in kwargs as ids in instruction_id_list, "
        r"found 1 and 2$",
    ),
    (
        example([BULLETS], [{"num_bullets": None}]),
        r"^example 1000: expected 'num_bullets' \(a whole number of 0 or more\) in kwargs\[0\] of "
        r"detectable_format:number_bullet_lists, found no values$",
    ),
    (
        example([BULLETS], [{"num_bullets": "3"}]),
        r"^example 1000: expected 'num_bullets' in kwargs\[0\] of \S+ to be a whole number of 0 or "
        r"more, found '3'$",
    ),
    (example([BULLETS], [{"num_bullets": True}]), r"whole number of 0 or more, found True$"),
    (example([BULLETS], [{"num_bullets": 2.5}]), r"whole number of 0 or more, found 2\.5$"),
    (example([BULLETS], [{"num_bullets": -1}]), r"whole number of 0 or more, found -1$"),
    (
        example(["keywords:existence"], [{"keywords": "tea"}]),
        r"to be a list of one or more texts, none of them empty, found 'tea'$",
    ),
    (example(["keywords:existence"], [{"keywords": []}]), r"none of them empty, found \[\]$"),
    (example(["keywords:existence"], [{"keywords": ["a", 1]}]), r"empty, found \['a', 1\]$"),
    (
        example(["length_constraints:number_words"], [{"num_words": 3, "relation": "at most"}]),
        r"expected 'relation' in kwargs\[0\] of \S+ to be 'at least' or 'less than', "
        r"found 'at most'$",
    ),
    (
        example(["length_constraints:number_words"], [{"num_words": 3, "relation": ["at least"]}]),
        r"to be 'at least' or 'less than', found \['at least'\]$",
    ),
    (
        example(["language:response_language"], [{"language": "xx"}]),
        r"to be a code such as 'en' or 'de' that can be told from the others, found 'xx'$",
    ),
    (
        example(
            ["keywords:letter_frequency"],
            [{"letter": "ab", "let_frequency": 1, "let_relation": "at least"}],
        ),
        r"to be a single character, found 'ab'$",
    ),
    (
        example([], []),
        r"^example 1000: expected at least one id in instruction_id_list, found none",
    ),
    (example(COMMA, [{}]), r"expected instruction_id_list to be a list, found 'punctuation:no_com"),
    (example([COMMA], {}), r"expected kwargs to be a list, found \{\}$"),
    (example([COMMA], ["x"]), r"expected kwargs\[0\] to be a table of values, found 'x'$"),
    (example([COMMA], [{}], prompt=3), r"^example 1000: expected prompt to be a text .*found 3$"),
    (example([COMMA], [{}], prompt=" "), r"prompt to be a text that is not empty, found ' '$"),
    (
        {"key": 1, "prompt": "Do.", "instruction_ids": [COMMA], "kwargs": [{}]},
        r"^example 1: expected a column instruction_id_list, found key, prompt, instruction_ids, "
        r"kwargs\. Did you mean 'instruction_ids'\?$",
    ),
]


@pytest.mark.parametrize(("given", "line"), WRONG)
def test_a_wrong_example_is_one_line(given: dict[str, Any], line: str) -> None:
    with pytest.raises(DataError, match=line) as error:
        constraints(given)
    assert "\n" not in str(error.value)


def test_a_long_wrong_value_is_cut() -> None:
    with pytest.raises(DataError, match=r"found 'x{59}\.\.\.") as error:
        constraints(example(["x" * 5000], [{}]))
    assert len(str(error.value)) < 200
