"""Forty ways to say ten pieces of advice, written by hand and without the reader at hand.

Each kind of constraint has one plain statement of what its checker wants, and four others that a
person might write instead. None of them was used to build the reader's grammar.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Advice(NamedTuple):
    """One rule, said in several ways."""

    plain: str
    others: Sequence[str]


ADVICE: Mapping[str, Advice] = {
    "detectable_format:number_bullet_lists": Advice(
        'Begin every bullet line with "* ".',
        (
            "Mark list items with an asterisk followed by a space.",
            "For lists, start each bullet with '* '.",
            'Each bullet point should open with "* ".',
            'Use "* " as the marker of every list entry.',
        ),
    ),
    "detectable_format:title": Advice(
        'Put any title between "<<" and ">>".',
        (
            "Wrap titles in double angle brackets.",
            'A title is written like "<<Title>>".',
            "Enclose the title in << and >>.",
            "Titles go inside double angular brackets.",
        ),
    ),
    "length_constraints:number_paragraphs": Advice(
        'Between paragraphs put a separator line "***".',
        (
            "Separate paragraphs by a line of three asterisks.",
            "Use *** as the divider between two paragraphs.",
            'Divide paragraphs with "***".',
            'Paragraphs are split by a line that holds only "***".',
        ),
    ),
    "detectable_format:number_highlighted_sections": Advice(
        'Highlighted phrases stand between "*" and "*".',
        (
            "Put single asterisks around highlighted parts.",
            "Wrap each highlighted phrase in asterisks.",
            'A highlight looks like "*this*".',
            "Use one asterisk before and one after a phrase to highlight it.",
        ),
    ),
    "detectable_content:number_placeholders": Advice(
        "Write placeholders in square brackets.",
        (
            'Put placeholders between "[" and "]".',
            'A placeholder looks like "[name]".',
            "Enclose each placeholder in square brackets.",
            "Square brackets surround every placeholder.",
        ),
    ),
    "combination:two_responses": Advice(
        'Separate two answers by a line "******".',
        (
            "Put six asterisks between two different answers.",
            'Divide the two versions with "******".',
            "Use ****** as the separator of two answers.",
            'Between one answer and the next stands "******".',
        ),
    ),
    "layout:headings": Advice(
        'Headings begin with "## ".',
        (
            'Start each heading with "## ".',
            "Every heading line opens with '## '.",
            'Put "## " in front of a heading.',
            "Use two hash signs and a space for headings.",
        ),
    ),
    "layout:bold": Advice(
        'Bold phrases stand between "**" and "**".',
        (
            'Wrap bold phrases in "**".',
            'Put "**" before and after what is bold.',
            "Mark bold parts like **this**.",
            "Bold text stands between double asterisks.",
        ),
    ),
    "edges:signature": Advice(
        'A signature is a last line that begins with "-- ".',
        (
            'Put "-- " in front of the name in the signature.',
            'Signatures start with "-- ".',
            "Sign on the last line with two hyphens before the name.",
            'When you sign, write "-- " and then the name.',
        ),
    ),
    "detectable_content:postscript": Advice(
        'A postscript begins with "P.S.".',
        (
            'Whenever a postscript is wanted, introduce it by "P.S." on its own line.',
            'Start an afterthought with "P.S.", spelled exactly like that.',
            'Open the postscript with "P.S.".',
            'The right way to begin a postscript is "P.S.".',
        ),
    ),
}
"""Id of a constraint -> advice on it."""
