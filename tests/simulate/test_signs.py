import pytest

from flashevolve.simulate.signs import SIGNS, mask_abbreviations, mask_signs
from flashevolve.simulate.statements import statement


def literals(text: str) -> tuple[str, ...]:
    return statement(text).literals


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("Two opening and two closing angle brackets hold a title.", ("<<", ">>")),
        ("A pair of opening angle brackets comes before a title.", ("<<", ">>")),
        ("Put a pair of angle brackets around it.", ("<", ">")),
        ("Three consecutive dashes divide two copies.", ("---",)),
        ("Use a pair of plain asterisks.", ("**",)),
        ("A single star marks an item.", ("*",)),
    ],
)
def test_signs_may_be_counted_and_described(text: str, signs: tuple[str, ...]) -> None:
    assert literals(text) == signs


@pytest.mark.parametrize(
    "text",
    [
        "Brackets of the square kind hold each placeholder.",
        "Brackets that are square hold each placeholder.",
        "The brackets around placeholders are square ones.",
        "A placeholder sits in brackets, square ones.",
        "Use square-shaped brackets.",
        "Let [ open and ] close each placeholder.",
        "Use [ and ] for placeholders.",
        "[ comes before a placeholder, and ] after it.",
        "Placeholders stand between [ and ].",
    ],
)
def test_a_kind_may_follow_its_sign_and_a_sign_may_stand_for_itself(text: str) -> None:
    assert literals(text) == ("[", "]")


@pytest.mark.parametrize(
    "text",
    [
        "A bullet point needs a star and a blank before its text.",
        "In front of every item stands a star.",
        "Begin each item with a star.",
        "Items are introduced by stars.",
        "A star goes before each item.",
    ],
)
def test_a_star_at_a_place_is_a_sign(text: str) -> None:
    assert literals(text) == ("*",)


@pytest.mark.parametrize(
    "text",
    [
        "Describe a star and a moon.",
        "Write about how a star begins to shine.",
        "A pop star comes to town.",
        "Let x = 3 and y < 4 hold.",
        "| a | b |",
        "| name | price in |",
        'Avoid colons (":") here.',
    ],
)
def test_stars_may_shine_and_signs_of_tables_and_sums_are_not_spoken_about(text: str) -> None:
    assert not {"*", "=", "<", "|", "("} & set(literals(text))


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (
            "Write P.S. at the beginning of a postscript.",
            "Write # at the beginning of a postscript.",
        ),
        ("P.S. comes first in an afterthought.", "# comes first in an afterthought."),
        ("A P.S. is a postscript.", "A P.S. is a postscript."),
        ("Add P.S. at the end.", "Add P.S. at the end."),
    ],
)
def test_an_abbreviation_beside_the_name_is_what_is_written(text: str, masked: str) -> None:
    assert mask_abbreviations(text, lambda _: "#") == masked


def test_a_text_that_names_no_sign_stays() -> None:
    assert mask_signs("write three words about salt.", lambda _: "#") == (
        "write three words about salt."
    )


@pytest.mark.parametrize("sign", sorted({sign for _, signs in SIGNS for sign in signs}))
def test_each_sign_is_found_by_some_name(sign: str) -> None:
    names = {
        "<<": "two angle brackets",
        ">>": "two angle brackets",
        "[[": "two square brackets",
        "]]": "two square brackets",
        "<": "angle brackets",
        ">": "angle brackets",
        "[": "square brackets",
        "]": "square brackets",
        "{": "curly braces",
        "}": "curly braces",
        "******": "six stars",
        "***": "three stars",
        "**": "two stars",
        "---": "three dashes",
        "--": "two dashes",
        "*": "an asterisk",
        "-": "a hyphen",
        "```": "three backticks",
        "`": "a backtick",
        "##": "two hashes",
        "#": "a hash sign",
        "|": "a vertical bar",
        "_": "an underscore",
        "...": "an ellipsis",
        ".": "a full stop",
        "&": "an ampersand",
    }
    found: list[str] = []

    def mask(one: str) -> str:
        found.append(one)
        return " "

    mask_signs(names[sign], mask)
    assert sign in found
