"""Layout: the columns of an example, which are those of the public HotpotQA files.

    {"_id": "5a8b...", "question": "...", "answer": "...", "type": "bridge", "level": "hard",
     "supporting_facts": [["Title", 0], ...], "context": [["Title", ["Sentence.", ...]], ...]}

The same as columns of columns, as the file is distributed as a table, is read as well:
`{"title": [...], "sent_id": [...]}` and `{"title": [...], "sentences": [[...], ...]}`. So are
supporting facts as `[{"key": "Title", "value": 0}, ...]`, as HoVer is distributed as a table.
"""

from collections.abc import Mapping
from typing import Any

from flashevolve.errors import DataError, nearest
from flashevolve.task import place_of
from flashevolve.workloads.retrieval.passages import Passage, joined

ID, QUESTION, ANSWER, FACTS, CONTEXT = "_id", "question", "answer", "supporting_facts", "context"


def question(example: Mapping[str, Any]) -> str:
    """Returns the question. Raises `DataError`, as the others do."""
    return _text(example, QUESTION)


def answer(example: Mapping[str, Any]) -> str:
    """Returns the expected answer."""
    return _text(example, ANSWER)


def supporting(example: Mapping[str, Any], id_field: str = ID) -> list[str]:
    """Returns the titles of the pages that support the answer, each once."""
    where = place_of(example, id_field)
    given = _column(example, FACTS, where)
    titles = given.get("title") if isinstance(given, Mapping) else _firsts(given)
    if not isinstance(titles, list | tuple) or not all(isinstance(t, str) for t in titles):
        raise DataError(
            f'{where}: expected {FACTS} to be a list such as [["Title", 0]], found {given!r:.80}'
        )
    if not titles:
        raise DataError(f"{where}: expected at least one page in {FACTS}, found none")
    return list(dict.fromkeys(titles))


def context(example: Mapping[str, Any]) -> list[Passage]:
    """Returns the passages that an example brings along."""
    where = place_of(example, ID)
    given = _column(example, CONTEXT, where)
    pairs = given
    if isinstance(given, Mapping):
        titles, texts = given.get("title"), given.get("sentences")
        same = isinstance(titles, list) and isinstance(texts, list) and len(titles) == len(texts)
        pairs = list(zip(titles or (), texts or (), strict=True)) if same else None
    if not isinstance(pairs, list | tuple) or not all(_is_paragraph(pair) for pair in pairs):
        raise DataError(
            f'{where}: expected {CONTEXT} to be a list such as [["Title", ["A sentence."]]], '
            f"found {given!r:.80}"
        )
    return [Passage(title, joined(sentences)) for title, sentences in pairs]


def _is_paragraph(pair: Any) -> bool:
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        return False
    title, sentences = pair
    is_list = isinstance(sentences, list | tuple)
    return isinstance(title, str) and is_list and all(isinstance(s, str) for s in sentences)


def _firsts(pairs: Any) -> Any:
    if not isinstance(pairs, list | tuple):
        return None
    return [_first(pair) for pair in pairs]


def _first(pair: Any) -> Any:
    if isinstance(pair, Mapping):
        return pair.get("key")
    return pair[0] if isinstance(pair, list | tuple) and pair else None


def _column(example: Mapping[str, Any], name: str, where: str) -> Any:
    if name not in example:
        raise DataError(
            f"{where}: expected a column {name}, found {', '.join(map(str, example)) or 'none'}."
            f"{nearest(name, map(str, example))}"
        )
    return example[name]


def _text(example: Mapping[str, Any], name: str) -> str:
    where = place_of(example, ID)
    value = _column(example, name, where)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{where}: expected {name} to be a text, found {value!r:.80}")
    return value
