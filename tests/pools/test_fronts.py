from hypothesis import given
from hypothesis import strategies as st

from flashevolve.artifact import Artifact
from flashevolve.candidate import Candidate
from flashevolve.pools.fronts import FrontIndex

ROWS = st.lists(
    st.dictionaries(st.sampled_from("abc"), st.sampled_from([0.0, 0.5, 1.0])), max_size=5
)


def candidates(rows: list[dict[str, float]]) -> list[Candidate]:
    return [Candidate(id=i, artifact=Artifact({"t": str(i)}), scores=r) for i, r in enumerate(rows)]


@given(ROWS, st.randoms(use_true_random=False))
def test_fronts_follow_from_the_candidates_whatever_their_order(rows, random) -> None:  # type: ignore[no-untyped-def]
    given = candidates(rows)
    index, shuffled = FrontIndex(), FrontIndex()
    for candidate in given:
        index.join(candidate)
    random.shuffle(given)
    for candidate in given:
        shuffled.join(candidate)
    assert list(index.fronts.items()) == list(shuffled.fronts.items())
    assert list(index.tops.items()) == list(shuffled.tops.items())


@given(ROWS, ROWS)
def test_guests_are_shown_and_do_not_join(
    rows: list[dict[str, float]], more: list[dict[str, float]]
) -> None:
    everyone = candidates([*rows, *more])
    members, guests = everyone[: len(rows)], everyone[len(rows) :]
    index, together = FrontIndex(), FrontIndex()
    for candidate in members:
        index.join(candidate)
    for candidate in everyone:
        together.join(candidate)
    before = dict(index.fronts)
    assert index.with_guests(guests) == together.fronts
    assert index.fronts == before
