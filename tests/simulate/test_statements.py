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
