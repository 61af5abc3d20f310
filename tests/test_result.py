from pathlib import Path

import flashevolve as fe


def test_where_nothing_was_admitted_the_result_says_so_in_place_of_a_test_score(
    tmp_path: Path,
) -> None:
    result = fe.optimize(
        seed={"system": "Answer."},
        train=[{"input": "one"}],
        val=[{"input": "two"}],
        test=[{"input": "three"}],
        run=lambda artifact, example, ctx: ctx.chat("task", example["input"]).text,
        score=lambda example, output: 0.5,
        metered=True,
        models="sim/h100-qwen3-8b",
        budget=fe.Budget(tokens=9),
        run_dir=tmp_path / "run",
    )
    assert result.reason == "tokens"
    assert result.test_score is None
    assert result.test_reason == "not scored: nothing was admitted"
