from pathlib import Path

from flashevolve.data.loaders import load_splits
from flashevolve.workloads.ifbench import KINDS, generate, score, write
from flashevolve.workloads.instructions import UNSEEN


def test_about_half_of_the_test_split_is_of_kinds_that_the_others_lack() -> None:
    ids = {
        split: [i for e in examples for i in e["instruction_id_list"]]
        for split, examples in generate().items()
    }
    assert not UNSEEN.intersection(ids["train"] + ids["val"])
    share = sum(i in UNSEEN for i in ids["test"]) / len(ids["test"])
    assert 0.3 < share < 0.7
    assert set(ids["train"]) <= KINDS


def test_what_is_written_is_read_and_can_be_scored(tmp_path: Path) -> None:
    paths = write(tmp_path, n_train=5, n_val=5, n_test=5)
    loaded = load_splits(paths["train"], paths["val"], paths["test"], id_field="key")
    score.check_examples([*loaded.train, *loaded.val, *loaded.test])
