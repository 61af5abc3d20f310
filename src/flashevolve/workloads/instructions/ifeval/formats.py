"""IFEval's instructions about marks and formats: lists, titles, sections, placeholders, JSON."""

import json
import re
from collections.abc import Iterator, Mapping

from flashevolve.workloads.instructions.text import counted
from flashevolve.workloads.instructions.verdict import Checker, Count, Text, Verdict

CHOICES = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_SINGLE = re.compile(r"\*([^\n*]*)\*")
_DOUBLE = re.compile(r"\*\*([^\n*]*)\*\*")
_FENCES = ("```json", "```Json", "```JSON", "```")


def number_placeholders(answer: str, *, num_placeholders: Count) -> Verdict:
    """At least so many placeholders in square brackets."""
    found = sum(len(list(_spans(line, "[", "]"))) for line in answer.split("\n"))
    if found >= num_placeholders:
        return Verdict(True, "Its gaps are fine.")
    return Verdict(
        False,
        f"There must be at least {counted(num_placeholders, 'placeholder')} in square brackets, "
        f"such as [address]; {found} were found.",
    )


def postscript(answer: str, *, postscript_marker: Text) -> Verdict:
    """The marker occurs, in any case; in P.S. and P.P.S a space may stand between the letters.

    The reference reads other markers as regular expressions; here they are plain text.
    """
    marker = postscript_marker.strip()
    patterns = {"P.S.": r"p\.\s?s\.", "P.P.S": r"p\.\s?p\.\s?s"}
    if re.search(patterns.get(marker, re.escape(marker.lower())), answer.lower()):
        return Verdict(True, "Its afterthought is fine.")
    return Verdict(
        False,
        f'The answer must have a postscript at its end that begins with "{marker}"; '
        "that marker was not found.",
    )


def number_bullet_lists(answer: str, *, num_bullets: Count) -> Verdict:
    """Exactly so many lines that begin with one asterisk or with a hyphen, also indented ones.

    In the reference an asterisk alone on its line counts unless it ends the answer; here never.
    """
    found = sum(map(_is_bullet, answer.split("\n")))
    if found == num_bullets:
        return Verdict(True, "Its list is fine.")
    return Verdict(
        False,
        f"There must be exactly {counted(num_bullets, 'bullet line')}, each beginning with "
        f'"* " or "- ", and every line that begins with one of these signs counts; '
        f"{found} were found.",
    )


def constrained_response(answer: str) -> Verdict:
    """One of "My answer is yes.", "My answer is no." and "My answer is maybe." occurs."""
    if any(choice in answer for choice in CHOICES):
        return Verdict(True, "Its choice is fine.")
    choices = ", ".join(f'"{choice}"' for choice in CHOICES)
    return Verdict(
        False,
        f"The answer must contain one of the sentences {choices} with these very letters; "
        "none of them was found.",
    )


def number_highlighted_sections(answer: str, *, num_highlights: Count) -> Verdict:
    """At least so many passages between asterisks, single or double, each within one line."""
    spans = [*_SINGLE.findall(answer), *_DOUBLE.findall(answer)]
    found = sum(bool(span.strip()) for span in spans)
    if found >= num_highlights:
        return Verdict(True, "Its highlights are fine.")
    return Verdict(
        False,
        f"At least {counted(num_highlights, 'passage')} must be highlighted with an asterisk on "
        f"both sides, such as *this passage*; {found} were found.",
    )


def multiple_sections(answer: str, *, section_spliter: Text, num_sections: Count) -> Verdict:
    """At least so many times the name of a section is followed by a number.

    The reference reads the name as a regular expression; here it is plain text.
    """
    name = section_spliter.strip()
    found = len(re.findall(rf"{re.escape(name)}\s?\d+", answer))
    if found >= num_sections:
        return Verdict(True, "Its sections are fine.")
    return Verdict(
        False,
        f"There must be at least {counted(num_sections, 'section')}, each opened by the name "
        f'"{name}", spelled like that, and its number, such as "{name} 1"; {found} were found.',
    )


def json_format(answer: str) -> Verdict:
    """The whole answer is JSON; a fence around it is allowed."""
    text = answer.strip()
    # One after the other, as the reference does it.
    for fence in _FENCES:
        text = text.removeprefix(fence)
    try:
        json.loads(text.removesuffix("```").strip())
    except (ValueError, RecursionError):
        return Verdict(
            False,
            "The whole answer must be valid JSON with nothing before or after it but a fence of "
            "three backticks; it is not.",
        )
    return Verdict(True, "Its structure is fine.")


def title(answer: str) -> Verdict:
    """A title in double angular brackets, anywhere."""
    if any(_titles(answer)):
        return Verdict(True, "Its heading is fine.")
    return Verdict(
        False,
        "The answer must have a title in double angular brackets on one line, such as "
        "<<the title>>; none was found.",
    )


# By hand, since a pattern tries each of thousands of opening brackets up to the end of the line.
def _spans(line: str, opening: str, closing: str) -> Iterator[str]:
    """Yields what stands between brackets, from left to right."""
    start = line.find(opening)
    while start >= 0 and (end := line.find(closing, start + len(opening))) >= 0:
        yield line[start + len(opening) : end]
        start = line.find(opening, end + len(closing))


def _titles(answer: str) -> Iterator[str]:
    """Yields what stands between the outermost angular brackets of each line, stripped."""
    for line in answer.split("\n"):
        start, end = line.find("<<"), line.rfind(">>")
        if 0 <= start < end - 2:
            yield line[start + 2 : end].lstrip("<").rstrip(">").strip()


def _is_bullet(line: str) -> bool:
    start = line.lstrip()
    return start.startswith("-") or (start[:1] == "*" and start[1:2] not in ("", "*"))


CHECKERS: Mapping[str, Checker] = {
    "detectable_content:number_placeholders": number_placeholders,
    "detectable_content:postscript": postscript,
    "detectable_format:number_bullet_lists": number_bullet_lists,
    "detectable_format:constrained_response": constrained_response,
    "detectable_format:number_highlighted_sections": number_highlighted_sections,
    "detectable_format:multiple_sections": multiple_sections,
    "detectable_format:json_format": json_format,
    "detectable_format:title": title,
}
"""Id of an instruction -> its checker."""
