import pytest

from flashevolve.workloads.ifbench.checkers import formats
from tests.workloads.ifbench.checkers.cases import Case, assert_right

CASES = [
    Case(
        "format:parentheses",
        {},
        ("a (b [c {d (e [f])}])", "a (b) ((((( c )"),
        {
            "a ((((b))))": "they are not",
            "((((( b": "they are not",
            "(((] ((( b )))": "they are not",
        },
    ),
    Case(
        "format:quotes",
        {},
        ('"a \'b "c" d\' e"',),
        {
            "\"a 'b' c\"": "the marks nest 2 deep",
            '"a \'b "c': "they are not closed",
            "plain": "the marks nest 0 deep",
        },
    ),
    Case(
        "format:options",
        {"options": "yes/no/maybe"},
        ("Yes.", "MAYBE", '"no"'),
        {"yes, no": 'it is "yes, no"', "Well, yes": 'it is "Well, yes"'},
    ),
    Case(
        "format:options",
        {"options": "I know or I don't know"},
        ("I know.", "i don't know"),
        {"I know or I don't know": 'it is "I know or I don\'t know"'},
    ),
    Case(
        "format:options",
        {"options": "a), b), c), d)"},
        ("a)", "d)"),
        {"a": 'it is "a"', "A)": 'it is "A)"'},
    ),
    Case(
        "format:newline",
        {},
        ("Snow\nis\n\ncold.", "Snow\n-\nfalls"),
        {"Snow is\ncold": "there are 3 words on 2 lines"},
    ),
    Case(
        "format:emoji",
        {},
        ("It snows 😀. Really? ☃ Yes 😀", "It snows. 😀 Really 😀!", "Good ❤️."),
        {"It snows 😀. Really.": "1 of 2 sentences do not", "Yes": "1 of 1 sentence do not"},
    ),
    Case(
        "format:line_indent",
        {},
        ("a\n b\n   c", "a\n\n b\n", "a"),
        {"a\nb": "the lines are indented by 0, 0", "  a\n b": "the lines are indented by 2, 1"},
    ),
    Case(
        "format:quote_unquote",
        {},
        ('He said "no" and went.', "No quotes", "12", 'The sign \'"\' ends "it" here'),
        {
            'He said "no".': "nothing follows the last quote",
            'He said “no”, 3 "yes"': "nothing follows the last quote",
            '"no" "yes" he said': "two quotes follow one another",
        },
    ),
    Case(
        "format:list",
        {"sep": "!?!?"},
        ("!?!? a\n!?!? b", "a!?!?b!?!?c"),
        {"- a\n!?!? b": "1 separator was found"},
    ),
    Case(
        "format:thesis",
        {},
        ("<i>Snow is cold.</i> So it is.", "Well: <em>Snow</em> melts"),
        {
            "Snow is cold": "a tag, the thesis or the text after it is missing",
            "<i>Snow</i>\n": "a tag, the thesis or the text after it is missing",
            "<i> </i> Snow": "a tag, the thesis or the text after it is missing",
            "<i>Snow": "a tag, the thesis or the text after it is missing",
        },
    ),
    Case(
        "format:sub-bullets",
        {},
        ("* a\n  - b\n* c\n  - d\n  - e", "none at all"),
        {"* a\n  - b\n* c": "1 of 2 are without", "**bold** - a": "3 of 4 are without"},
    ),
    Case(
        "format:no_bullets_bullets",
        {},
        ("It snows. It is cold.\n\n* a\n* b", "It snows.\nIt is cold.\n * a\n * b"),
        {
            "It snows.\n* a\n* b": "there are 1 sentence and 2 bullet points",
            "It snows. So.\n* a": "there are 2 sentences and 1 bullet point",
            "It snows.\n\nSo.\n* a\n* b": "there are 2 sentences and 2 bullet points, and other "
            "lines where none may be",
            "It snows. So.\n* a\n* b\nEnd.": "there are 2 sentences and 2 bullet points, and other "
            "lines where none may be",
        },
    ),
    Case(
        "format:title_case",
        {},
        ("Snow Is A Cold Thing, Of NASA.", "I Own An iPhone 3"),
        {
            "Snow Is of Ice": '1 other word was found, the first is "of"',
            "snow isn't": '3 other words were found, the first is "snow"',
        },
    ),
    Case(
        "format:output_template",
        {},
        ("My Answer: a My Conclusion: b Future Outlook: c",),
        {"My Answer: a\nFuture Outlook: c": 'it lacks "My Conclusion:"'},
    ),
    Case(
        "format:no_whitespace",
        {},
        ("Snow-is-cold.",),
        {"Snow is\n": "it has 2"},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_answers_are_told_apart(case: Case) -> None:
    assert_right(case)


def test_each_checker_has_a_case() -> None:
    assert {case.id for case in CASES} == set(formats.CHECKERS)
