import json
from pathlib import Path
from typing import Any

import pytest

from flashevolve.errors import DataError
from flashevolve.workloads.hotpotqa import SEED, generate, program, score, score_f1
from tests.fakes.searching import GOOD, scores

DATA = generate(3, 20, 40, 0)
EVERYTHING = [example for split in DATA.values() for example in split]
VAL = DATA["val"]
WITH_QUESTION = "Write the name that is missing and what is asked."


def test_a_program_with_good_prompts_answers_all_questions() -> None:
    assert scores(program(EVERYTHING), score, GOOD, VAL) == 1


@pytest.mark.parametrize(
    ("change", "most"),
    [
        ({"second_query": None}, 0.2),
        ({"second_query": "Ask."}, 0.3),
        ({"query": "Ask.", "second_query": "Ask."}, 0.3),
        ({"answer": "Answer in a sentence."}, 0.0),
        ({"summarize": "Say something."}, 0.0),
    ],
)
def test_each_step_matters(change: dict[str, str | None], most: float) -> None:
    changed: dict[str, Any] = {**GOOD, **change}
    artifact = {name: text for name, text in changed.items() if text is not None}
    assert scores(program(EVERYTHING), score, artifact, VAL) <= most


def test_notes_that_keep_the_pages_lose_nothing() -> None:
    artifact = {**GOOD, "summarize": "Write down what to keep."}
    assert scores(program(EVERYTHING), score, artifact, VAL) == 1


def test_a_sentence_around_the_answer_still_earns_some_f1() -> None:
    artifact = {**GOOD, "answer": "Answer in a sentence."}
    assert 0 < scores(program(EVERYTHING), score_f1, artifact, VAL) < 0.5


def test_where_names_are_shared_a_bare_name_is_not_enough_for_a_search() -> None:
    hard = generate(3, 0, 40, 0, difficulty=1.0)["val"]
    run = program(hard)
    assert scores(run, score, GOOD, hard) < 0.7
    assert scores(run, score, {**GOOD, "second_query": WITH_QUESTION}, hard) == 1


def test_a_corpus_file_takes_the_place_of_the_contexts(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    pages: list[list[Any]] = [page for example in VAL for page in example["context"]]
    rows = [json.dumps({"title": title, "text": text}) for title, text in pages]
    path.write_text("\n".join(rows), encoding="utf-8")
    bare = [{**example, "context": []} for example in VAL]
    assert scores(program(bare, path), score, GOOD, bare) == 1
    with pytest.raises(DataError, match=r"^expected passages in context of the examples, or a "):
        program(bare)


def test_supporting_pages_that_no_search_can_find_are_told(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"title": "Else", "text": "Else."}')
    with pytest.warns(UserWarning, match=r"^80 of 80 supporting pages are not among .*no search"):
        program(VAL, path)


def test_the_seed_has_a_prompt_for_each_step() -> None:
    assert set(SEED) == set(GOOD)
