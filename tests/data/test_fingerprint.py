import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.data.fingerprint import content_id, fingerprint
from flashevolve.task import Example


def example(id: str, **data: object) -> Example:
    return Example(id=id, data=data)


def test_a_fingerprint_depends_on_ids_contents_and_order_and_on_nothing_else() -> None:
    one = fingerprint([example("a", x=1, y=2), example("b", x=3)])
    assert one == fingerprint([example("a", y=2, x=1), example("b", x=3)])
    assert one["n"] == 2
    for other in (
        [example("b", x=3), example("a", x=1, y=2)],
        [example("a", x=1, y=2), example("b", x=4)],
        [example("a", x=1, y=2), example("c", x=3)],
        [example("a", x=1, y=2)],
    ):
        assert fingerprint(other) != one


def test_values_that_are_not_json_count_by_their_type() -> None:
    assert fingerprint([example("a", x=object())]) == fingerprint([example("a", x=object())])
    assert fingerprint([example("a", x=object())]) != fingerprint([example("a", x={1})])


@given(st.dictionaries(st.text(), st.integers() | st.text(), min_size=1))
def test_a_content_id_ignores_the_order_of_keys(data: dict[str, object]) -> None:
    assert content_id(data) == content_id(dict(reversed(data.items())))
    assert content_id(data) != content_id({**data, next(iter(data)): [0]})


def test_content_that_is_not_json_has_no_content_id() -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        content_id({"x": object()})
