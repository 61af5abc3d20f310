import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashevolve.data.loaders import examples, load_splits, rows
from flashevolve.errors import DataError
from flashevolve.task import SPLITS, Example


def test_mappings_become_examples_with_their_ids() -> None:
    made = examples(rows([{"id": "a", "x": 1}, {"id": 7, "x": 2}]))
    assert [(e.id, e["x"]) for e in made] == [("a", 1), ("7", 2)]


def test_another_field_can_name_an_example() -> None:
    assert examples(rows([{"key": "k", "id": "no"}]), id_field="key")[0].id == "k"


def test_without_an_id_the_content_names_an_example_whatever_its_order() -> None:
    one, other = examples(rows([{"a": 1, "b": 2}])), examples(rows([{"b": 2, "a": 1}]))
    assert one[0].id == other[0].id
    assert examples(rows([{"a": 1, "b": 3}]))[0].id != one[0].id


def test_examples_keep_the_ids_that_they_have() -> None:
    assert examples(rows([Example(id="e", data={"id": "other"})]))[0].id == "e"


def test_what_cannot_be_hashed_needs_an_id() -> None:
    with pytest.raises(DataError, match=r"^train\[0\]: without a field 'id' .*Give it an 'id'$"):
        examples(rows([{"image": object()}], name="train"))
    assert examples(rows([{"id": "a", "image": object()}]))[0].id == "a"


@pytest.mark.parametrize("bad", [True, 1.5, "", ["a"]])
def test_an_id_that_is_neither_text_nor_whole_number_is_refused(bad: Any) -> None:
    with pytest.raises(DataError, match=r"^data\[0\]: expected 'id' to be text or a whole number"):
        examples(rows([{"id": bad}]))


def test_a_row_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(DataError, match=r"^val\[1\]: expected a mapping such as .* found str$"):
        rows([{}, "x"], name="val")  # type: ignore[list-item]


def test_a_duplicate_names_both_places() -> None:
    with pytest.raises(DataError, match=r"^data\[2\]: id 'a' stands already at data\[0\]\."):
        examples(rows([{"id": "a"}, {"id": "b"}, {"id": "a"}]))


def test_equal_rows_without_ids_are_duplicates() -> None:
    with pytest.raises(DataError, match=r"^data\[1\]: the same content, without an id, stands al"):
        examples(rows([{"x": 1}, {"x": 1}]))


def test_a_duplicate_across_splits_names_both_places(tmp_path: Path) -> None:
    path = tmp_path / "val.jsonl"
    path.write_text('\n{"id": "a"}\n')
    with pytest.raises(DataError, match=r"val\.jsonl, line 2: id 'a' stands already at train\[0\]"):
        load_splits([{"id": "a"}], path)


def test_splits_are_loaded_from_files_and_sequences(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,q\n1,a\n2,b\n")
    splits = load_splits(tmp_path / "t.csv", [{"id": "3"}])
    assert [len(splits[split]) for split in SPLITS] == [2, 1, 0]
    assert [e.id for e in splits["train"]] == ["1", "2"]


@pytest.mark.parametrize("name", ["e.jsonl", "e.csv", "h.csv"])
def test_empty_data_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("a,b\n" if name == "h.csv" else "\n\n")
    with pytest.raises(DataError, match=rf"{name}: expected at least one example, found none$"):
        rows(tmp_path / name)
    with pytest.raises(DataError, match=r"^train: expected at least one example, found none$"):
        rows([], name="train")


def test_a_missing_file_is_named_with_its_nearest_neighbour(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text("{}")
    with pytest.raises(DataError, match=r"trian\.jsonl: no such file\. .*'train\.jsonl'\?$"):
        rows(tmp_path / "trian.jsonl")
    with pytest.raises(DataError, match=r"none/x\.csv: no such file\.$"):
        rows(tmp_path / "none" / "x.csv")


def test_a_directory_is_no_data(tmp_path: Path) -> None:
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(DataError, match=r"d\.csv: cannot be read: Is a directory$"):
        rows(tmp_path / "d.csv")


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"x\.parquet: expected a file that ends in \.jsonl, \.json o"
    ):
        rows(tmp_path / "x.parquet")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a": 1}\n{"a": \n', r"x\.jsonl, line 2: expected a JSON object, found a mistake at co"),
        (b"[1]\n", r"x\.jsonl, line 1: expected a JSON object, found list$"),
        (b'\n\n{"a": NaN}', r"x\.jsonl, line 3: expected JSON, found NaN, which JSON does not "),
        (b'{"a": 1}\n"\xff"', r"x\.jsonl, line 2: expected UTF-8 text, byte 1 is not$"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.jsonl").write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        rows(tmp_path / "x.jsonl")
    assert "\n" not in str(caught.value)


def test_a_json_list_is_read_and_each_row_knows_its_place(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('[{"a": 1},\n {"a": "ü"}]', encoding="utf-8")
    found = rows(tmp_path / "x.json")
    assert [row.data for row in found] == [{"a": 1}, {"a": "ü"}]
    assert [row.place for row in found] == [f"{tmp_path / 'x.json'}[{k}]" for k in range(2)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a": 1}', r"x\.json: expected a JSON list of objects, found dict$"),
        (b'[{"a": 1}, 2]', r"x\.json\[1\]: expected a JSON object, found int$"),
        (
            b'{"a": 1}\n{"a": 2}',
            r"x\.json, line 2: .*Extra data\. If each line is an object, name ",
        ),
        (
            b'[{"a":\n]',
            r"x\.json, line 2: expected one JSON list of objects, found a mistake at co",
        ),
        (b'[{"a": NaN}]', r"x\.json: expected JSON, found NaN, which JSON does not have"),
        (b"[]", r"x\.json: expected at least one example, found none$"),
        (b'["\xff"]', r"x\.json: expected UTF-8 text, byte 2 is not$"),
    ],
)
def test_a_malformed_json_list_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        rows(tmp_path / "x.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b\n1,2\n3\n", r"x\.csv, line 3: expected 2 cells, as in the header, found 1$"),
        (b"a,b\n1,2,3\n", r"x\.csv, line 2: expected 2 cells, as in the header, found 3$"),
        (b"a,a\n1,2\n", r"x\.csv, line 1: column 'a' occurs twice in the header$"),
        (b'a\n"x"y\n', r"x\.csv, line 2: malformed CSV: "),
        (b'a\n"x\ny', r"x\.csv, line 3: malformed CSV: unexpected end of data$"),
        (b"a\n\xff\n", r"x\.csv, line 2: expected UTF-8 text, byte 0 is not$"),
        (b'a,b\n"1\n2",3\n4\n', r"x\.csv, line 4: expected 2 cells"),
    ],
)
def test_a_malformed_table_names_the_line(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(DataError, match=message):
        rows(tmp_path / "x.csv")


def test_a_byte_order_mark_is_not_part_of_the_first_column(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"\xef\xbb\xbfid,q\n1,a\n")
    (tmp_path / "x.jsonl").write_bytes(b'\xef\xbb\xbf{"id": "1"}\r\n')
    assert rows(tmp_path / "x.csv")[0].data == {"id": "1", "q": "a"}
    assert rows(tmp_path / "x.jsonl")[0].data == {"id": "1"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@given(st.lists(st.dictionaries(st.text(), json_values), min_size=1), st.booleans())
@settings(max_examples=50, deadline=None)
def test_json_lines_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, data: list[dict[str, Any]], ascii_only: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "round.jsonl"
    lines = [json.dumps(row, ensure_ascii=ascii_only) for row in data]
    path.write_bytes("\n".join(lines).encode())
    found = rows(path)
    assert [row.data for row in found] == data
    assert [row.place for row in found] == [f"{path}, line {i + 1}" for i in range(len(data))]


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


@given(st.data(), st.integers(2, 4), st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=100, deadline=None)
def test_tables_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, width: int, ending: str
) -> None:
    row = st.lists(cells, min_size=width, max_size=width)
    header = data.draw(st.lists(cells, min_size=width, max_size=width, unique=True))
    body = data.draw(st.lists(row, min_size=1, max_size=4))
    text = io.StringIO()
    csv.writer(text, lineterminator=ending, quoting=csv.QUOTE_ALL).writerows([header, *body])
    path = tmp_path_factory.getbasetemp() / "round.csv"
    path.write_bytes(text.getvalue().encode())
    assert [list(r.data.items()) for r in rows(path)] == [
        list(zip(header, line, strict=True)) for line in body
    ]


def test_half_a_surrogate_pair_is_refused_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"input": "fine \\ud83d\\ude00"}\n{"input": {"deep": ["x\\ud83d"]}}\n')
    expected = r"t\.jsonl, line 2: expected text, found half a surrogate pair, '\\ud83d', as chara"
    with pytest.raises(DataError, match=expected):
        load_splits(path, [{"input": "b"}])


def test_half_a_surrogate_pair_is_refused_with_the_index() -> None:
    with pytest.raises(DataError, match=r"^val\[1\]: expected text, found half a surrogate pair"):
        load_splits([{"input": "a"}], [{"input": "b"}, {"input\udc00": "c"}])
    with pytest.raises(DataError, match=r"^train\[0\]: expected text, found half a surrogate pair"):
        load_splits([Example(id="\ud83d", data={"input": "a"})], [{"input": "b"}])


@pytest.mark.parametrize("wrong", [None, 5, {"input": "a"}])
def test_what_is_no_sequence_of_mappings_is_named(wrong: Any) -> None:
    kind = "None" if wrong is None else type(wrong).__name__
    with pytest.raises(DataError, match=rf"^val: expected a file or a sequence .*found {kind}$"):
        load_splits([{"input": "b"}], wrong)
