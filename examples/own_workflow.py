"""An algorithm of one's own: rewrite the best candidate, keep what beats it on validation.

    python examples/own_workflow.py

docs/writing-an-algorithm.md walks through it. It knows nothing of concurrency: many of its steps
are in flight at once, under one limit and one budget, stale steps meet the policy, and a killed run
resumes. The model is simulated, so the scores say nothing about a real one.
"""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import ClassVar

import flashevolve as fe
from flashevolve import plugin as fp
from flashevolve.workloads.instructions import score

DATA = Path(__file__).parent / "instructions"

ASK = "Improve this instruction:\n```\n{0}\n```\n{1}\nAnswer with the new one between ``` fences."


@dataclass(frozen=True)
class Step:
    """What a step carries from stage to stage; stored as JSON."""

    text: str
    scores: dict[str, float] = field(default_factory=dict)


class BestFirst:
    """The source: the seed first, then the best candidate again and again."""

    def __init__(self, seed: str) -> None:
        self.name, self.seed = "best-first", seed

    def select(self, pool: fp.Pool, rng: Random) -> fp.Selection[Step]:
        if (best := pool.best()) is None:
            return fp.Selection(payload=Step(self.seed), enter="evaluate")
        return fp.Selection(payload=Step(best.artifact["system"]), lineage=(best.id,))


class Climb(fp.Workflow[Step]):
    """Rewrite the best candidate; admit what beats it on the validation set."""

    name: ClassVar[str] = "climb"
    payload = Step

    def __init__(self, setup: fp.Setup) -> None:
        self.setup = setup
        self.sources = [BestFirst(setup.seed["system"])]
        one = fp.Needs(metric_calls=3, proposals=1)
        sweep = fp.Needs(shared=len(setup.val_ids))
        self.stages = [
            fp.Stage(name="rewrite", run=self.rewrite, needs=lambda *_: one, counts="proposed"),
            fp.Stage(name="evaluate", run=self.evaluate, needs=lambda *_: sweep, counts="swept"),
        ]

    def new_pool(self) -> fp.ParetoPool:
        return fp.ParetoPool()

    async def rewrite(self, item: fp.Item[Step], ctx: fp.StageContext) -> fp.Item[Step] | fp.End:
        ids = ctx.rng("minibatch").sample(self.setup.train_ids, 3)
        outcomes = await ctx.evaluate(self.artifact(item), "train", ids, fresh=True)
        told = "\n".join(
            f"# Example\n{ctx.example(e)['prompt']}\n## Feedback\n{outcome.feedback}"
            for e, outcome in outcomes.items()
        )
        try:
            reply = await ctx.chat("reflect", [fp.user(ASK.format(item.payload.text, told))])
            return item.with_payload(text=fp.fenced_text(reply.text))
        except (fp.ReplyError, fp.LLMError) as error:
            return fp.End("skipped", f"no new text: {error}")

    async def evaluate(self, item: fp.Item[Step], ctx: fp.StageContext) -> fp.Item[Step]:
        found = await ctx.evaluate(self.artifact(item), "val", self.setup.val_ids, fresh=False)
        return item.with_payload(scores={e: outcome.score for e, outcome in found.items()})

    def commit(self, item: fp.Item[Step], pool: fp.Pool) -> fp.Commit | fp.End:
        best, child, scores = pool.best(), self.artifact(item), item.payload.scores
        if best is not None and sum(scores.values()) <= sum(best.scores.values()):
            return fp.End("rejected", f"no better than candidate {best.id}")
        op = fp.insert(child, parents=item.lineage, scores=scores, ticket=item.ticket)
        return fp.Commit(ops=(op,), text=f"The instruction is now:\n{child['system']}")

    def artifact(self, item: fp.Item[Step]) -> fp.Artifact:
        return fp.Artifact({"system": item.payload.text})

    def patched(self, item: fp.Item[Step], base: fp.Candidate, artifact: fp.Artifact) -> Step:
        return Step(artifact["system"])


@dataclass(frozen=True)
class HillClimb:
    """The algorithm as a user configures it; its fields are its settings."""

    def workflow(self, setup: fp.Setup) -> Climb:
        return Climb(setup)


def main(run_dir: str, metric_calls: int = 800) -> fe.Result:
    """Runs once; returns the result."""
    result = fe.optimize(
        seed={"system": "Answer the request."},
        train=DATA / "train.jsonl",
        val=DATA / "val.jsonl",
        test=DATA / "test.jsonl",
        id_field="key",
        input="prompt",
        score=score,
        algorithm=HillClimb(),
        models="sim/h100-qwen3-8b",
        budget=fe.Budget(metric_calls=metric_calls),
        run_dir=run_dir,
    )
    print(f"validation {result.seed_score:.3f} -> {result.best_score:.3f} (simulated)")
    print(result.best["system"])
    return result


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(f"{folder}/run")
