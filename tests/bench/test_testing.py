from statistics import fmean

from flashevolve.artifact import Artifact
from flashevolve.bench.cell import Cell
from flashevolve.bench.tasks import task_parts
from flashevolve.bench.testing import TestScorer
from flashevolve.simulate.world import load_world
from flashevolve.task import Task

CELL = Cell(minutes=1.0, n_train=3, n_val=3, n_test=40)


def scorer() -> TestScorer:
    parts = task_parts(CELL, 0)
    task = Task(train=(), val=(), score=parts.score, input="prompt")
    return TestScorer(load_world(), CELL.preset, task, parts.splits.test)


def test_the_same_artifact_scores_the_same_each_time_and_another_sample_differs() -> None:
    one, artifact = scorer(), Artifact({"system": "Answer the request."})
    assert len(one(artifact, 0)) == CELL.n_test
    assert one(artifact, 0) == scorer()(artifact, 0)
    assert one(artifact, 0) != one(artifact, 1)
    assert abs(fmean(one(artifact, 0)) - fmean(one(artifact, 1))) < 0.2
