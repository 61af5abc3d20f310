import asyncio
from collections.abc import Mapping, Sequence

from flashevolve.llm.messages import Message, Reply
from flashevolve.workloads.ifbench import SEED, generate, run, score
from tests.workloads.instructions.solving import solve

EXAMPLES = [e for e in generate()["train"] if solve(e) is not None]


class Careless:
    """Errs in a first answer; sees what is wrong in one that it is shown, if told to look."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def chat(self, role: str, messages: Sequence[Message]) -> Reply:
        assert role == "task"
        instruction, told = (str(message.text) for message in messages)
        self.asked.append((instruction, told))
        example = next(e for e in EXAMPLES if told.startswith(e["prompt"]))
        draft = told.removeprefix(example["prompt"]).strip()
        if draft and "check" in instruction:
            return Reply(text=solve(example) or "")
        return Reply(text=draft.removeprefix("The answer so far:\n") or "Well, , here , you go.")


def mean(artifact: Mapping[str, str]) -> float:
    async def one() -> float:
        scores = [score(e, await run(artifact, e, Careless()))[0] for e in EXAMPLES]
        return sum(scores) / len(scores)

    return asyncio.run(one())


def test_the_second_stage_mends_what_the_first_one_missed() -> None:
    assert len(EXAMPLES) > 40
    told_to_check = {**SEED, "revise": "check each demand and mend the answer."}
    alone = {"respond": told_to_check["respond"]}
    assert mean(told_to_check) == 1.0
    assert mean(alone) == mean(SEED) < 0.7


def test_each_stage_has_its_own_instruction_and_the_second_sees_request_and_draft() -> None:
    model = Careless()
    output = asyncio.run(run({"respond": "one", "revise": "two"}, EXAMPLES[0], model))
    request = EXAMPLES[0]["prompt"]
    assert model.asked[0] == ("one", request)
    assert model.asked[1] == ("two", f"{request}\n\nThe answer so far:\n{output['draft']}")


def test_without_a_second_stage_the_first_answer_is_the_last_one() -> None:
    model = Careless()
    output = asyncio.run(run({"respond": "one"}, EXAMPLES[0], model))
    assert len(model.asked) == 1
    assert set(output) == {"answer"}
