"""Writing: a real answer that realises a plan, with habits where the plan is silent.

Content is filler: grammatical sentences of a wanted length from common words and the request's
topic. Form is exact: what the plan asks for is done. Habits are what most writers do by default;
they are fixed here, before and independently of any task.
"""

import json
import random
import re
from collections.abc import Sequence
from typing import TypeVar

from flashevolve.simulate.attention import Dice
from flashevolve.simulate.planning import Plan
from flashevolve.simulate.statements import statement, words_of

_ADJECTIVES = words_of(
    """old new small large quiet bright simple warm early late open local gentle little long good
    great clear strong soft"""
)
_NOUNS = words_of(
    """place people morning evening road house garden water light story work day friend room hand
    river town season voice corner music table market door wind hour family path"""
)
_VERBS = words_of(
    """brings keeps shows finds holds meets follows opens carries shares joins changes offers
    welcomes remembers"""
)
_ADVERBS = words_of("often always quietly simply slowly truly gladly still nearly calmly")
_PREPOSITIONS = words_of("near around beyond beside under over through behind after before")

MARKERS = (("- ", 0.4), ("* ", 0.25), ("• ", 0.2), ("+ ", 0.15))
TITLES = ((("# ", ""), 0.35), (("Title: ", ""), 0.25), (("**", "**"), 0.2), (("<<", ">>"), 0.2))
POSTSCRIPTS = (("PS:", 0.4), ("P.S.", 0.35), ("Postscript:", 0.25))
SEPARATORS = (("", 0.5), ("---", 0.2), ("***", 0.3))
JSON_KEYS = (("text", 0.35), ("response", 0.3), ("answer", 0.35))
ENDINGS = (("same line", 0.5), ("own line", 0.35), ("remark after", 0.15))
COMMA_SUBSTITUTES = ((";", 0.65), ("", 0.35))
KEYWORD_TIMES = ((1, 0.65), (2, 0.35))
COMMAS = ((",", 0.9), ("", 0.1))
N_SENTENCES = ((3, 0.25), (4, 0.5), (5, 0.25))


T = TypeVar("T")


def write(plan: Plan, dice: Dice) -> str:
    """Returns the answer."""
    return _Writer(plan, dice).answer()


class _Writer:
    """One answer being written."""

    def __init__(self, plan: Plan, dice: Dice) -> None:
        self._plan = plan
        self._dice = dice
        self._rng = random.Random(int(dice.draw("content") * (1 << 48)))
        self._bans = frozenset(b.lower() for b in plan.lists.get("ban", ()))
        self._topic = [
            word
            for word in (w.strip(",;:()\"'").lower() for w in plan.topic)
            if word.isalpha() and word not in self._bans and statement(word).stems
        ]

    def answer(self) -> str:
        plan = self._plan
        title, postscript = self._title(), self._postscript()
        start, end = plan.text("start") or "", plan.text("end") or ""
        body = self._body(start, _n_words(end) + self._counted(title, postscript))
        if end:
            body = self._close(body, end)
        text = "\n".join(part for part in (title, body, postscript) if part)
        if plan.text("case"):
            text = text.lower() if plan.text("case") == "lower" else text.upper()
        if plan.text("format") == "json":
            key = plan.text("json key") or self._habit("json key", JSON_KEYS)
            return json.dumps({key: text}, ensure_ascii=False)
        wrap = plan.text("wrap")
        return f"{wrap}{text}{wrap}" if wrap else text

    def _habit(self, name: str, options: Sequence[tuple[T, float]]) -> T:
        return options[self._dice.pick(f"habit {name}", [w for _, w in options])][0]

    def _title(self) -> str:
        if not self._plan.text("title"):
            return ""
        marks = self._plan.values.get("title marks")
        opening, closing = marks if isinstance(marks, tuple) else self._habit("title", TITLES)
        words = [word.capitalize() for word in self._topic[-3:]] or ["Notes"]
        return f"{opening}{' '.join(words)}{closing}"

    def _postscript(self) -> str:
        if not self._plan.text("postscript"):
            return ""
        mark = self._plan.text("postscript mark") or self._habit("postscript", POSTSCRIPTS)
        return f"{mark} {self._sentence(5)}"

    def _counted(self, title: str, postscript: str) -> int:
        uncounted = self._plan.lists.get("uncounted", ())
        n_title = 0 if "title" in uncounted else _n_words(title)
        return n_title + (0 if "postscript" in uncounted else _n_words(postscript))

    def _body(self, start: str, n_other_words: int) -> str:
        """Returns sentences, bullets or paragraphs, with `start` at the very beginning."""
        plan = self._plan
        inserts = self._inserts()
        n_bullets, n_paragraphs = plan.number("exactly bullet"), plan.number("exactly paragraph")
        spare = n_other_words + _n_words(start) + sum(len(words) for words in inserts)
        lengths = self._lengths(n_bullets or self._n_sentences(), spare, n_paragraphs or 1)
        units = [self._sentence(n) for n in lengths]
        for i, words in enumerate(inserts):
            at = i % len(units)
            units[at] = f"{units[at][:-1]} {' '.join(words)}."
        if start and not n_bullets:
            units[0] = f"{start} {units[0][0].lower()}{units[0][1:]}"
        if n_bullets:
            mark = plan.text("marker") or self._habit("marker", MARKERS)
            mark = mark if mark.endswith(" ") else mark + " "
            return "\n".join([start] * bool(start) + [mark + unit for unit in units])
        if n_paragraphs:
            separator = plan.text("separator") or self._habit("separator", SEPARATORS)
            groups = [" ".join(units[i::n_paragraphs]) for i in range(n_paragraphs)]
            return f"\n{separator}\n".join(groups)
        return " ".join(units)

    def _inserts(self) -> list[list[str]]:
        """Returns the phrases that bring in what must be included."""
        wanted = [w for w in self._plan.lists.get("include", ()) if w.lower() not in self._bans]
        if not wanted:
            return []
        times = self._plan.number("times") or self._habit("times", KEYWORD_TIMES)
        return [["and", "the", *word.split()] for _ in range(min(times, 9)) for word in wanted]

    def _n_sentences(self) -> int | None:
        for slot in ("exactly sentence", "atleast sentence", "atmost sentence"):
            wanted = self._plan.number(slot)
            if wanted is not None:
                return max(1, wanted)
        return None

    def _lengths(self, n_units: int | None, n_spare_words: int, n_least: int) -> list[int]:
        """Returns the number of words of each sentence."""
        plan = self._plan
        low, high = plan.number("atleast word"), plan.number("atmost word")
        exact = plan.number("exactly word")
        if low and high and low > high:
            low, high = (low, None) if self._dice.draw("more or less") < 0.5 else (None, high)
        if exact or low or high:
            slack = self._rng.randint(0, 2)
            wanted = exact or (low + slack if low else (high or 0) - slack)
            total = max(1, wanted - n_spare_words)
            n_units = max(1, n_least, n_units or round(total / 10))
        else:
            n_units = max(n_least, n_units or self._habit("sentences", N_SENTENCES))
            total = sum(self._rng.randint(8, 12) for _ in range(n_units))
        short, n_longer = divmod(total, n_units)
        return [max(1, short + (i < n_longer)) for i in range(n_units)]

    def _sentence(self, n_words: int) -> str:
        """Returns a sentence of exactly `n_words` words."""
        pick, rng = self._pick, self._rng
        if n_words < 6:
            return [
                "Indeed",
                f"It {pick(_VERBS)}",
                f"The {pick(_NOUNS)} {pick(_VERBS)}",
                f"The {pick(_NOUNS)} {pick(_VERBS)} {pick(_ADVERBS)}",
                f"The {pick(_NOUNS)} {pick(_VERBS)} the {pick(_NOUNS)}",
            ][max(1, n_words) - 1] + "."
        subject = rng.choice(self._topic) if self._topic and rng.random() < 0.3 else pick(_NOUNS)
        n_tails, n_adverbs = divmod(n_words - 6, 3)
        tails = [f"{pick(_PREPOSITIONS)} the {pick(_NOUNS)}" for _ in range(n_tails)]
        adverbs = [pick(_ADVERBS) for _ in range(n_adverbs)]
        core = ["The", pick(_ADJECTIVES), subject, *adverbs, pick(_VERBS), "the", pick(_NOUNS)]
        return " ".join(core) + "".join(f"{self._pause()} {tail}" for tail in tails) + "."

    def _pick(self, words: Sequence[str]) -> str:
        word = self._rng.choice(words)
        while word in self._bans:
            word = self._rng.choice(words)
        return word

    def _pause(self) -> str:
        """Returns the sign before an afterthought: a comma, or whatever may stand for it."""
        sign = self._habit("commas", COMMAS)
        if sign in self._bans:
            sign = self._habit("no commas", COMMA_SUBSTITUTES)
        return "" if sign in self._bans else sign

    def _close(self, body: str, end: str) -> str:
        style = self._plan.text("end style") or self._habit("ending", ENDINGS)
        if style == "own line":
            return f"{body}\n{end}"
        if style == "same line":
            return f"{body} {end}."
        return f"{body}\n{end}\n{self._sentence(4)}"


def _n_words(text: str) -> int:
    return len(re.findall(r"\w[\w'’-]*", text))
