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
        ("The answer is 113, where m = 100 and n = 13.", 113),
        ("The answer is $m + n = 113$ with m = 100.", 113),
        ("The answer is 113 with m = 100 and n = 13", 113),
        (r"\boxed{204}. This answer is consistent with part 2", 204),
        ("\\boxed{204}\n\nSo the answer is as required, checked with 5 cases.", 204),
        ("Answer:\n204\nThis used 3 cases", 204),
        ("The answer is:\n\n\\[ 204 \\]\nafter 3 cases", 204),
        ("<answer>204</answer> I used 3 cases.", 204),
        ("<answer>\n204\n</answer> I used 3 cases.", 204),
        ("The answer is 204. This answer is consistent with part 2.", 204),
        ("The answer is 5? No, the answer is 7.", 7),
        (r"\boxed{5}, no: the answer is therefore **7**.", 7),
        ("The answer is the sum of both, 7", 7),
        (r"\boxed{\bf 204}", 204),
        (r"\boxed{\$204}", 204),
        (r"\boxed{204\%}", 204),
        (r"\boxed{204 \pmod{1000}}", 204),
        (r"\boxed{N \equiv 204 \pmod{1000}}", 204),
        (r"\boxed{204\text{ cm}^2}", 204),
        (r"\boxed{\textbf{(A) } 204}", 204),
        (r"\boxed{204,}", 204),
        (r"\boxed{\underline{204}}", 204),
        (r"so \boxed204 in 3 cases", 204),
        (r"\boxed{\{204\}}", 204),
        (r"\boxed{\boxed{204}}, not \boxed{3", 204),
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
        r"\boxed{n + 1}",
        r"\boxed{2\pi}",
        r"\boxed{3\sqrt{2}}",
        r"\boxed{f(3)}",
        r"\boxed{5!}",
        r"\boxed{5 - x}",
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


@pytest.mark.parametrize(
    "text",
    [
        "\\boxed{" * 100_000,
        "\\boxed{" * 50_000 + "}" * 50_000,
        "{" * 1_000_000,
        "\\boxed{5" + "a" * 500_000 + "!}",
        "the answer is " * 50_000,
        "answer" + " " * 1_000_000,
        "answer: " + "(" * 1_000_000,
        "answer: " + "so " * 300_000,
        "<think>" * 100_000,
        r"\mod" + " " * 1_000_000,
        "1," * 500_000,
    ],
)
def test_a_long_text_of_one_sign_takes_no_minutes(text: str) -> None:
    # With time by the square of the length each of these would take minutes.
    assert read(text).value is None
