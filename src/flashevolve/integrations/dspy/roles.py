"""Roles: which LM of a compile answers for which role of the run."""

from collections.abc import Mapping
from typing import Any

import dspy

from flashevolve.config import Model, Price
from flashevolve.engine.threads import DaemonThreads
from flashevolve.errors import ConfigError
from flashevolve.integrations.dspy.client import DspyClient
from flashevolve.integrations.dspy.metered import metered


class Roles:
    """The LMs of a compile by role, metered: `task`, `reflect`, and one for each further LM."""

    def __init__(
        self, student: Any, reflection_lm: Any, given: Mapping[str, Any], threads: DaemonThreads
    ) -> None:
        self._threads = threads
        self._given = given
        self.models: dict[str, Any] = {
            role: model for role, model in given.items() if role not in ("task", "reflect")
        }
        lm = dspy.settings.lm
        predictors = student.named_predictors()
        if lm is None and "task" in given:
            lm = dspy.LM("openai/task")  # Only its capabilities are looked at.
        if lm is None and not all(p.lm is not None for _, p in predictors):
            raise ConfigError(
                "expected an LM for the program, found none. Set one: "
                "dspy.configure(lm=dspy.LM('openai/gpt-4o-mini'))"
            )
        self._known: dict[int, Any] = {}
        self.task = self._metered(lm, "task")
        self.reflect = self._metered(reflection_lm, "reflect")
        self.student = student.deepcopy()
        for (_, copied), (_, own) in zip(
            self.student.named_predictors(), student.named_predictors(), strict=True
        ):
            if own.lm is not None:
                copied.lm = self._known.get(id(own.lm)) or self._further(own.lm)

    def _further(self, lm: Any) -> Any:
        n = 2 + sum(role.startswith("task-") for role in self.models)
        return self._metered(lm, "task" if "task" not in self.models else f"task-{n}")

    def _metered(self, lm: Any, role: str) -> Any:
        if lm is None:
            return None
        model = self._given.get(role)
        self.models[role] = self._model(lm) if model is None else model
        self._known[id(lm)] = found = metered(lm, role, own=model is None)
        return found

    def _model(self, lm: Any) -> Model:
        client = DspyClient(lm, self._threads)
        price = client.price()
        most = lm.kwargs.get("max_completion_tokens") or lm.kwargs.get("max_tokens")
        return Model(
            str(lm.model),
            client=client,
            price=None if price is None else Price(
                input_usd_per_mtok=price.input_usd_per_mtok,
                output_usd_per_mtok=price.output_usd_per_mtok,
            ),
            **({"max_output_tokens": most} if most else {}),
        )  # fmt: skip
