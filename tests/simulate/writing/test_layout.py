import re

from hypothesis import given
from hypothesis import strategies as st

from flashevolve.simulate.writing.layout import chunks
from tests.simulate.writing.written import written


@given(st.integers(0, 40), st.integers(1, 12))
def test_chunks_cover_all_in_order(n: int, n_parts: int) -> None:
    parts = chunks(n, n_parts)
    assert [i for part in parts for i in part] == list(range(n))
    assert len(parts) == n_parts
    assert n < n_parts or all(parts)


def test_lists_are_marked_line_by_line() -> None:
    bullets = written('Give 4 bullet points that begin with "~ ".').splitlines()
    assert [line[:2] for line in bullets] == ["~ "] * 4
    numbered = written('Number 3 points, as in "1) ".').splitlines()
    assert [line[:3] for line in numbered] == ["1) ", "2) ", "3) "]


def test_bullets_may_stand_in_the_last_paragraph() -> None:
    text = written('Write 3 paragraphs divided by "***". Give 4 bullets that begin with "* ".')
    parts = text.split("\n***\n")
    assert len(parts) == 3
    assert parts[-1].count("\n* ") == 3


def test_sections_headings_and_answers_are_set_apart() -> None:
    assert re.findall(r"^Part \d$", written('Write 3 sections called "Part 1" and so on.'), re.M)
    assert written('Use 2 headings that begin with "## ".').count("## ") == 2
    assert written('Give two answers with "+++" between them.').count("\n+++\n") == 1


def test_a_text_is_given_twice_without_change() -> None:
    one, other = written('Give the whole answer twice with "---" between.').split("\n---\n")
    assert one == other


def test_a_table_has_its_columns_and_rows() -> None:
    text = written("Include a Markdown table with 3 columns and at least 2 rows.")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert {row.count("|") for row in rows} == {4}


def test_lines_are_indented_or_prefixed() -> None:
    stairs = written("Begin every line with one more space than the line above.").splitlines()
    assert [len(line) - len(line.lstrip()) for line in stairs] == list(range(len(stairs)))
    assert len(stairs) >= 3
    quoted = written('Begin every line with "> ". Write 4 lines.').splitlines()
    assert [line[:2] for line in quoted] == ["> "] * 4


def test_each_sentence_may_have_its_line() -> None:
    for line in written("Write every sentence on its own line.").splitlines():
        assert line.count(".") == 1
