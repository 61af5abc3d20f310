import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.workloads.ifbench.checkers.parts import is_emoji, sentences, tokens


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It snows. Does it? Yes!", ["It snows.", "Does it?", "Yes!"]),
        ("Really?! No", ["Really?", "!", "No"]),
        ("Well... so it is\nhere", ["Well...", "so it is here"]),
        ("Dr. Who paid 3.50 at x.com, e.g. to Mr. A. B. Cole.", None),
        ("So ends a.U.S. It is over.", ["So ends a.U.S.", "It is over."]),
        ("He left the U.S. He came back.", ["He left the U.S.", "He came back."]),
        ("It is by Snow Inc. of Rome.", None),
        ("It is by Snow Inc. They sell it.", ["It is by Snow Inc.", "They sell it."]),
        ("She holds a Ph.D. in snow.", None),
        ('He said "so." Then "why?" came.', ['He said "so".', 'Then "why"?', "came."]),
        ("He said “so.” Then", ["He said “so”.", "Then"]),
        (" \n ", []),
    ],
)
def test_sentences_end_at_each_mark_but_not_in_abbreviations(
    text: str, found: list[str] | None
) -> None:
    assert sentences(text) == ([text] if found is None else found)


@given(st.text(alphabet='aB3.?! "”\n', max_size=40))
def test_sentences_lose_nothing_but_space(text: str) -> None:
    parts = sentences(text)
    assert all(part == part.strip() != "" for part in parts)
    assert sorted("".join("".join(parts).split())) == sorted("".join(text.split()))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Don't, it's so.", ["Do", "n't", ",", "it", "'s", "so", "."]),
        ("Is a well-known (old) one...", ["Is", "a", "well-known", "(", "old", ")", "one", "..."]),
        (
            "At 3:30 Dr. Who paid 1,000.5 here.",
            ["At", "3:30", "Dr.", "Who", "paid", "1,000.5", "here", "."],
        ),
        ("It ends. So it does", ["It", "ends", ".", "So", "it", "does"]),
        ("In the U.S.", ["In", "the", "U.S", "."]),
        ("", []),
    ],
)
def test_marks_and_contractions_are_tokens(text: str, found: list[str]) -> None:
    assert tokens(text) == found


def test_emoji_are_told_from_letters_and_digits() -> None:
    assert all(map(is_emoji, "😀☃❤©"))
    assert not any(map(is_emoji, "a1.本\ufe0f"))
