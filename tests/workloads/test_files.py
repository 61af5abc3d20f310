import json
from pathlib import Path
from typing import Any

import pytest

from flashevolve.errors import DataError
from flashevolve.workloads.files import check_sizes, write_rows


def test_rows_are_written_as_lines_or_as_one_list_that_reads_back(tmp_path: Path) -> None:
    made: dict[str, list[dict[str, Any]]] = {"train": [{"a": "ä"}, {"a": 2}], "corpus": [{"b": 1}]}
    paths = write_rows(tmp_path / "new", made, lists={"train"})
    assert json.loads(paths["train"].read_text("utf-8")) == made["train"]
    assert paths["train"].name == "train.json"
    assert paths["corpus"].read_text("utf-8") == '{"b": 1}\n'


def test_a_size_out_of_range_is_one_line() -> None:
    check_sizes({"train": 0, "val": 5}, 5)
    with pytest.raises(DataError, match=r"expected split sizes from 0 to 5, found .*'val': 6"):
        check_sizes({"train": 0, "val": 6}, 5)
