import random
import re

import pytest

from flashevolve.errors import DataError
from flashevolve.workloads.retrieval.made import Made
from flashevolve.workloads.retrieval.vocabulary import SPLITS

TRAIN = SPLITS["train"]


def test_each_page_of_a_chain_names_the_next_one() -> None:
    made = Made(TRAIN, random.Random(1), 0.5)
    for _ in range(50):
        chain = made.chain()
        titles = [page.title for page in chain.pages]
        assert titles == [chain.work, chain.person, chain.town, chain.river]
        for page, following in zip(chain.pages, titles[1:], strict=False):
            assert any(sentence.endswith(f"{following}.") for sentence in page.sentences)
        later = " ".join(" ".join(page.sentences) for page in chain.pages[1:])
        assert chain.work not in later


def test_no_title_is_drawn_twice() -> None:
    made = Made(TRAIN, random.Random(1), 1.0)
    chains = [made.chain() for _ in range(200)]
    titles = [page.title for chain in chains for page in chain.pages]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("difficulty", [0.0, 0.25, 0.5, 1.0])
def test_difficulty_is_the_share_of_pages_with_the_name_and_leaves_fewer_families(
    difficulty: float,
) -> None:
    made = Made(TRAIN, random.Random(1), difficulty)
    chain = made.chain()
    pages = made.distracting([chain.pages[1]], 8)
    assert len({page.title for page in pages}) == 8
    alike = [page for page in pages if page.title.startswith(chain.person)]
    assert len(alike) == 8 * difficulty
    assert chain.pages[1] not in pages
    families = {made.chain().person.split()[1] for _ in range(300)}
    assert len(families) <= 200 - 190 * difficulty


@pytest.mark.parametrize("difficulty", [-0.1, 1.1, float("nan")])
def test_a_difficulty_out_of_range_is_refused(difficulty: float) -> None:
    with pytest.raises(DataError, match=r"^expected a difficulty from 0 to 1, found "):
        Made(TRAIN, random.Random(1), difficulty)


def test_names_that_are_used_up_are_one_line() -> None:
    made = Made(TRAIN, random.Random(1), 1.0)
    with pytest.raises(DataError, match=r"^expected names for so many examples, .*ask for fewer"):
        [made.chain() for _ in range(20_000)]


def test_the_splits_share_no_syllable_no_year_and_no_word_that_answers() -> None:
    seen: set[str] = set()
    for words in SPLITS.values():
        own = {*words.syllables.split(), *words.occupations, *words.instruments, *words.products}
        own |= {*words.honours, *map(str, words.years)}
        own |= {part for m in words.makings for part in (m.kind, m.verb, m.role)}
        assert all(re.fullmatch("[a-z]{3}", syllable) for syllable in words.syllables.split())
        assert not own & seen
        seen |= own
