import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.simulate.statements import read, relatedness, split, statement, stem


def test_a_text_is_split_into_sentences_and_list_lines() -> None:
    text = "# Rules\n- Be calm. Be brief!\n2. Do it (now).\n\n---\n"
    assert split(text) == ("Rules", "Be calm.", "Be brief!", "Do it (now).")


def test_quotes_and_initials_do_not_end_a_sentence() -> None:
    text = 'Begin with "Stop. Look." and go on. A P.S. must follow.'
    assert split(text) == ('Begin with "Stop. Look." and go on.', "A P.S. must follow.")


@pytest.mark.parametrize("named", ['"* "', "'*'", "`*`", "an asterisk", "*"])
def test_a_sign_may_be_quoted_or_named(named: str) -> None:
    said = statement(f"Start bullets with {named} always.")
    assert [one.strip() for one in said.literals] == ["*"]


def test_apostrophes_do_not_quote() -> None:
    assert statement("Don't forget the reader's time or the dog's.").literals == ()


def test_numbers_may_be_words_and_literals_are_none() -> None:
    assert statement('Use three bullets, "4 ways", and repeat twice.').numbers == ("3", "2")


@pytest.mark.parametrize(
    ("one", "other"), [("begins", "beginning"), ("titles", "title"), ("separated", "separates")]
)
def test_forms_of_a_word_share_a_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_synonyms_for_parts_of_a_text_are_related_and_strangers_are_not() -> None:
    title, heading = statement("Add a title."), statement("Headings are short.")
    assert relatedness(title, heading) >= 0.5
    assert relatedness(title, statement("Avoid commas.")) == 0


@given(st.text(max_size=200))
def test_any_text_can_be_read_and_relates_to_itself_at_most_fully(text: str) -> None:
    for said in read(text):
        assert relatedness(said, said) in (0.0, pytest.approx(1.0))


@pytest.mark.parametrize("text", ["Meet me @5pm.", "@21savage sang.", "A@2", "@0 and @1"])
def test_an_at_sign_of_the_text_is_no_placeholder(text: str) -> None:
    said = statement(text)
    assert said.literals == ()
    assert "@" not in said.normal


def test_an_at_sign_may_be_a_literal() -> None:
    assert statement('Begin each line with "@1".').literals == ("@1",)


def test_a_null_character_neither_hides_nor_splits_anything() -> None:
    assert split('\x001\x00 Say "a. B" twice.') == ('1 Say "a. B" twice.',)


@pytest.mark.parametrize("ending", ["", "th"])
def test_a_number_of_thousands_of_digits_is_read_as_a_large_one(ending: str) -> None:
    assert "999999999" in statement(f"Write {'8' * 5000}{ending} words.").normal
    assert statement("Write 123456789 words.").numbers == ("123456789",)


def test_of_an_overlong_statement_the_rest_is_not_read() -> None:
    assert len(statement('"a" ' * 100_000).normal) <= 4_000
