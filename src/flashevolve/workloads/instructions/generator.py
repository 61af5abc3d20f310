"""Generator: seeded examples in disjoint splits.

The splits share no subject and no word or phrase that a constraint asks for, so nothing but the
house rules carries over from one to another. The same arguments give the same files.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from flashevolve.errors import DataError
from flashevolve.workloads.instructions import vocabulary

Data = dict[str, Any]

CLASHES: tuple[frozenset[str], ...] = (
    frozenset({"title", "starts_with", "quoted", "json_object"}),
    frozenset({"ends_with", "postscript", "quoted", "json_object"}),
    frozenset({"bullets", "paragraphs", "sentences", "json_object"}),
    frozenset({"minimum_words", "maximum_words", "json_object"}),
    frozenset({"lowercase", "postscript", "starts_with", "ends_with"}),
    frozenset({"sentences", "postscript", "ends_with"}),
)
"""Of each set at most one is asked for, because two may be impossible to meet together."""

REQUESTS: Mapping[str, tuple[str, ...]] = {
    "minimum_words": ("Use at least {n} words.", "Write no fewer than {n} words."),
    "maximum_words": ("Use at most {n} words.", "Stay within a maximum of {n} words."),
    "no_commas": ("Do not use commas.", "Avoid commas."),
    "lowercase": ("Write everything in lowercase.", "Use only lowercase letters."),
    "keywords": (
        'Include the keywords "{a}" and "{b}".',
        'Mention both keywords "{a}" and "{b}".',
    ),
    "forbidden_word": ('Do not use the word "{word}".', 'Avoid the word "{word}".'),
    "bullets": ("Give exactly {n} bullet points.", "Answer as a list of {n} bullets."),
    "sentences": ("Write exactly {n} sentences.", "Use exactly {n} sentences."),
    "paragraphs": (
        "Write exactly {n} paragraphs.",
        "Divide the text into {n} paragraphs.",
    ),
    "title": ("Give it a title.", "Add a title."),
    "quoted": ("Wrap the whole answer in quotation marks.", "Put quotes around the whole answer."),
    "starts_with": ('Start with the phrase "{phrase}".', 'Begin with the phrase "{phrase}".'),
    "ends_with": ('End with the phrase "{phrase}".', 'Close with the phrase "{phrase}".'),
    "postscript": ("Add a postscript.", "Include a postscript."),
    "json_object": ("Answer with a JSON object.", "Return a JSON object."),
}
"""Kind -> ways in which a request asks for it; none spells out a house rule."""

_PARAMETERS: Mapping[str, Callable[[random.Random, vocabulary.Words], Data]] = {
    "minimum_words": lambda rng, _: {"n": rng.randrange(60, 121, 5)},
    "maximum_words": lambda rng, _: {"n": rng.randrange(16, 31, 2)},
    "keywords": lambda rng, words: {"words": rng.sample(words.keywords, 2)},
    "forbidden_word": lambda rng, words: {"word": rng.choice(words.common)},
    "bullets": lambda rng, _: {"n": rng.randint(3, 7)},
    "sentences": lambda rng, _: {"n": rng.choice((2, 3, 6, 7, 8))},
    "paragraphs": lambda rng, _: {"n": rng.randint(2, 5)},
    "starts_with": lambda rng, words: {"phrase": rng.choice(words.openings)},
    "ends_with": lambda rng, words: {"phrase": rng.choice(words.closings)},
}


def generate(
    seed: int = 0, n_train: int = 60, n_val: int = 60, n_test: int = 100
) -> dict[str, list[Data]]:
    """Returns examples under `train`, `val` and `test`.

    An example is `{"id", "request", "constraints"}` with one to three constraints.
    """
    sizes = {"train": n_train, "val": n_val, "test": n_test}
    if min(sizes.values()) < 0:
        raise DataError(f"split sizes must be 0 or more, got {sizes}")
    return {split: _split(split, size, seed) for split, size in sizes.items()}


def write(
    directory: str | Path, *, seed: int = 0, n_train: int = 60, n_val: int = 60, n_test: int = 100
) -> dict[str, Path]:
    """Writes `train.jsonl`, `val.jsonl` and `test.jsonl` and returns their paths by split."""
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    paths: dict[str, Path] = {}
    for split, examples in generate(seed, n_train, n_val, n_test).items():
        paths[split] = folder / f"{split}.jsonl"
        lines = "".join(json.dumps(example, ensure_ascii=False) + "\n" for example in examples)
        paths[split].write_text(lines, encoding="utf-8", newline="\n")
    return paths


def _split(split: str, size: int, seed: int) -> list[Data]:
    rng = random.Random(f"instructions/{seed}/{split}")
    words = vocabulary.SPLITS[split]
    seen: set[str] = set()
    examples: list[Data] = []
    while len(examples) < size:
        constraints = [_constraint(kind, rng, words) for kind in _kinds(rng)]
        request = _request(constraints, rng, words)
        if request in seen:
            continue
        seen.add(request)
        examples.append(
            {"id": f"{split}-{len(examples):04}", "request": request, "constraints": constraints}
        )
    return examples


def _kinds(rng: random.Random) -> list[str]:
    """Draws one to three kinds that can be met together."""
    wanted = rng.choice((1, 2, 2, 3))
    chosen: list[str] = []
    for kind in rng.sample(sorted(REQUESTS), len(REQUESTS)):
        if len(chosen) == wanted:
            break
        if not any(kind in clash and clash.intersection(chosen) for clash in CLASHES):
            chosen.append(kind)
    return chosen


def _constraint(kind: str, rng: random.Random, words: vocabulary.Words) -> Data:
    draw = _PARAMETERS.get(kind)
    return {"kind": kind, **(draw(rng, words) if draw else {})}


def _request(constraints: Sequence[Data], rng: random.Random, words: vocabulary.Words) -> str:
    topic = rng.choice(vocabulary.FORMS).format(subject=rng.choice(words.subjects))
    asked = [topic]
    for constraint in constraints:
        named = dict(constraint)
        if "words" in named:
            named["a"], named["b"] = named["words"]
        asked.append(rng.choice(REQUESTS[constraint["kind"]]).format(**named))
    return " ".join(asked)
