"""Body: the sentences of an answer, with all that the plan wants to stand in them."""

import random
import re
from collections.abc import Iterator

from flashevolve.simulate.planning import Plan
from flashevolve.simulate.writing.habits import (
    COMMA_SUBSTITUTES,
    COMMAS,
    KEYWORD_TIMES,
    OPENING_CASES,
    Habits,
)
from flashevolve.simulate.writing.lexicon import (
    OPENERS,
    RICH,
    Limits,
    Picker,
    lexicon,
)
from flashevolve.simulate.writing.ornaments import ornament
from flashevolve.simulate.writing.sentences import Sentence, compose
from flashevolve.simulate.writing.sizes import ONE_MORE, wanted
from flashevolve.simulate.writing.tongues import foreign_words

TOPIC_SHARE = 0.3
"""Of the sentences so many have a word of the request as their subject."""


class Body:
    """The sentences of one answer."""

    def __init__(
        self, plan: Plan, topic: list[str], habits: Habits, limits: Limits, rng: random.Random
    ) -> None:
        self._plan = plan
        self._topic = topic
        self._habits = habits
        self._limits = limits
        self._rng = rng
        fresh = bool(plan.number("atleast unique") or plan.number("exactly unique"))
        self.picker = Picker(lexicon(limits), rng, fresh=fresh)
        self.sentences: list[Sentence] = []

    def fill(self, lengths: list[int], first_of: list[int]) -> list[Sentence]:
        """Writes sentences of these lengths; `first_of` holds the first one of each group."""
        openers = list(self._openers(len(lengths), first_of))
        language = self._plan.text("language") or "english"
        for n_words, opener in zip(lengths, openers, strict=True):
            words = foreign_words(language, n_words, self._rng)
            if words is None:
                self.sentences.append(compose(n_words, self.picker, self._subject(), opener))
                continue
            words = [opener, *words[1:]] if opener else words
            words[0] = words[0][0].upper() + words[0][1:]
            self.sentences.append(Sentence(words, [len(words) - 1]))
        self._take_places()
        self._insert()
        self._spell()
        ornament(self._plan, self.sentences, self._next_word, self._habits, self._rng)
        self._punctuate()
        return self.sentences

    def sentence(self, n_words: int) -> str:
        """Returns one more sentence."""
        return compose(n_words, self.picker).text()

    def _subject(self) -> str:
        if self._topic and self._rng.random() < TOPIC_SHARE:
            return self._rng.choice(self._topic)
        return ""

    def _openers(self, n: int, first_of: list[int]) -> Iterator[str]:
        plan, named = self._plan, self._plan.openings()
        named = {k if k > 0 else len(first_of): word for k, word in named.items()}
        at = {first_of[k - 1]: word for k, word in named.items() if k <= len(first_of)}
        letters = plan.text("acrostic") or (plan.text("sentence letter") or "") * n
        lines = set(first_of) if plan.text("acrostic") else set(range(n))
        spelled = 0
        for i in range(n):
            if i in at:
                yield at[i]
            elif letters and i in lines and spelled < len(letters):
                yield self._opener(letters[spelled].lower())
                spelled += 1
            else:
                yield plan.text("sentence start") or ""

    def _opener(self, letter: str) -> str:
        own = [w for pool in (self.picker.words.adjectives, self.picker.words.nouns) for w in pool]
        fitting = [word for word in own if word[0] == letter] + [OPENERS.get(letter, letter)]
        return self._rng.choice(fitting)

    def _take_places(self) -> None:
        """Lists where nouns may be swapped, in random order, those of different sentences first."""
        rounds: list[list[tuple[Sentence, int]]] = []
        for one in self.sentences:
            for k, at in enumerate(one.nouns):
                if k == len(rounds):
                    rounds.append([])
                rounds[k].append((one, at))
        for places in rounds:
            self._rng.shuffle(places)
        self._places = [place for places in reversed(rounds) for place in places]
        self._others = [
            (one, at)
            for one in self.sentences
            for at in range(1, len(one.words) - 1)
            if at not in one.nouns
        ]
        self._rng.shuffle(self._others)

    def _next_place(self) -> tuple[Sentence, int]:
        """Returns a sentence and a position in it; a sentence grows if no place is left."""
        if self._places:
            return self._places.pop()
        one = self._rng.choice(self.sentences)
        one.extend(
            ["and", self.picker.words.determiners[0], self.picker.pick(self.picker.words.nouns)]
        )
        return one, len(one.words) - 1

    def _next_word(self) -> tuple[Sentence, int]:
        """Returns a place, or else any other word that no place was made of."""
        if not self._places and self._others:
            return self._others.pop()
        return self._next_place()

    def _insert(self) -> None:
        """Puts in what must occur."""
        plan = self._plan
        every = plan.text("sentence word")
        if every:
            for one in self.sentences:
                at = one.nouns.pop() if one.nouns else len(one.words) - 1
                one.words[at] = every
            self._take_places()
        order = plan.mark("order")
        for word in self._included():
            if order is None or word not in order:
                self._put(word)
        if order:
            self._put_in_order(*order)
        last = plan.text("last word")
        if last:
            end = self.sentences[-1]
            end.words[-1] = last
            self._places = [p for p in self._places if p != (end, len(end.words) - 1)]

    def _included(self) -> Iterator[str]:
        plan, rng = self._plan, self._rng
        counted = {literal: (relation, n) for literal, relation, n in plan.counts()}
        include = [w for w in plan.texts("include") if w.lower() not in self._limits.banned]
        for word in include:
            if word in counted:
                continue
            times = plan.number("times") or self._habits.pick("times", KEYWORD_TIMES)
            yield from [word] * min(times, 9)
        for word, (relation, n) in counted.items():
            if len(word) > 1 and word.lower() not in self._limits.banned:
                more = rng.random() < ONE_MORE if relation == "atleast" else 0
                yield from [word] * min(30, n + more if relation != "atmost" else min(n, 1))

    def _put(self, word: str) -> None:
        one, at = self._next_place()
        one.words[at] = word if at else word[0].upper() + word[1:]

    def _put_in_order(self, first: str, second: str) -> None:
        places = [self._next_place(), self._next_place()]
        places.sort(
            key=lambda p: (next(i for i, s in enumerate(self.sentences) if s is p[0]), p[1])
        )
        for (one, at), word in zip(places, (first, second), strict=True):
            one.words[at] = word

    def _spell(self) -> None:
        """Sees to letters that must occur often."""
        for letter, relation, n in self._plan.counts():
            if len(letter) != 1 or relation == "atmost":
                continue
            letter = letter.lower()
            for _ in range(40):
                if sum(w.lower().count(letter) for s in self.sentences for w in s.words) >= n:
                    break
                self._put(RICH.get(letter, letter))

    def _punctuate(self) -> None:
        """Sets pauses and the marks at the ends of sentences."""
        plan, rng = self._plan, self._rng
        banned = self._limits.banned
        pause = self._habits.pick("commas", COMMAS)
        if pause in banned:
            pause = self._habits.pick("no commas", COMMA_SUBSTITUTES)
        if pause and pause not in banned:
            for one in self.sentences:
                one.signs.update(dict.fromkeys(one.pauses, pause))
        n_left = wanted(plan, "semicolon", rng)
        for k in range(n_left):
            one = self.sentences[k % len(self.sentences)]
            at = [i for i in one.pauses if one.signs.get(i) != ";"] or [
                i for i in range(len(one.words) - 1) if one.signs.get(i) != ";"
            ]
            if at:
                one.signs[at[-1]] = ";"
        end = plan.text("sentence end")
        for one in self.sentences:
            one.end = end or ("" if "." in banned else ".")
        marks = ["?"] * wanted(plan, "question", rng) + ["!"] * wanted(plan, "exclamation", rng)
        for one, mark in zip(self.sentences, marks, strict=False):
            one.end = mark
        if plan.text("case") == "opening":
            style = plan.text("opening case") or self._habits.pick("opening case", OPENING_CASES)
            for one in self.sentences if style != "letter" else ():
                n = 2 if style == "two words" else 1
                one.words[:n] = [word.upper() for word in one.words[:n]]


def topic_words(plan: Plan, limits: Limits) -> list[str]:
    """Returns the words of the request that the answer may take up."""
    bare = (re.sub(r"[^\w'’-]", "", word).lower() for word in plan.topic)
    return [word for word in bare if word.isalpha() and limits.allow(word)]
