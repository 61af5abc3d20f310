"""Prompts worded by hand in several ways: one example list, one pair of texts, many templates."""

import json
from collections.abc import Callable, Sequence

from flashevolve.simulate.lessons import Trace

Reflection = Callable[[str, Sequence[Trace]], str]
Repair = Callable[[str, str], str]


def markdown(old: str, shown: Sequence[Trace]) -> str:
    """Headings of other words, the old text without a fence, the order of things turned round."""
    cases = "\n".join(
        f"## Case {k}\n### What it was asked\n{t.inputs}\n### What it wrote\n{t.output}\n"
        f"### Remarks\n{t.feedback}\n"
        for k, t in enumerate(shown, 1)
    )
    return (
        "A writing assistant follows a set of guidelines. Rework them in the light of the cases "
        "that a reviewer commented on. Print the reworked guidelines between two lines of three "
        f"backticks.\n\n{cases}\n# The guidelines at present\n{old}\n"
    )


def tags(old: str, shown: Sequence[Trace]) -> str:
    """Tags in place of headings, and the bare text wanted back."""
    cases = "\n".join(
        f"<sample>\n<question>{t.inputs}</question>\n<reply>\n{t.output}\n</reply>\n"
        f"<critique>\n{t.feedback}\n</critique>\n</sample>"
        for t in shown
    )
    return (
        "You are the editor of a prompt.\n<prompt>\n" + old + "\n</prompt>\n\n"
        "Graders looked at these replies:\n" + cases + "\n\n"
        "Revise the prompt so that the next replies please them. Say nothing but the prompt."
    )


def labels(old: str, shown: Sequence[Trace]) -> str:
    """Labelled lines, and a JSON object wanted back."""
    cases = "\n\n".join(
        f"Attempt {k}:\nTask: {t.inputs}\nResult: {t.output}\nAssessment: {t.feedback}"
        for k, t in enumerate(shown, 1)
    )
    return (
        f'The directions for a clerk are these:\n"""\n~~~\n{old}\n~~~\n"""\n'
        f"Here is how the work went.\n\n{cases}\n\n"
        'Write better directions. Return a JSON object: {"why": "one line", "directions": "..."}.'
    )


def data(old: str, shown: Sequence[Trace]) -> str:
    """Everything as JSON in fences."""
    cases = [{"query": t.inputs, "answer": t.output, "evaluation": t.feedback} for t in shown]
    return (
        f"Instruction under revision:\n```text\n{old}\n```\nLogged samples with evaluations:\n"
        f"```json\n{json.dumps(cases, indent=1)}\n```\n"
        "Propose an improved instruction inside a code block."
    )


REFLECTIONS: dict[str, Reflection] = {
    "markdown": markdown,
    "tags": tags,
    "labels": labels,
    "data": data,
}


def outdated(stale: str, current: str) -> str:
    """Other headings in another order."""
    return (
        f"# Newest wording\n```\n{current}\n```\n# Outdated wording\n```\n{stale}\n```\n"
        "# What changed meanwhile\nSomebody added a line.\n\n"
        'Say what to do with the outdated one. JSON only: {"verdict": "accept", "patch" or '
        '"discard", "reason": "...", "components": {"system": "..."}}'
    )


def tagged(stale: str, current: str) -> str:
    """Tags and no fence."""
    return (
        f"<proposal>\n{stale}\n</proposal>\n<head>\n{current}\n</head>\n"
        "The proposal was made before the head moved. Your verdict is one of discard, patch, "
        'accept. Reply as JSON with "verdict", "reason" and, for a patch, "components".'
    )


def unnamed(stale: str, current: str) -> str:
    """No headings at all: the order decides."""
    return (
        f"A colleague sent this in:\n```\n{stale}\n```\nIn the meantime we arrived at:\n"
        f"```\n{current}\n```\nShould we accept, patch or discard? Answer in JSON, key `verdict`."
    )


REPAIRS: dict[str, Repair] = {"outdated": outdated, "tagged": tagged, "unnamed": unnamed}
