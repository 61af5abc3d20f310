import pytest

from flashevolve.workloads.ifbench.checkers import counts
from tests.workloads.ifbench.checkers.cases import Case, assert_right

FIVE = {f"keyword{n}": word for n, word in enumerate(("oak", "elm", "fir", "ash", "yew"), start=1)}
TREES = "Oak elm elm fir fir fir " + "ash " * 5 + "yew " * 7

CASES = [
    Case(
        "count:word_count_range",
        {"min_words": 3, "max_words": 4},
        ("Snow is cold.", "Don't eat snow"),
        {"Snow falls.": "it has 2", "I don't eat snow": "it has 5"},
    ),
    Case(
        "count:unique_word_count",
        {"N": 3},
        ("Snow, snow is cold",),
        {'Snow, snow! "Snow" is.': "it uses 2"},
    ),
    Case(
        "count:conjunctions",
        {"small_n": 2},
        ("Snow and ice, but no rain", "And so on"),
        {"Snow and ice and rain": "it uses 1", "Band sorted": "it uses 0"},
    ),
    Case(
        "count:person_names",
        {"N": 2},
        ("Emma met Liam.", "Emma's Leonard"),
        {"Emma met Emma and Bob.": "it mentions 1", "emma met liam": "it mentions 0"},
    ),
    Case(
        "count:numbers",
        {"N": 2},
        ("3 of 1,000.5", "a1b2", "10-12 and 7"),
        {"None": "it has 0", "1 2 3": "it has 3"},
    ),
    Case(
        "count:punctuation",
        {},
        ("a. b, c! d? e; f: g?!", ".,!;?:‽", ".,!?;: a!?"),
        {
            "a. b, c! d? e; f:": "it lacks ?!",
            ".,;:?!": "it lacks ! ?",
            "a": "it lacks . , ! ? ; : ?!",
        },
    ),
    Case(
        "count:words_japanese",
        {"N": 2},
        ("hello 本 world テスト。", "one 2 three !", "one"),
        {"hello there world 本": "1 of 2 are not"},
    ),
    Case(
        "count:pronouns",
        {"N": 3},
        ("I gave him/her a book", "It, it. IT!"),
        {"I gave him a book": "it has 2", "Itself theres shes": "it has 1"},
    ),
    Case(
        "count:keywords_multiple",
        FIVE,
        (TREES, TREES.upper(), TREES.replace("Oak", "Soaked")),
        {TREES + "oak": "they occur 2, 2, 3, 5, 7 times", "oak": "they occur 1, 0, 0, 0, 0 times"},
    ),
    Case(
        "ratio:stop_words",
        {"percentage": 50},
        ("The snow", "Snow falls", "The snow isn't cold today, dear"),
        {"The snow is": "67 % are", "!": "100 % are"},
    ),
    Case("ratio:stop_words", {"percentage": 100}, ("the",), {"!": "100 % are"}),
    Case(
        "ratio:sentence_type",
        {},
        ("It snows. It is cold. Is it?", "Snow"),
        {"It snows. Is it?": "there are 1 and 1", "It is 3.5 cm.": "there are 1 and 0"},
    ),
    Case(
        "ratio:sentence_balance",
        {},
        ("It snows. Is it? It is!", 'I say "yes." He says "no?" We say "so!"'),
        {"It snows. Is it?": "there are 1, 1 and 0"},
    ),
    Case(
        "ratio:overlap",
        {"reference_text": "snow falls", "percentage": 50},
        ("snowy?",),
        {"snow": "100 % are", "xyz": "0 % are"},
    ),
    Case(
        "ratio:overlap",
        {"reference_text": "snow falls", "percentage": 0},
        ("xyz",),
        {"ab": "0 % are"},
    ),
    Case(
        "ratio:sentence_words",
        {},
        ("It is. We do! So we?",),
        {
            "It is. We do! So?": "they have these numbers of characters: 6, 6, 3",
            "It is. We do!": "they have these numbers of characters: 6, 6",
        },
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_answers_are_told_apart(case: Case) -> None:
    assert_right(case)


def test_each_checker_has_a_case() -> None:
    assert {case.id for case in CASES} == set(counts.CHECKERS)
