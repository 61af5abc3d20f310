import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.workloads.aime.reading import integer, read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"\boxed{042}", 42),
        ("Answer: 042", 42),
        ("$m+n = 33+80 = 113$.", 113),
        ("<think>The answer is 5.</think> So it is 7.", 7),
        ("Maybe 5</think>7", 7),
        ("the answer is 1,024 apples", 1024),
        ("Answer: **204**", 204),
        ("we get 3.5 and 12.", 12),
        (r"\boxed{\text{025}}", 25),
        (r"\boxed{33+80=113}", 113),
        (r"Final answer: $m+n=\boxed{12}$", 12),
        (r"\boxed{n = 5}", 5),
        (r"\boxed{116^\circ}", 116),
        (r"\boxed{1{,}024}", 1024),
        ("Answer: -3", -3),
        ("The answer is 5. The answer is not clear.", 5),
        ("Answer:\n\n42", 42),
        (r"\boxed{3} at first, but then: Answer: 8", 8),
        (r"Answer: 8, or rather \boxed{3}", 3),
        ("Answer: 42, since 6 times 7 is what 84 is twice", 42),
        ("204.0", 204),
        ("0", 0),
        ("000", 0),
    ],
)
def test_the_number_that_is_said_last_is_read(text: str, value: int) -> None:
    assert read(text).value == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing",
        "1/2",
        "3.5",
        r"\boxed{\frac12}",
        r"\boxed{5, 7}",
        "x^2",
        "<think>5",
        "\\boxed{",
    ],
)
def test_no_number_is_read_where_none_is_given(text: str) -> None:
    assert read(text).value is None


def test_a_box_that_holds_no_number_is_the_answer_nevertheless() -> None:
    found = read(r"There are 12 of 24, so \boxed{\frac{1}{2}}.")
    assert found.value is None
    assert found.text == r"\frac{1}{2}"


def test_a_number_of_thousands_of_digits_is_just_wrong() -> None:
    assert read("9" * 10_000).value not in range(1000)


@given(st.integers(0, 999), st.sampled_from(["{}", "{:03}", "${}$", "n = {}", r"\text{{{}}}"]))
def test_however_a_number_is_put_it_is_read(value: int, form: str) -> None:
    assert integer(form.format(value)) == value
    assert read(rf"Since 7 of 9, it is \boxed{{{form.format(value)}}}, as claimed 5 times.") == (
        value,
        form.format(value),
    )


@given(st.text())
def test_no_text_is_an_error(text: str) -> None:
    read(text)
    read(f"\\boxed{{{text}")
    read(f"Answer: {text}")
