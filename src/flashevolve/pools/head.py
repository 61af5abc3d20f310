"""HeadPool: one artifact that moves forward, and named state beside it.

For algorithms that improve one thing in place (a playbook, a workspace). Its one candidate is the
head; every change of a component gives it the next id and the former head as parent. Operations:

- `write` component := text (does not commute), `append` a line to a component (commutes),
- `set` key := value, `push` a value to the list at key, `add` a number to the one at key.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from flashevolve.artifact import Artifact
from flashevolve.candidate import Candidate
from flashevolve.pools.pool import Op


class HeadPool:
    """One head and its named state."""

    def __init__(self, seed: Artifact | None = None) -> None:
        self.version = 0
        self.state: dict[str, Any] = {}
        self._head: Candidate | None = None
        if seed is not None:
            self._head = Candidate(id=0, artifact=seed, scores={})

    @property
    def candidates(self) -> Mapping[int, Candidate]:
        """The head, by its id."""
        return {self._head.id: self._head} if self._head else {}

    @property
    def head(self) -> Artifact:
        """The artifact as it is now. Raises `LookupError` before the first write."""
        if self._head is None:
            raise LookupError("the pool is empty; write a component first")
        return self._head.artifact

    def best(self) -> Candidate | None:
        """Returns the head."""
        return self._head

    def ramp(self, max_in_flight: int, n_ended: int) -> int:
        """A head needs no ramp: every step may read it at once."""
        return max_in_flight

    def apply(self, ops: Sequence[Op], *, version: int) -> None:
        """Applies one transaction."""
        changes: dict[str, str] = {}
        for op in ops:
            key = op.get("key", "")
            match op["op"]:
                case "write":
                    changes[op["component"]] = op["text"]
                case "append":
                    old = changes.get(op["component"], self._text(op["component"]))
                    changes[op["component"]] = f"{old}\n{op['line']}" if old else op["line"]
                case "set":
                    self.state[key] = op["value"]
                case "push":
                    self.state[key] = [*self.state.get(key, []), op["value"]]
                case "add":
                    self.state[key] = self.state.get(key, 0) + op["amount"]
                case other:
                    raise ValueError(f"a head pool has no operation {other!r}")
        if changes:
            self._advance(changes)
        self.version = version

    def _text(self, component: str) -> str:
        return self._head.artifact.components.get(component, "") if self._head else ""

    def _advance(self, changes: Mapping[str, str]) -> None:
        old = self._head
        if old is None:
            self._head = Candidate(id=0, artifact=Artifact(changes), scores={})
        else:
            self._head = Candidate(
                id=old.id + 1, artifact=old.artifact.replace(changes), parents=(old.id,), scores={}
            )

    def dump(self) -> dict[str, Any]:
        """Returns the whole state."""
        head = self._head
        return {
            "version": self.version,
            "state": dict(self.state),
            "id": None if head is None else head.id,
            "parents": [] if head is None else list(head.parents),
            "components": None if head is None else head.artifact.to_json(),
        }

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Self:
        """Returns the pool that `dump` described."""
        pool = cls()
        pool.version = state["version"]
        pool.state = dict(state["state"])
        if state["id"] is not None:
            pool._head = Candidate(
                id=state["id"],
                artifact=Artifact(state["components"]),
                parents=tuple(state["parents"]),
                scores={},
            )
        return pool
