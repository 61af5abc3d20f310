import re

from tests.simulate.writing.written import written

SENTENCE = re.compile(r"[^.!?]+[.!?]")


def sentences(text: str) -> list[str]:
    return [one.strip() for one in SENTENCE.findall(text)]


def test_keywords_replace_other_words() -> None:
    text = written('Write exactly 30 words. Include the keywords "fox" and "old oak" twice.')
    assert len(text.split()) == 30
    assert text.lower().count("fox") == text.lower().count("old oak") == 2


def test_what_comes_first_comes_first() -> None:
    for draw in range(20):
        text = written('Mention "fox" before "hen".', draw=draw)
        assert -1 < text.find("fox") < text.find("hen")


def test_every_sentence_holds_the_word_and_starts_and_ends_as_wanted() -> None:
    request = (
        'Use the word "fox" in every sentence. Start every sentence with the letter "s". '
        "End every sentence with an exclamation mark."
    )
    for one in sentences(written(request)):
        assert "fox" in one
        assert one[0] == "S"
        assert one[-1] == "!"


def test_exactly_so_many_sentences_ask() -> None:
    text = written("Write exactly 5 sentences. Ask exactly 2 questions.")
    assert [one[-1] for one in sentences(text)].count("?") == 2
    assert len(sentences(text)) == 5


def test_letters_are_spelled_often_or_not_at_all() -> None:
    assert written('Use the letter "q" at least 9 times.').lower().count("q") >= 9
    for letter in "aeiosth":
        text = written(f'Do not use the letter "{letter}".')
        assert letter not in text.lower()
        assert len(text.split()) > 20


def test_the_last_word_is_the_last() -> None:
    assert written('The last word must be "fox".').endswith("fox.")


def test_a_paragraph_starts_with_its_word() -> None:
    request = 'Write 3 paragraphs with an empty line between them and start the second with "fox".'
    assert [part.startswith("Fox ") for part in written(request).split("\n\n")] == [
        False, True, False,
    ]  # fmt: skip


def test_semicolons_are_set_and_commas_are_not_where_they_are_banned() -> None:
    text = written("Use at least 4 semicolons. Avoid commas.")
    assert text.count(";") == 4
    assert "," not in text


def test_an_acrostic_spells_its_word() -> None:
    lines = written('Write an acrostic of the word "stone".').splitlines()
    assert "".join(line[0] for line in lines).lower() == "stone"
