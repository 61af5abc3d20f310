import asyncio
import json
from typing import Any

import pytest

from flashevolve.errors import ConfigError
from flashevolve.workloads.hover import (
    SEED,
    SEED_LABEL,
    program,
    score,
    score_label,
    score_recall,
    write,
)
from flashevolve.workloads.registry import WORKLOADS
from tests.fakes.searching import GOOD_HOVER, Searcher, scores

LABEL = {"label": "Write the label."}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    paths = write(tmp_path_factory.mktemp("hover"), seed=2, n_train=0, n_val=60, n_test=0)
    examples = json.loads(paths["val"].read_text(encoding="utf-8"))
    return program(examples, paths["corpus"]), examples


def test_a_program_with_good_prompts_finds_nearly_all_pages_and_labels_nearly_all_claims(
    made: Any,
) -> None:
    run, examples = made
    assert scores(run, score, GOOD_HOVER, examples) > 0.95
    assert scores(run, score_label, {**GOOD_HOVER, **LABEL}, examples) > 0.95


def test_each_search_adds_pages_and_a_bad_one_adds_none(made: Any) -> None:
    run, examples = made
    names = list(GOOD_HOVER)
    recall = [
        scores(run, score_recall, {n: GOOD_HOVER[n] for n in names[:k]}, examples) for k in range(4)
    ]
    assert recall == sorted(set(recall))
    assert recall[0] < 0.6
    assert scores(run, score_recall, dict.fromkeys(names, "Ask."), examples) == recall[0]


def test_a_label_needs_the_pages(made: Any) -> None:
    run, examples = made
    bad = {**dict.fromkeys(GOOD_HOVER, "Ask."), **LABEL}
    assert scores(run, score_label, bad, examples) < 0.8


def test_without_a_label_component_nothing_is_asked_after_the_last_search(made: Any) -> None:
    run, examples = made
    with_notes = {**GOOD_HOVER, "summarize": "Write down what to keep."}
    for artifact, n_calls in ((with_notes, 6), ({**with_notes, **LABEL}, 8)):
        searcher = Searcher()
        output = asyncio.run(run(artifact, examples[0], searcher))
        assert len(searcher.asked) == n_calls
        assert ("label" in output) == ("label" in artifact)


def test_a_corpus_is_asked_for() -> None:
    with pytest.raises(ConfigError, match=r"^task\.corpus: .*none\. Add --task\.corpus FILE$"):
        program([])


@pytest.mark.parametrize("name", ["hover", "hover-recall", "hover-label"])
def test_the_seeds_have_components_that_the_program_reads(name: str) -> None:
    seed = SEED_LABEL if name == "hover-label" else SEED
    workload = WORKLOADS[name]
    assert workload.component in seed
    assert set(seed) <= set(workload.components)
