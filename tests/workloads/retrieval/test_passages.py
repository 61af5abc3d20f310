import json
import os
from pathlib import Path

import pytest

from flashevolve.errors import DataError
from flashevolve.workloads.retrieval.passages import Passage, read_corpus, union


def test_a_corpus_is_read_with_texts_or_with_lists_of_sentences(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    rows = [
        {"id": 1, "title": "A", "text": "One. Two."},
        {"title": "B", "text": ["One.", " Two."], "url": "x"},
    ]
    path.write_text("\n\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert read_corpus(path) == (Passage("A", "One. Two."), Passage("B", "One. Two."))


def test_a_changed_corpus_is_read_again_and_another_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"title": "A", "text": "x"}')
    os.utime(path, ns=(1, 1))
    first = read_corpus(path)
    assert read_corpus(path) is first
    path.write_text('{"title": "B", "text": "x"}')
    os.utime(path, ns=(2, 2))
    assert read_corpus(path) == (Passage("B", "x"),)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.csv", b"", r"c\.csv: expected a corpus as a file that ends in \.jsonl$"),
        ("c.jsonl", b"\n", r"c\.jsonl: expected at least one passage, found none$"),
        ("c.jsonl", b"\n{", r"c\.jsonl, line 2: expected a JSON object, found a mistake: "),
        (
            "c.jsonl",
            b'{"title": "A"}',
            r"line 1: expected a passage such as .*found \{'title': 'A'\}$",
        ),
        ("c.jsonl", b'{"title": "A", "text": [1]}', r"line 1: expected a passage such as "),
        ("c.jsonl", b"[]", r"line 1: expected a passage such as .*found \[\]$"),
    ],
)
def test_a_wrong_corpus_is_one_line(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_corpus(tmp_path / name)


def test_a_missing_corpus_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no\.jsonl: the corpus cannot be read: No such file"):
        read_corpus(tmp_path / "no.jsonl")


def test_a_union_has_each_passage_once_in_order() -> None:
    a, b, other = Passage("A", "x"), Passage("B", "x"), Passage("A", "y")
    assert union([[a, b], [b, other], [a]]) == (a, b, other)
