"""Labels: what a heading says about the text below it, in whatever words it is written.

A heading is a label if most of its words name a part of a prompt: what an assistant was given, what
it wrote, what was said about it, an older text, the newest one. Titles inside answers mostly are
not. The words are general English for such parts; none belongs to one prompt.
"""

import re
from functools import lru_cache

from flashevolve.simulate.terms import words_of

EXAMPLE, REFERENCE, UPDATE = "example", "reference", "update"
FEEDBACK, OUTPUT, INPUT = "feedback", "output", "input"
STALE, CURRENT, TEXT, TRACE = "stale", "current", "text", "trace"

PARTS_OF_EXAMPLES = (EXAMPLE, REFERENCE, FEEDBACK, OUTPUT, INPUT, TRACE)

_WORDS = {
    EXAMPLE: "example case sample demonstration episode",
    REFERENCE: "reference expected gold correct ideal",
    UPDATE: "update change changed changelog since meanwhile history",
    FEEDBACK: """feedback critique criticism evaluation comment remark assessment review judged
        judgement judgment graded marked correction complaint wrong score""",
    OUTPUT: """output response answer answered reply replied result wrote written produced
        generated generation completion solution said did""",
    INPUT: "input question asked request requested given task query problem received posed",
    STALE: "stale outdated older old obsolete superseded proposed proposal draft behind",
    CURRENT: "current base latest newest newer now present head today",
    TEXT: """text instruction prompt guideline guidance playbook component wording direction
        lesson reflection insight parent candidate version variant rule""",
    TRACE: "trace transcript trajectory step",
}
_KIND = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_NUMBERED = frozenset(words_of("attempt trial run trace item record instance"))
"""Words that name one of several examples if a number follows."""
_KNOWN = _KIND.keys() | _NUMBERED
_FILLERS = frozenset(
    words_of(
        """the an of what it its was is were be been on by for to this that these about with and
        how system assistant model ai user one each could better should"""
    )
)
_ABOUT = re.compile(r"\b(?:said|told|noted|thought|found) (?:about|of|on)\b")
_INSIDE = (REFERENCE, FEEDBACK, OUTPUT, INPUT, TRACE)
_VERSIONS = (UPDATE, STALE, CURRENT)
_OUTSIDE = (REFERENCE, FEEDBACK, OUTPUT, INPUT, TRACE, TEXT)


def is_label(heading: str) -> bool:
    """Tells whether a heading is made of words that name parts of a prompt."""
    words = [word for word in _words(heading) if word not in _FILLERS]
    n_named = sum(word in _KNOWN for word in words)
    return 2 * n_named > len(words)


@lru_cache(maxsize=4_096)
def kind_of(path: tuple[str, ...]) -> str | None:
    """Returns what the text below these headings is, outermost first; None = nothing known.

    Inside an example the outermost label decides, since what stands below it is the example's own,
    and so does a label of a version; elsewhere the innermost does.
    """
    levels = [_kinds(heading) for heading in path]
    examples = [i for i, kinds in enumerate(levels) if EXAMPLE in kinds]
    numbered = [i for i in examples if re.search(r"\d", path[i])]
    if not numbered:
        # Below a heading such as "Stale text" stand components, and these may be called anything.
        versions = (k for kinds in levels for k in _VERSIONS if k in kinds and EXAMPLE not in kinds)
        if version := next(versions, None):
            return version
    if not examples:
        return next(
            (kind for kinds in reversed(levels) for kind in _OUTSIDE if kind in kinds), None
        )
    start = numbered[0] if numbered else examples[-1]
    inner = (kind for kinds in levels[start + 1 :] for kind in _INSIDE if kind in kinds)
    return next(inner, EXAMPLE)


def kinds_of_words(*words: str) -> frozenset[str]:
    """Returns the kinds that single words name."""
    return frozenset(_KIND[word] for word in words if word in _KIND)


def _kinds(heading: str) -> frozenset[str]:
    words = _words(_ABOUT.sub("feedback", heading.lower()))
    kinds = {_KIND[word] for word in words if word in _KIND}
    if re.search(r"\d", heading) and not _NUMBERED.isdisjoint(words):
        kinds.add(EXAMPLE)
    return frozenset(kinds)


def _words(heading: str) -> list[str]:
    found = re.findall(r"[a-z]{2,}", heading.lower())
    return [w.removesuffix("s") if w.removesuffix("s") in _KNOWN else w for w in found]
