"""How often the simulated reader meets each kind of constraint, alone in a request.

Run: python benchmarks/reader_kinds.py [number of examples] [part of an id ...]. Columns: requests
in full wording and the bare prompt; terse requests and the bare prompt; terse requests and the
sentence of feedback that a failure gave, as the prompt (the oracle of the kind); terse requests
and a lesson that a faultless reflector drew from a failure on another example; the share of
failures that are understood.
"""

import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from flashevolve.llm.messages import system, user
from flashevolve.simulate.lessons import Trace, learn, phrase
from flashevolve.simulate.reader import TextReader
from flashevolve.simulate.world import load_world
from flashevolve.workloads.instructions import score
from flashevolve.workloads.instructions.drawing import Deck, draw
from flashevolve.workloads.instructions.generator import generate
from flashevolve.workloads.instructions.kinds import ALL_KINDS, DEFAULT_KINDS, UNSEEN
from flashevolve.workloads.instructions.vocabulary import SPLITS
from flashevolve.workloads.instructions.wording import FORMS, QUESTIONS, ways

BARE = "Follow the instructions."
PROBE = "Yes, it is; and 3 of (us) think: so what? The fox - a good quiet one - is here!\n\nno\n"
WORLD = load_world()
FAULTLESS = replace(
    WORLD.reader, vague_rate=0, wrong_rate=0, overreach_rate=0, over_specific_rate=0, misread_rate=0
)
READER = TextReader(WORLD.reader)


def examples(kind: str, n: int, *, full: bool) -> list[dict[str, Any]]:
    """Returns examples with one constraint of a kind."""
    rng = random.Random(kind)
    words = SPLITS["test" if kind in UNSEEN else "val"]
    made = []
    for key in range(n):
        forms = QUESTIONS if kind == "detectable_format:constrained_response" else FORMS
        topic = rng.choice(forms).format(subject=rng.choice(words.subjects))
        kwargs = draw(kind, rng, Deck(words, rng), topic)
        prompt = f"{topic} {rng.choice(ways(kind, kwargs, full=full))}"
        made.append(
            {"key": key, "prompt": prompt, "instruction_id_list": [kind], "kwargs": [kwargs]}
        )
    return made


def answer(prompt: str, example: dict[str, Any], n: int = 0) -> str:
    """Returns the reader's answer."""
    rng = random.Random(f"{n}/{example['key']}")
    return READER.answer([system(prompt), user(example["prompt"])], rng)


def rate(prompts: Sequence[str], made: Sequence[dict[str, Any]]) -> float:
    """Returns the mean score."""
    return fmean(score(e, answer(p, e))[0] for p, e in zip(prompts, made, strict=True))


def failure(example: dict[str, Any]) -> str:
    """Returns what a failure on an example is told; empty if it cannot fail."""
    texts = [*(answer(BARE, example, n) for n in range(4)), PROBE, "x", PROBE.upper()]
    found = (score(example, text) for text in texts)
    return next((said for value, said in found if value < 1), "")


def row(kind: str, n: int) -> list[float]:
    """Returns the columns of one kind."""
    full, terse = examples(kind, n, full=True), examples(kind, n, full=False)
    said = [failure(example) for example in terse]
    lessons = [
        learn([Trace(e["prompt"], "x", text)]) if text else []
        for e, text in zip(terse, said, strict=True)
    ]
    rng = random.Random(1)
    known = [phrase(found[0], rng, FAULTLESS) for found in lessons if found] or [BARE]
    others = [known[(i + 1) % len(known)] for i in range(n)]
    return [
        rate([BARE] * n, full),
        rate([BARE] * n, terse),
        rate(said, terse),
        rate([f"{BARE}\n{one}" for one in others], terse),
        fmean(bool(found) for found in lessons),
    ]


def main() -> None:
    """Prints a row per kind, their means, and the bare prompt on the generated task."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    kinds = [k for k in ALL_KINDS if not sys.argv[2:] or any(p in k for p in sys.argv[2:])]
    print(f"simulated, world {WORLD.hash}")
    names = ("full", "terse", "oracle", "lesson", "learnt")
    print(f"{'kind':50}" + "".join(f"{name:>8}" for name in names), f"{'n':>5}")
    rows = {kind: row(kind, n) for kind in kinds}
    for kind, values in rows.items():
        print(f"{kind:50}" + "".join(f"{value:8.2f}" for value in values), f"{n:5}")
    means = [fmean(column) for column in zip(*rows.values(), strict=True)]
    print(f"{'mean of ' + str(len(rows)):50}" + "".join(f"{value:8.2f}" for value in means))
    for label, chosen in (("default kinds", DEFAULT_KINDS), ("all kinds", ALL_KINDS)):
        made = generate(0, 0, 0, 500, kinds=chosen)["test"]
        print(f"bare prompt, {label}: {rate([BARE] * len(made), made):.3f}")


if __name__ == "__main__":
    main()
