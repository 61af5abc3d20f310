import pytest

from tests.workloads.instructions.checked import passes, says

PLACEHOLDERS, POSTSCRIPT = "detectable_content:number_placeholders", "detectable_content:postscript"
BULLETS, CHOICE = "detectable_format:number_bullet_lists", "detectable_format:constrained_response"
HIGHLIGHTS = "detectable_format:number_highlighted_sections"
SECTIONS, JSON = "detectable_format:multiple_sections", "detectable_format:json_format"
TITLE = "detectable_format:title"


def test_placeholders_stand_in_square_brackets() -> None:
    assert passes(PLACEHOLDERS, "Dear [name], [your address] []", num_placeholders=3)
    assert says(PLACEHOLDERS, "Dear [na\nme] <x>", num_placeholders=1) == (
        "There must be at least 1 placeholder in square brackets, such as [address]; 0 were found."
    )


@pytest.mark.parametrize(
    ("marker", "answer", "met"),
    [
        ("P.S.", "Bye.\n\np. s. more", True),
        ("P.S.", "Bye.\n\nPS more", False),
        ("P.P.S", "Bye. P. P. S more", True),
        ("P.P.S", "Bye. P.S. more", False),
        ("Note:", "Bye. note: more", True),
        ("(N.B.)", "Bye. (nxbx)", False),
    ],
)
def test_a_postscript_is_known_by_its_marker(marker: str, answer: str, met: bool) -> None:
    assert passes(POSTSCRIPT, answer, postscript_marker=marker) is met


def test_the_postscript_s_marker_is_told() -> None:
    assert says(POSTSCRIPT, "Bye.", postscript_marker="P.S.") == (
        'The answer must have a postscript at its end that begins with "P.S."; that marker was '
        "not found."
    )


@pytest.mark.parametrize(
    ("answer", "n"),
    [
        ("* one\n* two", 2),
        ("- one\n  - two\n* three", 3),
        ("**bold** line\n*single", 1),
        ("• one\n1. two\n+ three", 0),
        ("* one\n\n---\n* two", 3),
        ("* one\r\n* two\r\n", 2),
        ("*\n* one\n*", 1),
    ],
)
def test_bullet_lines_begin_with_an_asterisk_or_a_hyphen(answer: str, n: int) -> None:
    assert passes(BULLETS, answer, num_bullets=n)
    assert not passes(BULLETS, answer, num_bullets=n + 1)


def test_the_bullets_marker_is_told() -> None:
    assert says(BULLETS, "• one", num_bullets=1) == (
        'There must be exactly 1 bullet line, each beginning with "* " or "- ", and every line '
        "that begins with one of these signs counts; 0 were found."
    )


def test_one_of_three_sentences_is_to_be_chosen() -> None:
    assert passes(CHOICE, "Well. My answer is maybe.")
    assert not passes(CHOICE, "my answer is maybe")
    assert says(CHOICE, "Yes.") == (
        'The answer must contain one of the sentences "My answer is yes.", "My answer is no.", '
        '"My answer is maybe." with these very letters; none of them was found.'
    )


@pytest.mark.parametrize(
    ("answer", "n"),
    [
        ("*one* and *two*", 2),
        ("**one** and *two*", 2),
        ("*one\ntwo*", 0),
        ("** ** and * *", 0),
        ("***one***", 2),
    ],
)
def test_highlights_stand_between_asterisks_on_one_line(answer: str, n: int) -> None:
    assert passes(HIGHLIGHTS, answer, num_highlights=n)
    assert not passes(HIGHLIGHTS, answer, num_highlights=n + 1)


def test_the_highlight_s_mark_is_told() -> None:
    assert says(HIGHLIGHTS, "_one_", num_highlights=1) == (
        "At least 1 passage must be highlighted with an asterisk on both sides, such as *this "
        "passage*; 0 were found."
    )


def test_sections_have_a_name_and_a_number() -> None:
    values = {"section_spliter": "SECTION", "num_sections": 2}
    assert passes(SECTIONS, "SECTION 1\na\nSECTION2: b", **values)
    assert says(SECTIONS, "Section 1\nSECTION X", **values) == (
        'There must be at least 2 sections, each opened by the name "SECTION", spelled like that, '
        'and its number, such as "SECTION 1"; 0 were found.'
    )
    assert not passes(SECTIONS, "Day 1 Day 2", section_spliter="D.y", num_sections=1)


@pytest.mark.parametrize(
    ("answer", "met"),
    [
        ('{"a": 1}', True),
        ('```json\n{"a": 1}\n```', True),
        ("```\n[1]\n```", True),
        ("12", True),
        ('Here: {"a": 1}', False),
        ("{'a': 1}", False),
        ("[" * 100_000, False),
    ],
)
def test_the_whole_answer_is_json(answer: str, met: bool) -> None:
    assert passes(JSON, answer) is met


def test_json_is_told_to_stand_alone() -> None:
    assert says(JSON, "no") == (
        "The whole answer must be valid JSON with nothing before or after it but a fence of three "
        "backticks; it is not."
    )


def test_a_title_stands_in_double_angular_brackets() -> None:
    assert passes(TITLE, "Hello\n<<The joy of snow>>\nText")
    assert not passes(TITLE, "<<a\nb>>")
    assert not passes(TITLE, "<< >>")
    assert says(TITLE, "# Snow") == (
        "The answer must have a title in double angular brackets on one line, such as "
        "<<the title>>; none was found."
    )
