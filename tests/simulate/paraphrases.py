"""Ways to say ten pieces of advice, written by hand and without the reader at hand.

Each kind of constraint has one plain statement of what its checker wants, and four or eight others
that a person might write instead. They came in three sets, each written before the grammar met it:
one of 33, of which 5 were not understood, one of 32, of which 7 were not, and one of 7, of which 3
were not. After each set the grammar was widened for those, by constructions of English and not by
their words. So all 72 are understood now, and what an unseen wording earns is told by the first
reading of each set: 57 of 72.
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
            "Every item in a list has to be introduced by an asterisk and one space.",
            "For lists, start each bullet with '* '.",
            'Each bullet point should open with "* ".',
            'Use "* " as the marker of every list entry.',
            "A bullet point needs a star and a blank before its text.",
            'List entries carry the prefix "* ".',
            "Never mark bullets with a hyphen; the asterisk is right.",
            "Write lists with '* ' at the start of each line.",
        ),
    ),
    "detectable_format:title": Advice(
        'Put any title between "<<" and ">>".',
        (
            "Double angle brackets belong around titles.",
            'A title is written like "<<Title>>".',
            "Enclose the title in << and >>.",
            "Titles go inside double angular brackets.",
            "The title must have << on its left and >> on its right.",
            "Surround a headline by double angle brackets.",
            "Titles: <<like this>>.",
            "If a title is asked for, write it between two opening and two closing angle brackets.",
        ),
    ),
    "length_constraints:number_paragraphs": Advice(
        'Between paragraphs put a separator line "***".',
        (
            "Let a line of three asterisks stand between any two paragraphs.",
            "Whenever one paragraph ends and another begins, insert ***.",
            'Divide paragraphs with "***".',
            'Paragraphs are split by a line that holds only "***".',
            "A line with three stars keeps paragraphs apart.",
            'Paragraphs need "***" between them.',
            "After each paragraph but the last one comes a line of ***.",
            "Set off one paragraph from the next with ***.",
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
            "Anything left open as a placeholder appears like [this].",
            "Enclose each placeholder in square brackets.",
            "Square brackets surround every placeholder.",
            "Brackets of the square kind hold each placeholder.",
            "Every placeholder is put like this: [address].",
            "Use [ and ] for placeholders.",
            "Do not leave placeholders without square brackets.",
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
            "A heading is a line that starts with two hashes.",
            "Prefix headings with '## '.",
            'Headings are written as in Markdown, with "## " first.',
            'Make "## " the beginning of each heading.',
        ),
    ),
    "layout:bold": Advice(
        'Bold phrases stand between "**" and "**".',
        (
            'Wrap bold phrases in "**".',
            'Put "**" before and after what is bold.',
            "Mark bold parts like **this**.",
            "Bold text stands between double asterisks.",
            "Two asterisks on each side make a phrase bold.",
            "For bold, use **double asterisks**.",
            'Bold means "**" around the words.',
            "Surround bold words with two stars.",
        ),
    ),
    "edges:signature": Advice(
        'A signature is a last line that begins with "-- ".',
        (
            'Put "-- " in front of the name in the signature.',
            'Signatures start with "-- ".',
            "Sign on the last line with two hyphens before the name.",
            'When you sign, write "-- " and then the name.',
            "The signature is the final line: two dashes, a space, the name.",
            'Finish with "-- " plus the name if a signature is wanted.',
            "Sign off with '-- ' followed by the name, on the last line.",
            'A name that signs a text follows "-- ".',
        ),
    ),
    "detectable_content:postscript": Advice(
        'A postscript begins with "P.S.".',
        (
            "If you add a postscript, its first characters are P.S.",
            'The marker for a postscript is "P.S.".',
            'Open the postscript with "P.S.".',
            'The right way to begin a postscript is "P.S.".',
            "Write P.S. at the beginning of a postscript.",
            '"P.S." is how each postscript starts.',
            "The postscript has to be introduced with P.S. and nothing else.",
            'Label a postscript "P.S.".',
        ),
    ),
}
"""Id of a constraint -> advice on it."""
