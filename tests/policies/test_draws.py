import os
import subprocess
import sys

from flashevolve.policies.draws import derived_rng, derived_seed


def test_a_draw_does_not_depend_on_draws_made_before() -> None:
    first = derived_rng(7, "select", "source", 3).random()
    for i in range(10):
        derived_rng(7, "select", "source", i).random()
    assert derived_rng(7, "select", "source", 3).random() == first


def test_every_part_of_the_purpose_matters() -> None:
    seeds = {
        derived_seed(int(run_seed), *purpose)
        for run_seed, *purpose in [
            (0, "a", 1),
            (1, "a", 1),
            (0, "b", 1),
            (0, "a", 2),
            (0, "a"),
            (0, "a", 1, ""),
            (0, "a1"),
            (0, 1, "a"),
        ]
    }
    assert len(seeds) == 8


def test_parts_do_not_run_together() -> None:
    assert derived_seed(0, "ab", "c") != derived_seed(0, "a", "bc")
    assert derived_seed(1, 2) != derived_seed(12)


def test_a_draw_is_the_same_in_another_process_whatever_its_hash_seed() -> None:
    code = (
        "from flashevolve.policies.draws import derived_seed;"
        "print(derived_seed(3, 'call', ('x', 1), 'reflect'))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1")
    }
    assert found == {str(derived_seed(3, "call", ("x", 1), "reflect"))}
