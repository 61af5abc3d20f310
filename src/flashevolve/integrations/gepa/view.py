"""View: what the mirror reads of a run, while it goes and after it has ended.

What an adapter returned is at hand only in the process that called it. Of candidates from before a
resume it is what the log kept: the same if it was JSON, else its `repr`.
"""

from collections.abc import Mapping
from typing import Any

from flashevolve import rundir
from flashevolve.candidate import Candidate
from flashevolve.engine.state import RunState
from flashevolve.integrations.gepa.port import Port
from flashevolve.run import Run


class View:
    """A run's state, and the outputs of its candidates."""

    def __init__(self, run: Run, port: Port) -> None:
        self._run = run
        self._port = port
        self._read: RunState | None = None

    def state(self) -> RunState | None:
        """Returns the folded state; None before there is one."""
        if self._run.state is None and self._run.done and self._read is None:
            # It had ended before, so that nothing was opened to go on with.
            self._read = rundir.open_run(self._run.dir).state
        return self._run.state or self._read

    def outputs(self, candidate: Candidate) -> Mapping[str, Any]:
        """Returns outputs by validation example; each is handed out once."""
        own, artifact = self._port.outputs, candidate.artifact.hash
        found = {e: own.pop((artifact, e)) for e in candidate.scores if (artifact, e) in own}
        if len(found) < len(candidate.scores):
            for outcome in self._run.outcomes(candidate.ticket):
                if outcome.split == "val" and outcome.artifact == artifact:
                    found.setdefault(outcome.example, outcome.output)
        return found
