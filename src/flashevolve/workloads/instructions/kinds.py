"""Kinds: what each id takes up of an answer, and which ids can be met together.

Two ids clash if both own the same part of the answer, or if one bars what the other needs. The
table says more clashes than there are: a pair that it allows can always be met, a pair that it
forbids may be possible all the same.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Traits(NamedTuple):
    """What a kind of constraint takes up."""

    owns: frozenset[str] = frozenset()
    """Parts of the answer that it decides alone (`OWNED`)."""
    needs: frozenset[str] = frozenset()
    """Features that the answer has because of it."""
    bars: frozenset[str] = frozenset()
    """Features that the answer must not have."""


OWNED = frozenset(
    {"opening", "close", "lines", "sentences", "starts", "ends", "words", "case", "letters"}
)
"""The first and last thing; what lines are; how sentences are cut, start and end; how many words
there are; which letters are capitals, and which occur at all."""

FEATURES: Mapping[str, str] = {
    "literals": "words or phrases that the request names",
    "given": "text that is copied letter by letter",
    "english": "English",
    "headers": "text that belongs to no sentence",
    "fences": "lines that hold only marks",
    "doubled": "every sentence is there twice",
    "exact": "an exact number of sentences or figures of some sort",
    "digits": "figures in digits",
    "marks": "phrases that are set off, or signs that call for a longer text",
    "comma": "commas",
    "semicolon": "semicolons",
    "colon": "colons",
    "hyphen": "hyphens",
    "dash line": "a line that begins with a hyphen",
    "parenthesis": "round brackets",
    "query": "question or exclamation marks",
}
"""Feature -> what it means."""

_SIGNS = "semicolon colon hyphen parenthesis query"


def _traits(owns: str = "", needs: str = "", bars: str = "") -> Traits:
    return Traits(*(_names(text) for text in (owns, needs, bars)))


def _names(text: str) -> frozenset[str]:
    whole = text.replace("dash line", "dash_line").split()
    return frozenset(name.replace("_", " ") for name in whole)


TRAITS: Mapping[str, Traits] = {
    "keywords:existence": _traits(needs="literals"),
    "keywords:frequency": _traits(needs="literals"),
    "keywords:forbidden_words": _traits(),
    "keywords:letter_frequency": _traits("letters", "english", "literals given"),
    "language:response_language": _traits("letters", "", "english literals given headers"),
    "length_constraints:number_sentences": _traits("sentences ends lines", "", "given"),
    "length_constraints:number_paragraphs": _traits("lines", "fences"),
    "length_constraints:number_words": _traits("words"),
    "length_constraints:nth_paragraph_first_word": _traits("lines opening starts", "literals"),
    "detectable_content:number_placeholders": _traits(needs="english marks"),
    "detectable_content:postscript": _traits("close", "given headers"),
    "detectable_format:number_bullet_lists": _traits("lines", "", "dash line"),
    "detectable_format:constrained_response": _traits(
        " ".join(sorted(OWNED)), "english given", "literals marks"
    ),
    "detectable_format:number_highlighted_sections": _traits(needs="marks"),
    "detectable_format:multiple_sections": _traits("lines", "given headers digits"),
    "detectable_format:json_format": _traits(
        "opening close lines", "english headers colon", "given"
    ),
    "detectable_format:title": _traits("opening", "headers"),
    "combination:two_responses": _traits("opening close lines", "english fences doubled", "exact"),
    "combination:repeat_prompt": _traits("opening", "english given headers"),
    "startend:end_checker": _traits("close", "literals headers"),
    "startend:quotation": _traits("opening close"),
    "change_case:capital_word_frequency": _traits("case", "english", "given"),
    "change_case:english_capital": _traits("case", "english", "given"),
    "change_case:english_lowercase": _traits("case", "english", "given"),
    "punctuation:no_comma": _traits(bars="comma"),
    "words:between": _traits("words"),
    "words:unique": _traits("words"),
    "words:longest_sentence": _traits("sentences", "", "headers given"),
    "words:order": _traits(needs="literals"),
    "words:last": _traits("close", "literals"),
    "words:in_every_sentence": _traits("sentences", "literals", "headers"),
    "words:multiple": _traits("words"),
    "words:growing": _traits("sentences", "", "headers doubled"),
    "signs:questions": _traits("ends", "query exact"),
    "signs:exclamations": _traits("ends", "query exact"),
    "signs:forbidden": _traits(bars=f"{_SIGNS} given"),
    "signs:semicolons": _traits(needs="semicolon marks"),
    "signs:parentheses": _traits(needs="parenthesis marks"),
    "signs:hashtags": _traits("close", "english headers"),
    "signs:end_mark": _traits("ends", "query", "headers"),
    "numbers:count": _traits(needs="exact marks", bars="digits doubled"),
    "layout:numbered": _traits("lines", "digits"),
    "layout:headings": _traits("lines", "headers"),
    "layout:bold": _traits(needs="marks"),
    "layout:lines": _traits("lines"),
    "layout:code_block": _traits("opening close", "english fences"),
    "layout:tag": _traits("opening close", "given headers"),
    "layout:quote_lines": _traits("lines opening close", "", "fences"),
    "layout:table": _traits("lines", "english headers hyphen"),
    "layout:sentence_lines": _traits("lines sentences", "", "headers fences"),
    "layout:indent": _traits("lines opening close", "", "fences"),
    "repeats:answer": _traits("opening close lines", "fences doubled hyphen", "exact"),
    "letters:forbidden": _traits("letters", "english", "literals given"),
    "letters:sentence_start": _traits("starts", "english", "headers given"),
    "letters:acrostic": _traits("lines opening close starts", "english literals", "headers fences"),
    "letters:longest_word": _traits("letters", "english", "literals given"),
    "case:title": _traits("case", "english", "given"),
    "case:sentence_opening": _traits("case starts", "english", "headers given"),
    "case:alternate_words": _traits("case", "english", "given"),
    "edges:signature": _traits("close", "given headers hyphen dash line"),
    "edges:first_and_last": _traits("opening close", "literals headers"),
}
"""Id -> its traits."""

UNSEEN: frozenset[str] = frozenset(
    {
        "letters:forbidden",
        "letters:sentence_start",
        "letters:acrostic",
        "letters:longest_word",
        "case:title",
        "case:sentence_opening",
        "case:alternate_words",
        "words:multiple",
        "words:growing",
        "repeats:answer",
        "layout:quote_lines",
        "layout:table",
        "layout:sentence_lines",
        "layout:indent",
        "signs:parentheses",
        "signs:hashtags",
        "signs:end_mark",
        "numbers:count",
    }
)
"""Ids that occur in test data only."""

ALL_KINDS: tuple[str, ...] = tuple(TRAITS)
DEFAULT_KINDS: tuple[str, ...] = (
    "keywords:existence",
    "keywords:frequency",
    "length_constraints:number_words",
    "punctuation:no_comma",
    "length_constraints:number_paragraphs",
    "detectable_content:number_placeholders",
    "detectable_content:postscript",
    "detectable_format:number_bullet_lists",
    "detectable_format:title",
    "combination:two_responses",
    "layout:headings",
    "layout:bold",
    "edges:signature",
)
"""Kinds that need no optional library and occur in every split. Nine of them leave a detail to be
learnt from feedback, about as many as one brief prompt can say, so that what is learnt shows."""


def clash(one: str, other: str) -> bool:
    """Says whether two kinds may be impossible to meet together."""
    a, b = TRAITS[one], TRAITS[other]
    return bool(a.owns & b.owns or a.needs & b.bars or a.bars & b.needs)


def go_together(kinds: Iterable[str]) -> bool:
    """Says whether no two of the kinds clash, and none is there twice."""
    listed = list(kinds)
    pairs = ((one, other) for i, one in enumerate(listed) for other in listed[:i])
    return not any(one == other or clash(one, other) for one, other in pairs)
