"""What text does in the simulated world, under two readers, and how noisy its scores are.

    .venv/bin/python benchmarks/world.py [--units 100] [--all-kinds] [--json F]

Each line is an effect on the score, as a mean over units with two standard errors: a test example
(the same draw on both sides) for effects of a prompt, a step on fresh training examples for
effects of reflecting, merging and repairing. The second reader is simpler (`simple_reader.py`): an
effect whose sign is the same under both does not depend on how the first one is made. Below stand
the noise of one score and the rate at which an unchanged child passes GEPA's gate.

Everything here is simulated and describes this world only. The last column compares signs and
judges nothing: no figure is a target.
"""

import argparse
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, pvariance, stdev
from typing import Any

from gate import pass_rate

from flashevolve.llm.messages import system, user
from flashevolve.simulate.model import Reader
from flashevolve.simulate.reader import TextReader
from flashevolve.simulate.simple_reader import SimpleReader
from flashevolve.simulate.world import load_world
from flashevolve.workloads.instructions import generate, score
from flashevolve.workloads.instructions.kinds import ALL_KINDS, DEFAULT_KINDS

BARE = "Answer the request."
RULES = (
    'Begin every bullet line with "* ".',
    'Put any title on the first line between "<<" and ">>".',
    'A postscript begins with "P.S.".',
    'Between paragraphs put a separator line "***".',
    "Write every placeholder in square brackets.",
    'Between two different answers put a line "******".',
    'Begin every heading line with "## ".',
    'Make a phrase bold with "**" on each side.',
    'A signature is the last line and begins with "-- ".',
)
FILLER = tuple(f"The archive of year {1900 + k} holds maps of region {k}." for k in range(50))
OPPOSITE = (
    'Begin every bullet line with "+ ".',
    'Put any title between "[" and "]".',
    'A postscript begins with "PPS".',
    'Between paragraphs put a separator line "---".',
    'Begin every heading line with "# ".',
    'A signature begins with "by ".',
    "Write every placeholder in round brackets.",
)
N_SCORED = 40
"""Test examples on which the text of one step is scored."""


def text_of(*said: str) -> str:
    """Returns a prompt of the bare one and further lines."""
    return "\n".join([BARE, *said])


@dataclass(frozen=True)
class Estimate:
    """A mean over units."""

    mean: float
    error: float
    """Two standard errors."""

    @property
    def sign(self) -> str:
        """`+` or `-`; `0` if the interval holds it."""
        return "0" if abs(self.mean) <= self.error else "+" if self.mean > 0 else "-"

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ± {self.error:.3f}"


def estimate(values: Sequence[float]) -> Estimate:
    """Returns the mean of at least two values."""
    return Estimate(fmean(values), 2 * stdev(values) / len(values) ** 0.5)


class Lab:
    """One reader on one set of examples."""

    def __init__(self, reader: Reader, data: Mapping[str, Sequence[Any]]) -> None:
        self.reader = reader
        self.train, self.test = data["train"], data["test"]

    def ask(self, text: str, draw: object) -> str:
        """Returns the reader's reply to one user message."""
        return self.reader.answer([user(text)], random.Random(f"ask {draw}"))

    def answer(self, prompt: str, example: Any, draw: object = 0) -> str:
        """Returns the reader's answer to an example."""
        messages = [system(prompt), user(example["prompt"])]
        return self.reader.answer(messages, random.Random(f"{draw}/{example['key']}"))

    def score(self, prompt: str, example: Any, draw: object = 0) -> float:
        """Returns the score of one answer."""
        return score(example, self.answer(prompt, example, draw))[0]

    def mean(self, prompt: str, draw: object) -> float:
        """Returns the mean score on examples that belong to the draw."""
        chosen = random.Random(f"scored {draw}").sample(self.test, N_SCORED)
        return fmean(self.score(prompt, example, draw) for example in chosen)

    def stranger(self, example: Any, rng: random.Random) -> Any:
        """Returns a training example that shares no kind of constraint."""
        kinds = set(example["instruction_id_list"])
        return rng.choice([e for e in self.train if kinds.isdisjoint(e["instruction_id_list"])])

    def child(self, parent: str, feedback: str, unit: int) -> str:
        """Returns a text reflected from three examples; feedback is `own`, `other` or `none`."""
        rng = random.Random(f"batch {unit}")
        parts = [f"Improve the instructions of an assistant. They read:\n\n```\n{parent}\n```\n"]
        for k, example in enumerate(rng.sample(self.train, 3), 1):
            source = example if feedback == "own" else self.stranger(example, rng)
            said = "" if feedback == "none" else score(source, self.answer(parent, source, k))[1]
            parts.append(f"# Example {k}\n## Inputs\n{example['prompt']}")
            parts.append(f"## Output\n{self.answer(parent, example, k)}\n## Feedback\n{said}\n")
        parts.append("Rewrite the instructions so that each input like these is answered better.")
        parts.append("Give the new text within a fenced block.")
        return fenced(self.ask("\n".join(parts), unit))

    def merged(self, one: str, other: str, unit: int) -> str:
        """Returns two texts merged into one."""
        return fenced(
            self.ask(
                "Merge these two prompts into one that holds what both of them say.\n\n"
                f"# Prompt 1\n```\n{one}\n```\n\n# Prompt 2\n```\n{other}\n```\n\n"
                "Give the merged prompt within a fenced block.",
                unit,
            )
        )

    def repaired(self, stale: str, current: str, unit: int) -> str:
        """Returns what a repair leaves to go on with; the current text where it discards."""
        reply = self.ask(
            "The text below was proposed on an older version.\n\n"
            f"## Stale text\n### system\n```\n{stale}\n```\n\n"
            f"## Current text\n### system\n```\n{current}\n```\n\n"
            "## Updates since\nThe current text got a new rule.\n\n"
            'Reply with one JSON object: {"verdict": "accept" | "patch" | "discard", '
            '"reason": "...", "components": {"system": "..."}}.',
            unit,
        )
        told = json.loads(reply)
        chosen = {"accept": stale, "discard": current}
        return str(chosen.get(told["verdict"]) or told["components"]["system"])


def fenced(reply: str) -> str:
    """Returns what stands in a reply's first fence."""
    return reply.split("```")[1].strip()


def of_prompts(better: str, worse: str, lab: Lab, units: int) -> Estimate:
    """Returns the difference of two prompts, paired by example."""
    return estimate([lab.score(better, e) - lab.score(worse, e) for e in lab.test])


def of_feedback(feedback: str, against: str, lab: Lab, units: int) -> Estimate:
    """Returns the difference between children reflected from two kinds of feedback."""
    made = [(lab.child(BARE, feedback, u), lab.child(BARE, against, u)) for u in range(units)]
    return estimate([lab.mean(a, u) - lab.mean(b, u) for u, (a, b) in enumerate(made)])


def of_child(parent: str, lab: Lab, units: int) -> Estimate:
    """Returns the difference between a child and its parent."""
    made = [lab.child(parent, "own", u) for u in range(units)]
    return estimate([lab.mean(text, u) - lab.mean(parent, u) for u, text in enumerate(made)])


def of_merge(lab: Lab, units: int) -> Estimate:
    """Returns the difference between a merged text and the better of its two halves."""
    values = []
    for unit in range(units):
        rules = random.Random(f"rules {unit}").sample(RULES, len(RULES))
        one, other = text_of(*rules[:4]), text_of(*rules[4:8])
        both = lab.merged(one, other, unit)
        values.append(lab.mean(both, unit) - max(lab.mean(one, unit), lab.mean(other, unit)))
    return estimate(values)


def of_repair(against: str, lab: Lab, units: int) -> Estimate:
    """Returns the difference between a repaired text and the `stale` or the `current` one."""
    values = []
    for unit in range(units):
        rules = random.Random(f"rules {unit}").sample(RULES, 4)
        texts = {"stale": text_of(*rules[:2]), "current": text_of(*rules[2:])}
        new = lab.repaired(texts["stale"], texts["current"], unit)
        values.append(lab.mean(new, unit) - lab.mean(texts[against], unit))
    return estimate(values)


def pasted(lab: Lab) -> str:
    """Returns the bare prompt with training requests and good answers to them."""
    oracle = text_of(*RULES)
    return text_of(*(f"{e['prompt']}\n{lab.answer(oracle, e)}" for e in lab.train[:12]))


Effect = Callable[[Lab, int], Estimate]


def effects(lab: Lab) -> dict[str, Effect]:
    """Returns the effects by what they are called."""
    oracle = text_of(*RULES)
    entity = 'The word "lantern" must appear at least 3 times.'
    return {
        "nine true rules, against none": partial(of_prompts, oracle, BARE),
        "six true rules, against three": partial(
            of_prompts, text_of(*RULES[:6]), text_of(*RULES[:3])
        ),
        "true rules amid 50 idle lines, against alone": partial(
            of_prompts, text_of(*RULES, *FILLER), oracle
        ),
        "true and opposite rules, against true ones": partial(
            of_prompts, text_of(*RULES, *OPPOSITE), oracle
        ),
        "pasted training answers, against none": partial(of_prompts, pasted(lab), BARE),
        "advice about one entity, against none": partial(of_prompts, text_of(entity), BARE),
        "advice without content, against none": partial(
            of_prompts, text_of("Think step by step."), BARE
        ),
        "reflection on own feedback, against blind": partial(of_feedback, "own", "none"),
        "reflection on others' feedback, against blind": partial(of_feedback, "other", "none"),
        "a child of the bare prompt, against it": partial(of_child, BARE),
        "a child of the nine rules, against them": partial(of_child, oracle),
        "two halves merged, against the better half": of_merge,
        "a repaired text, against the stale one": partial(of_repair, "stale"),
        "a repaired text, against the current one": partial(of_repair, "current"),
    }


def unchanged_child(prompt: str, lab: Lab, n: int = 1000) -> float:
    """Returns the rate at which the same text, asked again, beats itself on three examples."""
    scores = []
    for k in range(n):
        batch = random.Random(f"gate {k}").sample(lab.train, 3)
        parent, child = ([lab.score(prompt, e, f"{side}{k}") for e in batch] for side in "pc")
        scores.append((parent, child))
    return pass_rate(scores)


def noise(prompt: str, lab: Lab, n_draws: int = 8) -> tuple[float, float]:
    """Returns the standard deviations of a score between calls, and between examples."""
    scores = [[lab.score(prompt, e, d) for d in range(n_draws)] for e in lab.test[:200]]
    within = fmean(pvariance(drawn) * n_draws / (n_draws - 1) for drawn in scores)
    between = pvariance([fmean(drawn) for drawn in scores])
    return within**0.5, max(0.0, between - within / n_draws) ** 0.5


def main() -> None:
    """Prints effects, signs, gate rates and noise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--units", type=int, default=100, help="steps behind each effect of one")
    parser.add_argument("--all-kinds", action="store_true", help="all kinds of constraints")
    parser.add_argument("--json", type=Path, help="also write the rows there")
    options = parser.parse_args()
    world = load_world()
    kinds = ALL_KINDS if options.all_kinds else DEFAULT_KINDS
    data = generate(0, 200, 0, 600, kinds=kinds)
    labs = [Lab(TextReader(world.reader), data), Lab(SimpleReader(world.reader), data)]
    print(f"simulated, world {world.hash}: {len(kinds)} kinds, 600 test examples, ", end="")
    print(f"{options.units} steps; mean ± two standard errors\n")
    print(f"{'effect on the score':<48}{'reader':<18}{'simpler reader':<18}signs")
    rows = []
    for name in effects(labs[0]):
        one, other = (effects(lab)[name](lab, options.units) for lab in labs)
        same = "same" if one.sign == other.sign else "differ"
        print(f"{name:<48}{one!s:<18}{other!s:<18}{one.sign} {other.sign} {same}", flush=True)
        rows.append({"effect": name, "reader": vars(one), "simpler": vars(other)})
    print()
    prompts = {"bare": BARE, "three rules": text_of(*RULES[:3]), "nine rules": text_of(*RULES)}
    for name, prompt in prompts.items():
        level = " / ".join(f"{fmean(lab.score(prompt, e) for e in lab.test):.3f}" for lab in labs)
        gate = " / ".join(f"{unchanged_child(prompt, lab):.1%}" for lab in labs)
        calls, examples = noise(prompt, labs[0])
        print(f"{name:<12} mean score {level}; an unchanged child passes the gate {gate}; ", end="")
        print(f"deviation between calls {calls:.3f}, between examples {examples:.3f}")
    if options.json:
        options.json.write_text(json.dumps({"world": world.hash, "effects": rows}, indent=2))


if __name__ == "__main__":
    main()
