import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.artifact import Artifact
from flashevolve.cli.texts import MAX_WORDS, Change, changes, coloured

TEXT = st.text(alphabet="ab \n", max_size=30)


def change(old: str, new: str) -> Change:
    (only,) = changes(Artifact({"p": old}), Artifact({"p": new}), "x", "y")
    return only


def kept(lines: tuple[str, ...], mark: str) -> list[str]:
    return [line[1:] for line in lines[2:] if line[:1] in (mark, " ")]


@given(TEXT, TEXT)
def test_a_change_is_empty_exactly_if_the_texts_are_equal(old: str, new: str) -> None:
    assert bool(change(old, new).lines) == (old != new)


@given(st.lists(st.sampled_from("abc"), max_size=2), st.lists(st.sampled_from("abc"), max_size=2))
def test_short_texts_can_be_read_off_their_change(old: list[str], new: list[str]) -> None:
    made = change("\n".join(["first", *old]), "\n".join(["first", *new]))
    if made.lines:
        assert kept(made.lines, "-") == ["first", *old]
        assert kept(made.lines, "+") == ["first", *new]
        assert (made.added, made.removed) == (
            sum(line.startswith("+") for line in made.lines[2:]),
            sum(line.startswith("-") for line in made.lines[2:]),
        )


def test_a_line_feed_at_the_end_counts_only_if_nothing_else_differs() -> None:
    assert change("a\n", "a\nb").lines[2:] == ("@@ -1 +1,2 @@", " a", "+b")
    assert change("a\n", "a").lines[2:] == ("@@ -1,2 +1 @@", " a", "-")


def test_each_component_has_a_change_and_a_missing_one_is_told() -> None:
    old, new = Artifact({"a": "x", "b": "y"}), Artifact({"b": "z", "c": "w"})
    found = {c.component: c for c in changes(old, new, "old", "new")}
    assert list(found) == ["a", "b", "c"]
    assert found["a"].lines[:2] == ("--- a (old)", "+++ a (new, which has none)")
    assert found["c"].lines == ("--- c (old, which has none)", "+++ c (new)", "@@ -0,0 +1 @@", "+w")
    assert (found["b"].added, found["b"].removed) == (1, 1)


@given(TEXT, TEXT)
def test_colours_change_no_character(old: str, new: str) -> None:
    lines = change(old, new).lines
    assert [text.plain for text in coloured(lines)] == list(lines)


def test_within_a_changed_line_the_words_that_changed_stand_out() -> None:
    lines = change("Say at least 3 words.", "Say at most 3 words.").lines
    old, new = list(coloured(lines))[-2:]
    assert [(str(s.style), old.plain[s.start : s.end]) for s in old.spans] == [
        ("bold reverse", "least")
    ]
    assert [new.plain[s.start : s.end] for s in new.spans] == ["most"]
    assert (old.style, new.style) == ("red", "green")


@pytest.mark.parametrize(("n_words", "n_marked"), [(MAX_WORDS, 1), (MAX_WORDS + 1, 0)])
def test_words_of_a_very_long_line_are_not_matched_at_all(n_words: int, n_marked: int) -> None:
    words = [f"w{n % 50}" for n in range(n_words)]
    lines = change(" ".join(words), " ".join(["other", *words[1:]])).lines
    assert [len(text.spans) for text in list(coloured(lines))[-2:]] == [n_marked, n_marked]


@pytest.mark.parametrize(
    ("old", "new"), [("one two three", "four five six"), ("a\nb", "Say nothing of the kind.")]
)
def test_lines_that_have_little_in_common_are_only_removed_and_added(old: str, new: str) -> None:
    assert not any(text.spans for text in coloured(change(old, new).lines))


def test_a_text_whose_lines_look_like_a_header_is_coloured_as_text() -> None:
    styles = [str(text.style) for text in coloured(change("a\n-- b", "a\n++ c").lines)]
    assert styles == ["bold", "bold", "cyan", "", "red", "green"]
