"""Advice earns what it says and not how it is worded: hand-written paraphrases, kind by kind."""

from functools import cache
from statistics import fmean
from typing import Any

import pytest

from tests.simulate.instructing import READER, SEED
from tests.simulate.test_kinds import example, scored

N = 100
NOISE = 0.12
"""Two shares of 100 near 0.9 differ by less than this in 99 of 100 cases: 2.6 x sqrt(2) x 0.03."""

PARAPHRASES: dict[str, list[str]] = {
    "detectable_format:number_bullet_lists": [
        'Begin every bullet line with "* ".',
        "Bullets are written as lines that open with '* '.",
        "In lists, an asterisk and a space come before each item.",
        'Use "* " as the marker of bullet points, never a dot or a plus.',
    ],
    "detectable_format:title": [
        'Put any title between "<<" and ">>".',
        "Titles are enclosed in double angle brackets.",
        'A headline is written like "<<Headline>>".',
        "Surround the title with << and >>.",
        "When a title is wanted, wrap it in double angular brackets.",
    ],
    "detectable_content:number_placeholders": [
        "Write every placeholder in square brackets.",
        "Placeholders look like [name].",
        'Mark a placeholder by "[" and "]".',
    ],
    "detectable_format:number_highlighted_sections": [
        "Highlight a phrase with one asterisk on each side.",
        "What is highlighted stands between single asterisks.",
        "To highlight something, write it like *this*.",
        'Highlighting is done with "*" before and after the phrase.',
    ],
    "detectable_format:multiple_sections": [
        'Begin every section with a line "Section 1", "Section 2" and so on.',
        'Sections are headed "Section 1", "Section 2" and so forth.',
        'Number the sections: "Section 1" opens the first one.',
        'Each section starts with the word "Section" and its number.',
    ],
    "length_constraints:number_paragraphs": [
        'Between paragraphs put a separator line "***".',
        "Separate paragraphs by a line of three asterisks.",
        "Use *** as the divider between two paragraphs.",
        'Paragraphs are divided by "***" and not by blank lines.',
        "A line with three stars stands between one paragraph and the next.",
    ],
    "combination:two_responses": [
        'Between two different answers put a line "******".',
        "Separate two answers by a line of six asterisks.",
        "Two versions are divided by ******.",
        "If there are two responses, six asterisks stand between them.",
    ],
    "layout:headings": [
        'Begin every heading line with "## ".',
        'Headings start with two number signs and a space, "## ".',
        "A heading is marked by two hashes.",
        'Write headings like "## Heading".',
    ],
    "layout:bold": [
        'Bold phrases stand between "**" and "**".',
        'Make a phrase bold with "**" on each side.',
        "Bold text is wrapped in double asterisks.",
        "Set words in bold like **this**.",
    ],
    "edges:signature": [
        'A signature is the last line and begins with "-- ".',
        'Sign on the last line, after "-- ".',
        "Two hyphens and a space come before the name in a signature.",
        'Signatures look like "-- Name".',
    ],
    "startend:quotation": [
        "Quotation marks are straight double ones.",
        "For quotes use the straight double sign.",
        "If the answer is to be in quotes, take double quotation marks.",
    ],
    "startend:end_checker": [
        "Nothing may follow a closing phrase.",
        "Write nothing after a closing phrase, not even a full stop.",
        "A phrase at the end stands alone on the last line.",
        "If a phrase must come at the end, nothing may follow it, no period either.",
    ],
    "detectable_content:postscript": [
        'A postscript begins with "P.S.".',
        'Start an afterthought with "P.S.", spelled exactly like that.',
        'Whenever a postscript is wanted, introduce it by "P.S." on its own line.',
        'The mark of a postscript is "P.S." with two full stops.',
    ],
    "detectable_format:json_format": [
        "JSON stands alone with nothing before or after it.",
        "When JSON is requested, return only the object.",
        "No words may precede a JSON object.",
    ],
    "layout:numbered": [
        'Numbered lines begin with "1. ", "2. " and so on.',
        'In numbered lists a full stop and a space follow each number, as in "1. ".',
    ],
    "layout:code_block": [
        'A code block stands between two lines "```".',
        "Fence a code block with three backticks.",
    ],
    "layout:tag": [
        'A tag opens with "<name>" and closes with "</name>".',
        "Tags are written in angle brackets.",
    ],
    "numbers:count": [
        "Write numbers in digits.",
        "Use figures for all numbers, never words.",
    ],
    "signs:hashtags": [
        "Hashtags stand on the last line, alone.",
        "Put hashtags on a line of their own at the end.",
    ],
    "signs:parentheses": [
        "Asides stand in parentheses.",
        "Use round brackets for asides.",
    ],
    "repeats:answer": [
        'Between the two copies put a line "---".',
        "Two copies have a line of three hyphens between them.",
    ],
    "combination:repeat_prompt": [
        "Repeat a task word for word.",
        "When asked to repeat the task, copy it exactly as it is.",
    ],
    "case:title": [
        "Title case means that every word starts with a capital.",
        "In title case, begin each word with a capital letter.",
    ],
    "layout:table": [
        "Tables are written in Markdown.",
        'Use "|" around the cells of tables.',
    ],
    "layout:quote_lines": [
        'In a quote, every line begins with "> ".',
        'Lines of a quote open with "> ".',
    ],
    "layout:indent": [
        "In a staircase, every line begins with one more space than the line above.",
        "To indent, add one more space per line.",
    ],
}
"""Kind -> one rule in several wordings."""


@cache
def asked(kind: str) -> list[dict[str, Any]]:
    return [example([kind], key, full=False) for key in range(N)]


@cache
def earned(kind: str, advice: str = "") -> float:
    return fmean(scored(f"{SEED}\n{advice}", one, READER)[0] for one in asked(kind))


def test_there_are_many_paraphrases() -> None:
    assert sum(len(wordings) - 1 for wordings in PARAPHRASES.values()) >= 40


@pytest.mark.parametrize("kind", PARAPHRASES)
def test_a_rule_earns_about_the_same_in_any_wording(kind: str) -> None:
    rates = {advice: earned(kind, advice) for advice in PARAPHRASES[kind]}
    assert max(rates.values()) - min(rates.values()) <= NOISE, rates
    assert min(rates.values()) > earned(kind) + 0.1, rates
