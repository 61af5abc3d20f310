import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.artifact import Artifact

texts = st.dictionaries(st.text(min_size=1), st.text(), min_size=1, max_size=4)


@given(texts)
def test_the_hash_does_not_depend_on_the_order_of_components(components: dict[str, str]) -> None:
    backwards = dict(reversed(list(components.items())))
    assert Artifact(components).hash == Artifact(backwards).hash
    assert Artifact(components) == Artifact(backwards)


@given(texts, texts)
def test_artifacts_are_equal_iff_their_texts_are(a: dict[str, str], b: dict[str, str]) -> None:
    assert (Artifact(a) == Artifact(b)) == (a == b)


def test_an_empty_artifact_is_refused() -> None:
    with pytest.raises(TypeError, match="at least one component, got an empty mapping"):
        Artifact({})


def test_a_component_that_is_not_text_is_named() -> None:
    with pytest.raises(TypeError, match="'system': int"):
        Artifact({"system": 3})  # type: ignore[dict-item]


def test_a_diff_names_the_component_and_shows_both_sides() -> None:
    diff = Artifact({"system": "a\nb"}).diff(Artifact({"system": "a\nc"}))
    assert "-b" in diff
    assert "+c" in diff
    assert "system" in diff
