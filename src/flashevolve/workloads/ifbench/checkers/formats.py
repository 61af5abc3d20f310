"""IFBench's instructions about the form of a text: `format:*`."""

import re
import string
from collections.abc import Mapping
from itertools import pairwise, zip_longest

from flashevolve.workloads.ifbench.checkers.parts import (
    EDGES,
    is_emoji,
    sentences,
    tokens,
    told,
    unmarked,
)
from flashevolve.workloads.instructions.text import (
    counted,
    filled_lines,
    n_found,
    quoted,
    shortened,
)
from flashevolve.workloads.instructions.verdict import Checker, Text, Verdict

TEMPLATE = ("My Answer:", "My Conclusion:", "Future Outlook:")
_CLOSING = {")": "(", "]": "[", "}": "{"}
_LETTERED = re.compile(r"\W*[aA]\W*[bB]\W*[cC]")
_PADDING = string.digits + string.punctuation.replace('"', "")
_ITALICS = re.compile(r"<(i|em)>")


def parentheses(answer: str) -> Verdict:
    """Round, square and curly brackets nest five deep, and one of these is closed.

    A bracket that closes another one than the last opened starts the count again.
    """
    opened: list[str] = []
    deepest, met = 0, False
    for sign in answer:
        if sign in "([{":
            opened.append(sign)
            deepest = max(deepest, len(opened))
        elif sign in _CLOSING:
            if opened and opened[-1] == _CLOSING[sign]:
                opened.pop()
                met = met or deepest >= 5
            else:
                opened, deepest = [], 0
    return told(
        met,
        "Brackets of the kinds ( [ { must be nested at least 5 deep and be closed in order",
        "they are not",
    )


def quotes(answer: str) -> Verdict:
    """Straight double and single quotation marks nest three deep, and all three are closed.

    An apostrophe counts as a mark, as in the reference.
    """
    opened: list[str] = []
    deepest, met = 0, False
    for sign in answer:
        if opened and sign == opened[-1]:
            opened.pop()
            met = met or deepest - len(opened) >= 3
        elif sign in "\"'":
            opened.append(sign)
            deepest = max(deepest, len(opened))
    return told(
        met,
        "There must be quotes in quotes in quotes, 3 deep, in which straight double and single "
        "quotation marks alternate",
        f"the marks nest {deepest} deep" if deepest < 3 else "they are not closed",
    )


def options(answer: str, *, options: Text) -> Verdict:
    """One of the options and nothing else, in any case and whatever marks are around it.

    Options are divided by "/", else by "or", else by commas. Where they are lettered a, b and c,
    the answer must be one of them to the character.
    """
    divider = next((one for one in ("/", "or") if one in options), ",")
    choices = [one.strip() for one in options.split(divider)]
    if _LETTERED.match(options):
        met = answer in choices
    else:
        met = answer.strip(EDGES).lower() in {one.strip(EDGES).lower() for one in choices}
    return told(
        met,
        f"The answer must be one of {quoted(choices)} and nothing else",
        f'it is "{shortened(answer)}"'.replace("\n", " "),
    )


def newline(answer: str) -> Verdict:
    """As many lines with something on them as words."""
    text = unmarked(answer).strip()
    n_lines, n_words = sum(map(bool, text.split("\n"))), len(text.split())
    return told(
        n_lines == n_words,
        "Every word must be on a line of its own",
        f"there are {counted(n_words, 'word')} on {counted(n_lines, 'line')}",
    )


def emoji(answer: str) -> Verdict:
    """Every sentence ends with an emoji, before or right after its final mark."""
    parts = [unmarked(one).strip() for one in sentences(answer)]
    following = (part[:1] for part in parts[1:])
    wrong = sum(
        not (part and any(map(is_emoji, [*part[-2:], *after])))
        for part, after in zip_longest(parts, following, fillvalue="")
    )
    return told(
        not wrong,
        "Every sentence must end with an emoji",
        f"{wrong} of {counted(len(parts), 'sentence')} do not",
    )


def line_indent(answer: str) -> Verdict:
    """Each line that is not blank is indented by more spaces than the one before."""
    indents = [len(line) - len(line.lstrip(" ")) for line in filled_lines(answer)]
    return told(
        all(one < other for one, other in pairwise(indents)),
        "Every line must be indented by more spaces than the line above it",
        f"the lines are indented by {', '.join(map(str, indents[:8]))}",
    )


def quote_unquote(answer: str) -> Verdict:
    """Something unquoted stands between two quotes, and letters stand after the last one."""
    text = "".join(answer.replace("“", '"').replace("”", '"').replace("'\"'", "").split())
    together, last = '""' in text, text.strip(_PADDING).endswith('"')
    return told(
        not together and not last,
        "Every quoted phrase must be followed by an explanation outside of quotation marks",
        "two quotes follow one another" if together else "nothing follows the last quote",
    )


def list_(answer: str, *, sep: Text) -> Verdict:
    """The separator occurs twice or more."""
    found = answer.count(sep.strip())
    return told(
        found >= 2,
        f'The answer must be a list with "{sep.strip()}" in place of bullet points, and have two '
        "items or more",
        n_found(found, "separator"),
    )


def thesis(answer: str) -> Verdict:
    """Text in `<i>` or `<em>`, and more text after it.

    As in the reference, the first one alone is looked at, whatever sections there are.
    """
    start = _ITALICS.search(answer)
    tag = start[1] if start else "i"
    inside, end, after = answer[start.end() if start else 0 :].partition(f"</{tag}>")
    return told(
        bool(start and inside.strip() and end and after.strip()),
        "Every section must begin with a thesis statement in italics, marked as <i>thesis</i>, "
        "with more text after it",
        "a tag, the thesis or the text after it is missing",
    )


def sub_bullets(answer: str) -> Verdict:
    """After each "*" there is a "-" before the next "*".

    As in the reference, an answer without any "*" is let pass.
    """
    parts = answer.split("*")[1:]
    wrong = sum("-" not in part for part in parts)
    return told(
        not wrong,
        "Every bullet point, marked with *, must have at least one sub-bullet point, marked with "
        "-, and * must occur nowhere else",
        f"{wrong} of {len(parts)} are without",
    )


def no_bullets_bullets(answer: str) -> Verdict:
    """Two sentences or more, then two lines or more that start with "*", and nothing else.

    As in the reference, text after a blank line is refused, and so is anything but bullet points
    after the first of these, even a blank line.
    """
    lines = [line.strip() for line in answer.split("\n")]
    first = next((at for at, line in enumerate(lines) if line.startswith("*")), len(lines))
    n_bullets = sum(line.startswith("*") for line in lines[first:])
    n_sentences = sum(len(sentences(line)) for line in lines[:first])
    text = "\n".join(lines[:first]).rstrip("\n")
    whole = all(text.split("\n")) and n_bullets == len(lines) - first
    return told(
        whole and n_sentences >= 2 and n_bullets >= 2,
        "There must be at least two sentences in one block without a blank line in it, then at "
        "least two lines that start with *, and nothing after or between these",
        f"there are {counted(n_sentences, 'sentence')} and {counted(n_bullets, 'bullet point')}"
        + ("" if whole else ", and other lines where none may be"),
    )


def title_case(answer: str) -> Verdict:
    """No token of two characters or more starts with a small letter.

    As in the reference, small words such as "of" are no exception, "n't" is a token of its own,
    and words that change case later, such as "iPhone", are let pass.
    """
    wrong = [
        one
        for one in tokens(answer)
        if one[0].islower() and (one[1:].islower() or one[1:].isupper())
    ]
    return told(
        not wrong,
        "Every word must start with a capital letter and go on in small ones, even short words "
        "such as Of or The",
        f"{n_found(len(wrong), 'other word')}, the first is "
        f'"{shortened(wrong[0]) if wrong else ""}"',
    )


def output_template(answer: str) -> Verdict:
    """The three labels of the template occur, in any order."""
    missing = [label for label in TEMPLATE if label not in answer]
    return told(
        not missing,
        f"The answer must have the parts {quoted(TEMPLATE)}, each label followed by its text",
        f"it lacks {quoted(missing)}",
    )


def no_whitespace(answer: str) -> Verdict:
    """No white space at all."""
    found = sum(sign.isspace() for sign in answer)
    return told(
        not found,
        "The answer must have no white space, neither spaces nor line ends",
        f"it has {found}",
    )


CHECKERS: Mapping[str, Checker] = {
    "format:parentheses": parentheses,
    "format:quotes": quotes,
    "format:options": options,
    "format:newline": newline,
    "format:emoji": emoji,
    "format:line_indent": line_indent,
    "format:quote_unquote": quote_unquote,
    "format:list": list_,
    "format:thesis": thesis,
    "format:sub-bullets": sub_bullets,
    "format:no_bullets_bullets": no_bullets_bullets,
    "format:title_case": title_case,
    "format:output_template": output_template,
    "format:no_whitespace": no_whitespace,
}
"""Id of an instruction -> its checker."""
