"""Lessons: what a reader makes of feedback, from nothing but the text in front of it.

A sentence of feedback becomes a lesson if it reports a failure and the reader can tell what in the
example it speaks about; otherwise it is not understood. A lesson is general (what belongs to the
one example is dropped) or over-specific (it is kept), and may be vague (the rule is lost), wrong
(misread) or said to hold always.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from flashevolve.simulate.attention import ReaderParameters, misread
from flashevolve.simulate.demands import understand
from flashevolve.simulate.sections import Section
from flashevolve.simulate.statements import QUOTE, Statement, read, relatedness, statement


@dataclass(frozen=True)
class Trace:
    """One example as the prompt shows it."""

    inputs: str
    output: str
    feedback: str


@dataclass(frozen=True)
class Lesson:
    """What a failure taught."""

    said: str
    """The sentence of feedback, or its part that states what should be."""
    about: tuple[str, ...]
    """Words of the request that it speaks about."""
    specific: tuple[str, ...]
    """Its literals and numbers that belong to the one example."""
    n_traces: int = 1


_DUTY = r"must|should|needs?|ha(?:s|ve) to|required|expected|ought|cannot|may|shall"
_NORMATIVE = re.compile(rf"(?i)\b(?:{_DUTY}|only|never)\b")
_FAILURE = re.compile(
    rf"(?i)\b(?:{_DUTY}|missing|wrong|not|no|fail\w*|incorrect|instead|lacks?|too|violat\w*)\b"
)
_CLAUSES = re.compile(r";\s+|,?\s+but\s+|,\s+(?:while|whereas)\s+|\s+[-–—]\s+")
_MARKED = re.compile(r"\W+(\w.*?)\W*")
"""A literal that stands between marks."""
RELATED = 0.2
"""Least relatedness of feedback and request at which a reader sees what the feedback is about."""
ASKS_THE_SAME = 0.5
"""What it adds to relatedness that both ask for one and the same thing."""
SAME = 0.7
"""Least relatedness at which two sentences pass for the same lesson."""


def traces(parts: Sequence[Section]) -> list[Trace]:
    """Returns the examples in a prompt: runs of inputs, output and feedback.

    What follows the last feedback after a blank line belongs to the prompt, unless earlier feedback
    has as many paragraphs.
    """
    found: list[Trace] = []
    inputs: list[str] = []
    output: list[str] = []
    feedback: list[str] = []

    def flush() -> None:
        if inputs or output or feedback:
            found.append(Trace("\n".join(inputs), "\n".join(output), "\n".join(feedback)))
        inputs.clear()
        output.clear()
        feedback.clear()

    for part in parts:
        own = part.path[-1] if part.path else ""
        if part.about("feedback", "critique", "evaluation"):
            feedback.append(part.text)
        elif part.about("output", "response", "answer"):
            output.append(part.text)
        elif part.about("input", "question", "request"):
            if feedback:
                flush()
            inputs.append(part.text)
        elif "example" in own:
            flush()
    flush()
    found = [t for t in found if t.inputs.strip() and (t.output.strip() or t.feedback.strip())]
    if found:
        n_usual = max((len(_paragraphs(t.feedback)) for t in found[:-1]), default=1)
        kept = _paragraphs(found[-1].feedback)[: max(1, n_usual)]
        found[-1] = replace(found[-1], feedback="\n\n".join(kept))
    return found


def _paragraphs(text: str) -> list[str]:
    return [part for part in re.split(r"\n\s*\n", text) if part.strip()]


def learn(shown: Sequence[Trace]) -> list[Lesson]:
    """Returns the lessons of several traces, those that agree merged into one."""
    merged: list[tuple[Statement, Lesson]] = []
    for trace in shown:
        for lesson in _from_trace(trace):
            said = statement(lesson.said)
            for i, (known, old) in enumerate(merged):
                if relatedness(known, said) >= SAME:
                    merged[i] = (
                        known,
                        Lesson(old.said, old.about, old.specific, old.n_traces + 1),
                    )
                    break
            else:
                merged.append((said, lesson))
    return [lesson for _, lesson in merged]


def phrase(lesson: Lesson, rng: random.Random, parameters: ReaderParameters) -> str:
    """Returns the lesson as a piece of advice."""
    if rng.random() < parameters.vague_rate:
        return f"Pay attention to what is asked about the {' and the '.join(lesson.about[:2])}."
    specific = rng.random() < parameters.over_specific_rate**lesson.n_traces
    said = lesson.said if specific else _generalise(lesson)
    if rng.random() >= parameters.overreach_rate:
        subject = " or ".join(lesson.about[:2])
        said = f"When the request speaks of {subject}: {said[0].lower()}{said[1:]}"
    if rng.random() < parameters.wrong_rate:
        said = misread(said, rng)
    return said[0].upper() + said[1:].rstrip(".") + "."


def _from_trace(trace: Trace) -> list[Lesson]:
    """Returns the lessons of one trace; none if most of its feedback seems to be about another."""
    asked = read(trace.inputs)
    failures = [said for said in read(trace.feedback) if _FAILURE.search(said.text)]
    lessons = [lesson for said in failures if (lesson := _lesson(said, asked))]
    return lessons if 2 * len(lessons) > len(failures) else []


def _lesson(sentence: Statement, asked: Sequence[Statement]) -> Lesson | None:
    near = max(asked, key=lambda a: _nearness(a, sentence), default=None)
    if near is None or _nearness(near, sentence) < RELATED or _contradict(near, sentence):
        return None
    clauses = _CLAUSES.split(sentence.text)
    kept = [clause for clause in clauses if _NORMATIVE.search(clause)] or clauses
    rule = statement("; ".join(kept))
    given = " ".join(a.text for a in asked).lower()
    numbers = {n for a in asked for n in a.numbers}
    own = [one for one in sentence.literals if one[:1].isalnum() and one.lower() in given]
    own += [n for n in rule.numbers if n in numbers]
    named = {one.strip().lower() for a in asked for one in a.literals}
    marked = (_MARKED.fullmatch(one) for one in sentence.literals)
    own += [match[1] for match in marked if match and match[1].lower() in named]
    shared = sentence.stems & near.stems
    about = _words_about(near, shared or near.stems)
    if not about:
        return None
    return Lesson(rule.text, about, tuple(own))


def _nearness(asked: Statement, sentence: Statement) -> float:
    """Returns how near feedback is to a part of the request: in words, or in what they ask."""
    wanted = set(understand(asked).demands) & set(understand(sentence).demands)
    return relatedness(asked, sentence) + (ASKS_THE_SAME if wanted else 0.0)


def _words_about(asked: Statement, stems: frozenset[str]) -> tuple[str, ...]:
    """Returns the words of a request, or else runs of them, that have one of the stems."""
    words = re.findall(r"[A-Za-z]+", QUOTE.sub("", asked.text).lower())
    for n in (1, 2, 3):
        runs = [" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]
        found = [run for run in runs if _in(run, stems)]
        if found:
            return tuple(dict.fromkeys(found))
    return ()


def _generalise(lesson: Lesson) -> str:
    """Returns the lesson without what belongs to the one example."""
    said = lesson.said
    for own in lesson.specific:
        if own.isdigit():
            bound = r"(?:exactly |at least |at most |no more than |no fewer than )?"
            said = re.sub(rf"(?i)\b{bound}{own}\b", "the requested number of", said)
        else:
            bare = re.sub(rf"""\s*["'“`]{re.escape(own)}["'”`]""", "", said, flags=re.IGNORECASE)
            # What stands inside of marks leaves its place to any name: "-- Ann" is "-- name".
            said = bare if bare != said else re.sub(rf"(?<!\w){re.escape(own)}(?!\w)", "name", said)
    return said


def _contradict(asked: Statement, sentence: Statement) -> bool:
    """Tells whether feedback names other numbers or words than the request that it would fit."""
    wanted = {(d.slot, d.value) for d in understand(asked).demands}
    named = {(d.slot, d.value) for d in understand(sentence).demands}
    slots = {slot for slot, _ in wanted} & {slot for slot, _ in named}
    return any(not {w for w in wanted & named if w[0] == slot} for slot in slots)


def _in(word: str, stems: frozenset[str]) -> bool:
    return bool(statement(word).stems & stems)
