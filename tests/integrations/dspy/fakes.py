"""Programs of DSPy, a metric for them, and an endpoint that answers what DSPy's prompts ask for."""

import json
import re
from pathlib import Path
from typing import Any

import dspy

from flashevolve.integrations.dspy import GEPA
from tests.fakes.endpoint import Endpoint, Received, Step, answer
from tests.fakes.small import body_hash

KEY = "sk-canary-dspy-0123456789"
LESSON = "Always say blue."
TRAIN = [dspy.Example(question=f"question {n}", answer="blue").with_inputs("question")
         for n in range(6)]  # fmt: skip
VAL = [dspy.Example(question=f"other question {n}", answer="blue").with_inputs("question")
       for n in range(4)]  # fmt: skip


def metric(
    gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
) -> Any:
    """DSPy's five arguments; feedback that teaches the lesson."""
    right = "blue" in str(getattr(pred, "answer", ""))
    return dspy.Prediction(score=float(right), feedback="Right." if right else "It was blue.")


def replying(received: Received) -> Step:
    """Fills in the fields that a prompt of DSPy's asks for; all chance comes from the request."""
    system = str(received.body["messages"][0]["content"])
    said = " ".join(str(m["content"]) for m in received.body["messages"][1:])
    digest = body_hash(received.body)
    listed = system.split("Your output fields are:")[-1].split("All interactions")[0]
    names = re.findall(r"^\d+\. `(\w+)`", listed, flags=re.MULTILINE)
    lucky = int(digest[:4], 16) % 4 == 0
    values = {
        "answer": "blue" if LESSON in system or lucky else "red",
        "new_instruction": f"{LESSON} Be exact ({digest[:6]}).",
        "next_tool_name": "finish" if "observation_0" in said else "search",
        "next_tool_args": {} if "observation_0" in said else {"query": "colour"},
    }
    fields = {name: values.get(name, f"some {name} {digest[:4]}") for name in names}
    if "verdict" in system:
        text = json.dumps({"verdict": "accept", "reason": "nothing that it says was changed"})
    elif not names:
        text = f"plain {digest[:6]}"
    elif "Outputs will be a JSON object" in system:
        text = json.dumps(fields)
    else:
        parts = [
            f"[[ ## {name} ## ]]\n{v if isinstance(v, str) else json.dumps(v)}"
            for name, v in fields.items()
        ]
        text = "\n\n".join([*parts, "[[ ## completed ## ]]"])
    n_in = len(system) // 4
    usage = {"prompt_tokens": n_in, "completion_tokens": 7, "total_tokens": n_in + 7}
    return answer(text, usage=usage, latency_s=0.002)


def lm(endpoint: Endpoint, name: str = "fake-1") -> Any:
    """An ordinary `dspy.LM` at the endpoint, with DSPy's cache on."""
    return dspy.LM(f"openai/{name}", api_base=endpoint.base_url, api_key=KEY, max_tokens=300)


class MultiHop(dspy.Module):  # type: ignore[misc]
    """Two queries over a corpus, then an answer: three predictors."""

    def __init__(self) -> None:
        super().__init__()
        import bm25s

        self.corpus = ["the sky is blue", "grass is green", "blood is red"]
        self.retriever = bm25s.BM25()
        self.retriever.index(bm25s.tokenize(self.corpus, show_progress=False), show_progress=False)
        self.first = dspy.Predict("question -> query")
        self.second = dspy.Predict("question, passages -> query")
        self.answer = dspy.ChainOfThought("question, passages -> answer")

    def forward(self, question: str) -> Any:
        passages = self.search(self.first(question=question).query)
        passages += self.search(self.second(question=question, passages=passages).query)
        return self.answer(question=question, passages=passages)

    def search(self, query: str) -> list[str]:
        """Returns the best passage."""
        import bm25s

        tokens = bm25s.tokenize([query], show_progress=False)
        found, _ = self.retriever.retrieve(tokens, corpus=self.corpus, k=1, show_progress=False)
        return [str(text) for text in found[0]]


def search(query: str) -> str:
    """Looks something up."""
    return f"{query}: the sky is blue"


def programs() -> dict[str, Any]:
    """Real programs of DSPy, by name."""
    return {
        "predict": dspy.Predict("question -> answer"),
        "chain of thought": dspy.ChainOfThought("question -> answer"),
        "multi-hop": MultiHop(),
        "react": dspy.ReAct("question -> answer", tools=[search], max_iters=3),
    }


def compiled(endpoint: Endpoint, run_dir: Path, student: Any = None, **options: Any) -> Any:
    """Compiles and returns (the optimizer, the program)."""
    options = {
        "metric": metric, "max_metric_calls": 60, "num_threads": 8, "log_dir": str(run_dir),
        "reflection_lm": lm(endpoint, "reflect-1"), **options,
    }  # fmt: skip
    data = {"trainset": TRAIN, "valset": VAL}
    data = {name: options.pop(name, given) for name, given in data.items()}
    optimizer = GEPA(**options)
    with dspy.context(lm=lm(endpoint)):
        student = dspy.Predict("question -> answer") if student is None else student
        return optimizer, optimizer.compile(student, **data)


class Failing(dspy.Module):  # type: ignore[misc]
    """Fails on the examples whose number is in `on`."""

    def __init__(self, on: str) -> None:
        super().__init__()
        self.on = on
        self.answer = dspy.Predict("question -> answer")

    def forward(self, question: str) -> Any:
        if re.search(self.on, question):
            raise ValueError(f"cannot answer {question}")
        return self.answer(question=question)
