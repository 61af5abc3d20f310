import json
import logging
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.cli.console import _Lines, _show_warning, complain, one_line, print_json, safe

Capture = pytest.CaptureFixture[str]


def test_control_sequences_are_spelled_out() -> None:
    assert safe("\x1b]0;owned\x07 \x9b31m \u202etxt") == "\\x1b]0;owned\\x07 \\x9b31m \\u202etxt"


def test_line_breaks_tabs_and_other_scripts_stay() -> None:
    assert safe("a\n\tb é 漢字 🙂") == "a\n\tb é 漢字 🙂"


@given(st.text(alphabet=st.characters(codec=None)))
def test_what_is_safe_has_no_control_characters_and_can_be_encoded(text: str) -> None:
    shown = safe(text)
    shown.encode()
    assert not any(ord(c) < 0x20 and c not in "\n\t" for c in shown)
    assert safe(shown) == shown


@given(st.text(), st.integers(1, 50))
def test_one_line_is_one_line_of_at_most_that_width(text: str, width: int) -> None:
    line = one_line(text, width)
    assert len(line.splitlines()) <= 1
    assert len(line) <= width


def test_a_complaint_is_one_line_on_stderr(capsys: Capture) -> None:
    complain("two\nlines \x1b[31m")
    out, err = capsys.readouterr()
    assert (out, err) == ("", "error: two lines \\x1b[31m\n")


def test_json_is_ascii_and_round_trips(capsys: Capture) -> None:
    data = {"text": "é \u202e \x1b"}
    print_json(data)
    out = capsys.readouterr().out
    assert out.isascii()
    assert json.loads(out) == data


def test_log_records_are_lines_on_stderr(capsys: Capture) -> None:
    logger = logging.Logger("test")
    logger.addHandler(_Lines())
    logger.warning("slow\ndisk")
    assert capsys.readouterr().err == "warning: slow disk\n"


def test_warnings_are_lines_on_stderr(capsys: Capture) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = _show_warning
        warnings.warn("merge has no effect", stacklevel=1)
    assert capsys.readouterr().err == "warning: merge has no effect\n"
