"""Answer: the whole of it, from the sentences to the marks around all.

A writer who is held to a number of words counts and mends: the draft is written again with more or
fewer words until the number fits, at most `MAX_DRAFTS` times.
"""

import json
import random
import re

from flashevolve.simulate.attention import Dice
from flashevolve.simulate.planning import Plan
from flashevolve.simulate.statements import statement, words_of
from flashevolve.simulate.writing import layout
from flashevolve.simulate.writing.body import Body, topic_words
from flashevolve.simulate.writing.habits import (
    CHOICES,
    ENDINGS,
    FENCES,
    HASHTAG_PLACES,
    JSON_KEYS,
    JSON_STYLES,
    POSTSCRIPTS,
    QUOTES,
    REPEATS,
    SIGNATURES,
    TAGS,
    TITLE_CASES,
    TITLES,
    Habits,
)
from flashevolve.simulate.writing.lexicon import Limits
from flashevolve.simulate.writing.sizes import (
    bounds,
    lengths,
    n_groups,
    n_items,
    n_sentences,
    wanted,
)

MAX_DRAFTS = 4
"""Times that an answer is written before its number of words is left as it is."""
_SMALL = frozenset(
    words_of("the our this that his my and in on at by of near around under over with from behind")
)
"""Words that titles leave small."""
_WORD = re.compile(r"\w+(?:[-'’]\w+)*")


def write(plan: Plan, dice: Dice) -> str:
    """Returns the answer."""
    habits = Habits(dice, plan)
    seed = int(dice.draw("content") * (1 << 48))
    options = plan.texts("option")
    if options and plan.text("choice"):
        return options[int(dice.draw("option") * len(options))]
    if plan.text("choice"):
        return habits.pick("choice", CHOICES)
    limits = _limits(plan)
    wanted_words = bounds(plan)
    target = wanted_words.target(random.Random(seed))
    n_body = target
    text = ""
    for _ in range(MAX_DRAFTS):
        text, n_counted = _Draft(plan, habits, limits, random.Random(seed)).answer(n_body)
        if target is None or n_body is None or wanted_words.hold(n_counted):
            break
        n_body = max(1, n_body + (target - n_counted) // wanted_words.unit)
    return text


def _limits(plan: Plan) -> Limits:
    """Returns what the words of an answer must be like."""
    counts = plan.counts()
    rare = frozenset(c.lower() for c, relation, _ in counts if len(c) == 1 and relation == "atmost")
    return Limits(
        banned=frozenset(ban.lower() for ban in plan.texts("ban")),
        letters=frozenset(plan.texts("ban letter")),
        rare=rare,
        n_letters=plan.number("atmost letter in word") or 99,
    )


class _Draft:
    """One answer being written."""

    def __init__(self, plan: Plan, habits: Habits, limits: Limits, rng: random.Random) -> None:
        self._plan = plan
        self._habits = habits
        self._limits = limits
        self._rng = rng
        topic = [w for w in topic_words(plan, limits) if statement(w).stems]
        self._topic = topic
        self._body = Body(plan, topic, habits, limits, rng)

    def answer(self, n_words: int | None) -> tuple[str, int]:
        """Returns the answer with a body of so many words, and the number of words that count."""
        plan = self._plan
        title, postscript = self._title(), self._postscript()
        text = self._text(n_words)
        text = self._open(self._close(text))
        parts = [self._task(), title, text, *self._below(), postscript]
        text = layout.prefixed(plan, "\n".join(part for part in parts if part), self._habits)
        text = self._cased(text)
        if plan.text("repeat") == "answer":
            text = layout.doubled(plan, text, self._habits)
        uncounted = plan.texts("uncounted")
        n_counted = _n_words(text)
        n_counted -= _n_words(title) if "title" in uncounted else 0
        n_counted -= _n_words(postscript) if "postscript" in uncounted else 0
        return self._wrapped(text), n_counted

    def _text(self, n_words: int | None) -> str:
        """Returns the body: sentences in lines, lists or groups."""
        plan, rng, habits = self._plan, self._rng, self._habits
        items, groups = n_items(plan, rng), n_groups(plan, rng)
        n_parts = items + max(0, groups - 1) if items else groups
        n_fixed = n_sentences(plan, n_parts, habits, rng)
        each = lengths(plan, n_fixed, n_parts, n_words, habits, rng)
        firsts = [part[0] for part in layout.chunks(len(each), n_parts) if part] if n_parts else [0]
        sentences = self._body.fill(each, firsts)
        texts = [sentence.text() for sentence in sentences]
        return layout.set_out(plan, texts, items, groups, habits, self._body.picker)

    def _title(self) -> str:
        plan = self._plan
        if not plan.text("title"):
            return ""
        opening, closing = plan.mark("title marks") or self._habits.pick("title", TITLES)
        words = [word.capitalize() for word in self._topic[-3:]] or ["Notes"]
        return f"{opening}{' '.join(words)}{closing}"

    def _task(self) -> str:
        """Returns the request again, if the answer is to begin with it."""
        plan = self._plan
        if plan.text("repeat") != "request":
            return ""
        task = plan.text("repeated") or plan.task
        style = plan.text("repeat style") or self._habits.pick("repeat", REPEATS)
        return {"quoted": f'"{task}"', "announced": f"The task is: {task}"}.get(style, task)

    def _open(self, text: str) -> str:
        start = self._plan.text("start")
        if not start:
            return text
        if text[:1].isupper() and "\n" not in text:
            return f"{start} {text[0].lower()}{text[1:]}"
        return f"{start}\n{text}"

    def _close(self, text: str) -> str:
        end = self._plan.text("end")
        if not end:
            return text
        style = self._plan.text("end style") or self._habits.pick("ending", ENDINGS)
        if style == "remark after" and end == self._plan.text("start"):
            # Who frames a text by a phrase adds nothing outside of the frame.
            style = "own line"
        if style == "own line":
            return f"{text}\n{end}"
        if style == "remark after":
            return f"{text}\n{end}\n{self._body.sentence(4)}"
        return f"{text} {end}{'.' * (style == 'full stop' and end[-1:].isalnum())}"

    def _below(self) -> list[str]:
        """Returns what stands below the text, a line each."""
        plan, habits, picker = self._plan, self._habits, self._body.picker
        below: list[str] = []
        if plan.text("table"):
            below.append(layout.table(plan, habits, picker, self._rng))
        n_tags = wanted(plan, "hashtag", self._rng)
        if n_tags:
            tags = " ".join(f"#{picker.pick(picker.words.nouns)}" for _ in range(min(n_tags, 30)))
            place = plan.text("hashtag place") or habits.pick("hashtags", HASHTAG_PLACES)
            below.append(tags if place == "last line" else f"{self._body.sentence(5)} {tags}")
        name = plan.text("signature")
        if name:
            mark = plan.text("signature mark")
            mark = habits.pick("signature", SIGNATURES) if mark is None else mark
            mark = f"{mark} " if mark and not mark.endswith(" ") else mark
            below.append(f"{mark}{name}")
        return below

    def _postscript(self) -> str:
        if not self._plan.text("postscript"):
            return ""
        mark = self._plan.text("postscript mark") or self._habits.pick("postscript", POSTSCRIPTS)
        return f"{mark} {self._body.sentence(5)}"

    def _cased(self, text: str) -> str:
        plan = self._plan
        case = plan.text("case")
        if case == "lower":
            return text.lower()
        if case == "upper":
            return text.upper()
        if case == "title":
            style = plan.text("title case") or self._habits.pick("title case", TITLE_CASES)
            small = _SMALL if style == "small words small" else frozenset[str]()
            return _WORD.sub(lambda m: m[0] if m[0] in small else m[0][0].upper() + m[0][1:], text)
        if case == "alternate":
            turn = iter(range(1 << 30))
            return _WORD.sub(lambda m: m[0].upper() if next(turn) % 2 else m[0].lower(), text)
        return text

    def _wrapped(self, text: str) -> str:
        """Returns the text inside of what surrounds the whole."""
        plan, habits = self._plan, self._habits
        if plan.text("format") == "json":
            key = plan.text("json key") or habits.pick("json key", JSON_KEYS)
            text = json.dumps({key: text}, ensure_ascii=False)
            style = plan.text("json style") or habits.pick("json style", JSON_STYLES)
            if style == "fenced":
                return f"```json\n{text}\n```"
            return f"Here is the answer:\n{text}" if style == "announced" else text
        if plan.text("format") == "code":
            fence = plan.text("fence") or habits.pick("fence", FENCES)
            if not fence.strip():
                return "\n".join(fence + line for line in text.split("\n"))
            text = f"{fence}\n{text}\n{fence}"
        tag = plan.text("tag")
        if tag:
            opening, closing = plan.mark("tag marks") or habits.pick("tag", TAGS)
            last = f"{opening}/{tag}{closing}" if closing else ""
            text = f"{opening}{tag}{closing}\n{text}\n{last}".rstrip("\n")
        if plan.text("wrap"):
            opening, closing = plan.mark("quote marks") or habits.pick("quotes", QUOTES)
            return f"{opening}{text}{closing}"
        return text


def _n_words(text: str) -> int:
    return len(_WORD.findall(text))
