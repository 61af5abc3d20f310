"""Habits: what most writers do where neither request nor advice says.

They are drawn with these weights. The options were chosen with the task `instructions` in view: for
each of its default kinds of constraint some do what the checker wants and some do not, so that each
kind leaves something to learn.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

from flashevolve.simulate.attention import Dice
from flashevolve.simulate.planning import Plan

T = TypeVar("T")
Options = Sequence[tuple[T, float]]

MARKERS: Options[str] = (("- ", 0.4), ("* ", 0.25), ("• ", 0.2), ("+ ", 0.15))
TITLES: Options[tuple[str, str]] = (
    (("# ", ""), 0.4), (("Title: ", ""), 0.25), (("**", "**"), 0.25), (("<<", ">>"), 0.1)
)  # fmt: skip
HEADINGS: Options[tuple[str, str]] = (
    (("## ", ""), 0.35), (("# ", ""), 0.2), (("### ", ""), 0.2), (("**", "**"), 0.25)
)  # fmt: skip
PLACEHOLDERS: Options[tuple[str, str]] = (
    (("[", "]"), 0.4), (("<", ">"), 0.25), (("{", "}"), 0.25), (("__", "__"), 0.1)
)  # fmt: skip
HIGHLIGHTS: Options[tuple[str, str]] = (
    (("**", "**"), 0.25), (("*", "*"), 0.2), (("_", "_"), 0.25), (("==", "=="), 0.3)
)  # fmt: skip
BOLDS: Options[tuple[str, str]] = (
    (("**", "**"), 0.5),
    (("__", "__"), 0.25),
    (("<b>", "</b>"), 0.25),
)
SECTIONS: Options[str] = (("Section", 0.35), ("Part", 0.25), ("##", 0.25), ("SECTION", 0.15))
NUMBERS: Options[str] = ((". ", 0.7), (") ", 0.3))
NUMBER_STYLES: Options[str] = (("digits", 0.6), ("words", 0.4))
POSTSCRIPTS: Options[str] = (("PS:", 0.4), ("P.S.", 0.35), ("Postscript:", 0.25))
SIGNATURES: Options[str] = (("", 0.35), ("-- ", 0.2), ("- ", 0.2), ("Yours truly ", 0.25))
SEPARATORS: Options[str] = (("", 0.5), ("---", 0.2), ("***", 0.3))
VARIANT_SEPARATORS: Options[str] = (("", 0.35), ("---", 0.35), ("***", 0.2), ("******", 0.1))
COPY_SEPARATORS: Options[str] = (("", 0.5), ("---", 0.25), ("***", 0.25))
LINE_PREFIXES: Options[str] = (("> ", 0.6), ("", 0.4))
FENCES: Options[str] = (("```", 0.65), ("~~~", 0.1), ("    ", 0.25))
TAGS: Options[tuple[str, str]] = ((("<", ">"), 0.6), (("[", "]"), 0.25), (("#", ""), 0.15))
TABLES: Options[str] = (("markdown", 0.6), ("tabs", 0.4))
HASHTAG_PLACES: Options[str] = (("last line", 0.5), ("last sentence", 0.5))
REPEATS: Options[str] = (("exact", 0.45), ("quoted", 0.3), ("announced", 0.25))
CHOICES: Options[str] = (("Yes.", 0.5), ("No.", 0.2), ("Maybe.", 0.3))
JSON_KEYS: Options[str] = (("text", 0.35), ("response", 0.3), ("answer", 0.35))
QUOTES: Options[tuple[str, str]] = ((('"', '"'), 0.5), (("“", "”"), 0.35), (("'", "'"), 0.15))
ASIDES: Options[tuple[str, str]] = ((("(", ")"), 0.5), (("- ", " -"), 0.3), (("[", "]"), 0.2))
JSON_STYLES: Options[str] = (("bare", 0.5), ("fenced", 0.2), ("announced", 0.3))
TITLE_CASES: Options[str] = (("all", 0.45), ("small words small", 0.55))
OPENING_CASES: Options[str] = (("word", 0.5), ("letter", 0.25), ("two words", 0.25))
ENDINGS: Options[str] = (
    ("plain", 0.3), ("full stop", 0.2), ("own line", 0.35), ("remark after", 0.15)
)  # fmt: skip
COMMA_SUBSTITUTES: Options[str] = ((";", 0.65), ("", 0.35))
KEYWORD_TIMES: Options[int] = ((1, 0.65), (2, 0.35))
COMMAS: Options[str] = ((",", 0.9), ("", 0.1))
N_SENTENCES: Options[int] = ((3, 0.25), (4, 0.5), (5, 0.25))
STAIRS: Options[int] = ((1, 0.5), (2, 0.3), (4, 0.2))
"""Spaces by which a writer indents."""


_SLOTS = {
    "marker": "marker",
    "title": "title marks",
    "headings": "heading marks",
    "placeholder": "placeholder marks",
    "highlight": "highlight marks",
    "bold": "bold marks",
    "parenthesis": "parenthesis marks",
    "sections": "section mark",
    "numbering": "number mark",
    "numbers": "number style",
    "postscript": "postscript mark",
    "signature": "signature mark",
    "separator": "paragraph separator",
    "variants": "variant separator",
    "copies": "copy separator",
    "json key": "json key",
}
"""Name of a habit -> the slot of a plan that it fills."""


class Habits:
    """The habits of one writer in one answer."""

    def __init__(self, dice: Dice, plan: Plan | None = None) -> None:
        self._dice = dice
        self._plan = plan
        self._known: dict[str, Any] = {}  # values of any of the types above

    def pick(self, name: str, options: Options[T]) -> T:
        """Returns one option, the same whenever one answer asks; none that the plan refuses.

        Where the plan refuses all of them, the writer knows no other way and takes one.
        """
        if name not in self._known:
            left = [option for option in options if not self._refused(name, option[0])] or options
            index = self._dice.pick(f"habit {name}", [weight for _, weight in left])
            self._known[name] = left[index][0]
        known: T = self._known[name]
        return known

    def _refused(self, name: str, option: object) -> bool:
        slot = _SLOTS.get(name)
        refused = self._plan.refused(slot) if self._plan and slot else ()
        return any(_bare(option) == _bare(value) for value in refused)


def _bare(mark: object) -> tuple[str, ...]:
    """Returns a mark without the blanks at its ends, which are seldom named."""
    parts = mark if isinstance(mark, tuple) else (mark,)
    return tuple(str(part).strip() for part in parts)
