import pytest

from flashevolve.bench.cell import Cell
from flashevolve.bench.tasks import task_parts
from flashevolve.errors import ConfigError

CELL = Cell(minutes=1.0, n_train=4, n_val=5, n_test=6)


def test_a_cell_and_a_seed_give_the_same_disjoint_examples() -> None:
    one, two = task_parts(CELL, 3), task_parts(CELL, 3)
    assert one.splits == two.splits
    sizes = [len(split) for split in (one.splits.train, one.splits.val, one.splits.test)]
    assert sizes == [4, 5, 6]
    assert task_parts(CELL, 4).splits != one.splits


def test_an_unknown_task_is_named() -> None:
    with pytest.raises(ConfigError, match=r"found 'instruction'\. Did you mean 'instructions'"):
        task_parts(Cell(task="instruction", minutes=1.0), 0)


def test_a_shape_is_a_task_with_its_own_model_and_no_test_split() -> None:
    parts = task_parts(Cell(task="shape-aime", minutes=1.0, n_val=5), 0)
    assert (len(parts.splits.train), len(parts.splits.val), len(parts.splits.test)) == (45, 5, 0)
    assert parts.simulated("hosted-api") == "sim/hosted-api/aime"
    assert task_parts(CELL, 0).simulated("hosted-api") == "sim/hosted-api"
