from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flashevolve.pools.rows import ScoreRow

scores = st.dictionaries(st.sampled_from("abcdef"), st.floats(allow_nan=False), max_size=6)


@given(scores, scores)
def test_a_row_is_the_mapping_that_it_was_made_from(one: Any, other: Any) -> None:
    first = ScoreRow(one)
    for given_scores in (one, other):
        row = ScoreRow(given_scores, like=first)
        assert row == given_scores
        assert list(row) == sorted(given_scores)
        assert dict(row) == given_scores
        assert row.keys() == given_scores.keys()
        assert len(row) == len(given_scores)
        assert row.get("z") is None
    assert first == one


def test_rows_over_the_same_examples_share_their_ids() -> None:
    row = ScoreRow({"b": 1.0, "a": 0.5})
    assert ScoreRow({"a": 0.1, "b": 0.2}, like=row)._index is row._index
    assert ScoreRow({"a": 0.1}, like=row)._index is not row._index


def test_an_empty_row_is_false() -> None:
    assert not ScoreRow({})


def test_scores_with_few_values_take_a_byte_each_and_others_keep_their_own() -> None:
    few = ScoreRow({f"e{i:03}": i % 3 / 3 for i in range(400)})
    many = ScoreRow({f"e{i:03}": i / 7 for i in range(400)}, like=few)
    again = ScoreRow({f"e{i:03}": i % 2 / 3 for i in range(400)}, like=many)
    assert [row._values is None for row in (few, many, again)] == [True, False, True]
    assert len(few._places or b"") == 400
    assert many["e399"] == 57
    assert again["e001"] == few["e001"] == 1 / 3
