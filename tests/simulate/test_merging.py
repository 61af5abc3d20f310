import random
from dataclasses import replace
from statistics import fmean

from hypothesis import given
from hypothesis import strategies as st

from flashevolve.simulate.attention import ReaderParameters
from flashevolve.simulate.merging import COMPARING, join, merge
from tests.simulate.instructing import FLAWLESS
from tests.simulate.usual import USUAL, reader_with

PLACES = ["garden", "harbour", "market", "bridge", "library", "station", "museum", "theatre"]
DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
FACTS = [f"The {place} closes on {day}." for place in PLACES for day in DAYS]
DEFAULT = USUAL


def n_kept(texts: list[str], parameters: ReaderParameters, n_draws: int = 100) -> float:
    """Returns how many of the statements come through, on average."""
    said = {line for text in texts for line in text.splitlines()}
    merged = (merge(texts, random.Random(f"draw {k}"), parameters) for k in range(n_draws))
    return fmean(len(said.intersection(text.splitlines())) for text in merged)


def test_a_flawless_merge_says_everything_once() -> None:
    one, other = "\n".join(FACTS[:5]), "\n".join(FACTS[3:8])
    assert merge([one, other], random.Random(1), FLAWLESS).splitlines() == FACTS[:8]


def test_two_wordings_of_one_statement_join_in_the_more_frequent_one() -> None:
    usual, other = "Bullets begin with an asterisk.", "Every bullet must begin with an asterisk."
    (point,) = join([other, usual, usual])
    assert point.said == usual


def test_what_is_said_more_often_is_likelier_kept() -> None:
    texts = ["\n".join([FACTS[0], *FACTS[k : k + 8]]) for k in range(1, 41, 8)]
    merged = [merge(texts, random.Random(f"draw {k}"), FLAWLESS) for k in range(200)]
    often = sum(FACTS[0] in text for text in merged)
    once = sum(FACTS[1] in text for text in merged)
    assert often > 180
    assert once < 120


def test_with_boundless_capacity_and_no_omission_nothing_is_lost() -> None:
    boundless = replace(FLAWLESS, capacity_statements=1_000)
    assert merge(FACTS, random.Random(1), boundless).splitlines() == FACTS


def test_overload_loses_statements_and_merging_in_groups_loses_fewer() -> None:
    texts = ["\n".join(FACTS[k : k + 3]) for k in range(0, 54, 3)]
    at_once = n_kept(texts, DEFAULT)
    assert at_once < n_kept(texts[:6], DEFAULT)

    def in_groups(draw: int) -> str:
        rng = random.Random(f"draw {draw}")
        firsts = [merge(texts[k : k + 3], rng, DEFAULT) for k in range(0, 18, 3)]
        seconds = [merge(firsts[k : k + 2], rng, DEFAULT) for k in range(0, 6, 2)]
        return "\n".join(seconds)

    known = set(FACTS)
    grouped = fmean(len(known.intersection(in_groups(k).splitlines())) for k in range(100))
    assert grouped > at_once + 10


def test_omission_and_misreading_reach_a_merge() -> None:
    texts = ["\n".join(FACTS[:4]), "\n".join(FACTS[4:8])]
    assert n_kept(texts, FLAWLESS) == 8
    assert 5.5 < n_kept(texts, replace(FLAWLESS, omission_rate=0.2)) < 7.2
    assert 5.5 < n_kept(texts, replace(FLAWLESS, misread_rate=0.2)) < 7.2


@given(st.lists(st.sampled_from(FACTS), min_size=1), st.integers(min_value=1, max_value=12))
def test_a_merge_says_nothing_twice_and_no_more_than_it_has_room_for(
    facts: list[str], capacity: int
) -> None:
    parameters = replace(FLAWLESS, capacity_statements=capacity)
    merged = merge(facts, random.Random(1), parameters).splitlines()
    assert len(merged) == len(set(merged)) == min(len(set(facts)), COMPARING * capacity)
    assert set(merged) <= set(facts)


def test_a_merge_always_holds_a_text() -> None:
    assert merge(FACTS[:2], random.Random(1), reader_with(omission_rate=1)) in FACTS[:2]
