import pytest

from flashevolve.workloads.instructions.further import layout
from tests.workloads.instructions.further.cases import Case, holds

TABLE = "| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3 | 4 |"

CASES = [
    Case(
        "layout:numbered",
        {"n": 2},
        ["1. One.\n2. Two.", "A list:\n1. One.\nmore\n2. Two."],
        ["1. One.", "2. Two.\n1. One.", "1) One.\n2) Two.", "1. One.\n2. Two.\n3. Three."],
        r'exactly 2 numbered lines that begin with "1. ", "2. ".*; \d numbered lines?',
    ),
    Case(
        "layout:headings",
        {"n": 2},
        ["## One\nText.\n## Two\nText."],
        ["## One\nText.", "# One\nText.\n# Two\nText.", "##One\n##Two", "## \n## One"],
        r'exactly 2 headings and each heading line must begin with "## "; [01] such',
    ),
    Case(
        "layout:bold",
        {"n": 2},
        ["A **big** and **red one**."],
        ["A *big* and *red* one.", "A **big** one.", "**** and ** **", "**big"],
        r'At least 2 phrases must be bold, each between "\*\*" and "\*\*"; [01] were',
    ),
    Case(
        "layout:lines",
        {"n": 2},
        ["One\n\nTwo\n", "One\nTwo"],
        ["One Two", "One\nTwo\nThree"],
        "exactly 2 lines and empty lines do not count; it has [013] lines?",
    ),
    Case(
        "layout:code_block",
        {},
        ["```\nText.\n```", "```text\nOne.\n\nTwo.\n```\n"],
        ["Text.", "See:\n```\nText.\n```", "```\n \n```", "```\na\n```\nb\n```\nc\n```", "```a```"],
        'in one code block, with a line "```" before it and a line "```" after it',
    ),
    Case(
        "layout:tag",
        {"tag": "note"},
        ["<note>Text.</note>", " <note>\nText.\n</note>\n"],
        ["Text.", "<note>Text.", "<note></note>", "<Note>Text.</Note>", "A <note>text</note>"],
        'between "<note>" and "</note>"',
    ),
    Case(
        "layout:quote_lines",
        {},
        ["> One.\n> Two.", "> One.\n\n> Two."],
        ["> One.\nTwo.", ">One.", "> \n> One."],
        r'Every line must begin with "> "; \d of \d lines',
    ),
    Case(
        "layout:table",
        {"columns": 2},
        [TABLE, f"Text:\n\n{TABLE}\n\nMore."],
        [
            TABLE.rpartition("\n")[0],
            TABLE.replace("|---|:-:|\n", ""),
            "| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n| 3 | 4 | 5 |",
            TABLE.replace("| 3 | 4 |", "| 3 |"),
            TABLE.replace("\n", "\n\n"),
        ],
        "a Markdown table with 2 columns.* and at least 2 rows; no such table",
    ),
    Case(
        "layout:sentence_lines",
        {},
        ["One is.\nTwo is!", "One is.\n\nTwo is."],
        ["One is. Two is.", "One is.", "One\nis.\nTwo is.", "One is.\nTwo is. Three is."],
        r"Every sentence must stand on its own line; \d sentences? on \d lines? w",
    ),
    Case(
        "layout:indent",
        {},
        ["One\n Two\n  Three", " One\n  Two\n   Three\n    Four"],
        ["One\n Two", "One\nTwo\nThree", "One\n  Two\n    Three"],
        "at least 3 lines and every line must begin with one more space",
    ),
    Case(
        "repeats:answer",
        {},
        ["One.\nTwo.\n---\nOne.\nTwo.", "One.\n\n---\n\nOne.\n"],
        ["One.\nOne.", "One.\n---\nTwo.", "One. --- One.", "One.\n---\nOne.\n---\nOne.", "---"],
        'given twice without change, with a line "---" between; no such',
    ),
]


def test_every_checker_has_a_case() -> None:
    assert {case.kind for case in CASES} == set(layout.CHECKERS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_a_checker_passes_good_answers_and_states_its_rule_on_bad_ones(case: Case) -> None:
    holds(case)
