from flashevolve.simulate.statements import statement, stem
from flashevolve.simulate.terms import FAINT, KEPT, PHRASES, STOP, THESAURUS, TOPICS


def test_no_word_has_two_meanings() -> None:
    words = [word for words in THESAURUS.values() for word in words.split()]
    assert len(words) == len(set(words))


def test_what_stands_for_a_phrase_is_read_as_itself() -> None:
    for word in KEPT - {"twice"}:
        assert statement(word).normal == THESAURUS_NAMES.get(word, word)


THESAURUS_NAMES = {word: name for name, words in THESAURUS.items() for word in words.split()}


def test_a_phrase_is_not_taken_apart_again() -> None:
    for pattern, replacement in PHRASES:
        if "\\" not in replacement:
            assert pattern.sub(replacement, replacement) == replacement, pattern.pattern


def test_faint_words_and_stop_words_name_no_subject() -> None:
    for word in FAINT | set(STOP):
        assert statement(word).stems == frozenset(), word


def test_topics_are_concepts() -> None:
    known = {stem(name) for name in THESAURUS} | {stem(word) for word in KEPT}
    assert {stem(topic) for topic in TOPICS.values()} <= known | {stem("copy")}
