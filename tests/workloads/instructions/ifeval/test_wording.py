import pytest

from tests.workloads.instructions.checked import passes, says

EXISTENCE, FREQUENCY = "keywords:existence", "keywords:frequency"
FORBIDDEN, LETTERS = "keywords:forbidden_words", "keywords:letter_frequency"
LANGUAGE, CAPITALS = "language:response_language", "change_case:capital_word_frequency"
UPPER, LOWER = "change_case:english_capital", "change_case:english_lowercase"
COMMA = "punctuation:no_comma"


def test_keywords_are_found_in_any_case_and_inside_of_words() -> None:
    assert passes(EXISTENCE, "A Lantern and some Coppery light.", keywords=["lantern", "copper"])
    assert not passes(EXISTENCE, "A lantern.", keywords=["lantern", "copper"])


def test_keywords_are_plain_text_and_no_pattern() -> None:
    assert passes(EXISTENCE, "I know C++ (a bit).", keywords=["c++", "(a"])
    assert not passes(EXISTENCE, "axb", keywords=["a.b"])
    assert passes(FORBIDDEN, "axb", forbidden_words=["a.b"])


def test_missing_keywords_are_named() -> None:
    assert says(EXISTENCE, "A door.", keywords=["lantern", "door", "key"]) == (
        'The answer must contain each of "lantern", "door" and "key", in any case; '
        'it lacks "lantern" and "key".'
    )


@pytest.mark.parametrize(
    ("answer", "relation", "frequency", "met"),
    [
        ("war, War and warfare", "at least", 3, True),
        ("war, War and warfare", "at least", 4, False),
        ("war, War and warfare", "less than", 4, True),
        ("war, War and warfare", "less than", 3, False),
        ("peace", "less than", 1, True),
    ],
)
def test_a_keyword_is_counted(answer: str, relation: str, frequency: int, met: bool) -> None:
    values = {"keyword": "war", "frequency": frequency, "relation": relation}
    assert passes(FREQUENCY, answer, **values) is met


def test_the_keyword_s_count_is_told_with_the_rule() -> None:
    assert says(FREQUENCY, "war", keyword="war", frequency=2, relation="at least") == (
        'The text "war" must appear at least 2 times, in any case and also inside of longer '
        "words; it appears 1 time."
    )


def test_forbidden_words_are_whole_words() -> None:
    assert passes(FORBIDDEN, "A fielder is thankful.", forbidden_words=["field", "thanks"])
    assert says(FORBIDDEN, "A Field, thanks!", forbidden_words=["field", "thanks"]) == (
        'None of the words "field" and "thanks" may appear, in any case; "field" and "thanks" do.'
    )


def test_letters_and_signs_are_counted_in_both_cases() -> None:
    assert passes(LETTERS, "Oh no, Otto", letter="o", let_frequency=4, let_relation="at least")
    assert passes(LETTERS, "#a #b", letter="#", let_frequency=2, let_relation="at least")
    assert passes(LETTERS, "Äpfel", letter="ä", let_frequency=1, let_relation="at least")
    assert says(LETTERS, "to", letter="T", let_frequency=1, let_relation="less than") == (
        'The letter "T" must appear less than 1 time, counted in both cases; it appears 1 time.'
    )


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "The museum opens at nine, and the children like the old trains most of all."),
        ("de", "Das Museum öffnet um neun, und die Kinder mögen vor allem die alten Züge."),
        ("fr", "Le musée ouvre à neuf heures et les enfants aiment surtout les vieux trains."),
        ("kn", "ವಸ್ತುಸಂಗ್ರಹಾಲಯ ಒಂಬತ್ತು ಗಂಟೆಗೆ ತೆರೆಯುತ್ತದೆ."),
        ("bn", "জাদুঘর নয়টায় খোলে এবং শিশুরা পুরানো ট্রেন পছন্দ করে।"),
        ("ne", "संग्रहालय नौ बजे खुल्छ र बालबालिकालाई पुराना रेल मन पर्छ।"),
        ("mr", "संग्रहालय नऊ वाजता उघडते आणि मुलांना जुन्या गाड्या आवडतात."),
    ],
)
def test_languages_are_told_apart(code: str, text: str) -> None:
    assert passes(LANGUAGE, text, language=code)
    assert not passes(LANGUAGE, text, language="pt")


def test_a_wrong_language_is_named() -> None:
    text = "The museum opens at nine, and the children like the old trains."
    assert says(LANGUAGE, text, language="de") == (
        "The whole answer must be written in German and in no other language; it reads as English."
    )


def test_a_text_without_a_language_passes_as_in_the_benchmark() -> None:
    assert passes(LANGUAGE, "12 345", language="de")


def test_words_in_capitals_are_counted() -> None:
    values = {"capital_frequency": 3, "capital_relation": "at least"}
    assert passes(CAPITALS, "I saw DON'T, and/or U.S.A. (B2)", **values)
    assert not passes(CAPITALS, "I saw Rome, A and 12", **values)
    assert not passes(CAPITALS, "DON'T AND/OR", **values)
    assert says(CAPITALS, "STOP", capital_frequency=1, capital_relation="less than") == (
        "The number of words all in capital letters must be less than 1, where words of one "
        "letter such as I count; it is 1."
    )


def test_an_answer_in_capitals_is_english_and_has_no_small_letter() -> None:
    assert passes(UPPER, "THE CHILDREN LIKE THE OLD TRAINS.\n* AND 12 OF THEM MORE")
    assert says(UPPER, "THE CHILDREN LIKE THE OLD TRAINS very") == (
        "The answer must be in English and every letter must be a capital letter; "
        "it has 4 small letters."
    )
    assert says(UPPER, "DIE KINDER MÖGEN VOR ALLEM DIE ALTEN ZÜGE.") == (
        "The answer must be in English and every letter must be a capital letter; "
        "it reads as German."
    )
    assert says(UPPER, "12").endswith("; it has no letter.")


def test_an_answer_in_small_letters_is_english_and_has_no_capital() -> None:
    assert passes(LOWER, "the children like the old trains. i do too.")
    assert says(LOWER, "The children like the old trains.") == (
        "The answer must be in English and every letter must be a small letter; "
        "it has 1 capital letter."
    )
    assert not passes(LOWER, "die kinder mögen vor allem die alten züge.")


def test_no_comma_means_the_comma_alone() -> None:
    assert passes(COMMA, "one; two、three")
    assert says(COMMA, "1,000, or so") == "The answer must contain no comma at all; it has 2."
