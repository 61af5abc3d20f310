import asyncio
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from flashevolve.engine.shared import ScoreKey, SharedScores
from flashevolve.outcome import Scored
from flashevolve.simulate.loop import run_virtual


class Disk:
    """A store that shows what was recorded only once it was waited for."""

    def __init__(self) -> None:
        self.recorded: dict[str, dict[ScoreKey, Scored]] = {}
        self.readable: dict[str, dict[ScoreKey, Scored]] = {}
        self.read: list[str] = []

    def record(self, artifact: str, key: ScoreKey, score: Scored) -> None:
        self.recorded.setdefault(artifact, {})[key] = score

    async def durable(self) -> None:
        await asyncio.sleep(1.0)
        self.readable = {artifact: dict(scores) for artifact, scores in self.recorded.items()}

    def shared_artifacts(self) -> Iterable[str]:
        return list(self.readable)

    def shared_scores(self, artifact: str) -> Iterable[tuple[ScoreKey, Scored]]:
        self.read.append(artifact)
        return self.readable.get(artifact, {}).items()


async def note(shared: SharedScores, disk: Disk, artifact: str, n: int) -> None:
    """Evaluates one more example of an artifact, as the evaluation service does."""
    async with shared.of(artifact) as scores:
        key = ("val", f"e{n}", 0)
        disk.record(artifact, key, Scored(n))
        scores[key] = Scored(n)


async def seen(shared: SharedScores, artifact: str) -> list[float]:
    async with shared.of(artifact) as scores:
        return sorted(scored.score for scored in scores.values())


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(0, 3))
def test_nothing_is_forgotten_however_little_is_kept(order: list[int], n_kept: int) -> None:
    async def main() -> None:
        disk = Disk()
        shared = SharedScores(disk.durable, disk, n_kept)
        for n, artifact in enumerate(order):
            await note(shared, disk, f"a{artifact}", n)
        for artifact in set(order):
            expected = [float(n) for n, a in enumerate(order) if a == artifact]
            assert await seen(shared, f"a{artifact}") == expected

    run_virtual(main())


def test_only_what_was_used_last_stays_in_memory() -> None:
    async def main() -> list[str]:
        disk = Disk()
        shared = SharedScores(disk.durable, disk, n_kept=2)
        for n, artifact in enumerate("abcd"):
            await note(shared, disk, artifact, n)
        for artifact in "dcab":
            await seen(shared, artifact)
        return disk.read

    # Reading a lets go of d, which nobody asks for again; b went before.
    assert run_virtual(main()) == ["a", "b"]


def test_a_new_artifact_is_not_looked_for_in_the_store() -> None:
    async def main() -> Disk:
        disk = Disk()
        assert await seen(SharedScores(disk.durable, disk), "new") == []
        return disk

    assert run_virtual(main()).read == []


def test_what_is_in_use_is_shared_and_stays() -> None:
    async def main() -> None:
        disk = Disk()
        shared = SharedScores(disk.durable, disk, n_kept=0)
        async with shared.of("a") as one, shared.of("a") as other:
            assert one is other
            await note(shared, disk, "b", 1)
            one[("val", "e", 0)] = Scored(1.0)
        assert disk.read == []

    run_virtual(main())


def test_two_who_ask_at_once_for_what_is_stored_get_the_same_scores() -> None:
    async def main() -> None:
        disk = Disk()
        shared = SharedScores(disk.durable, disk, n_kept=0)
        await note(shared, disk, "a", 1)

        async def ask() -> int:
            async with shared.of("a") as scores:
                await asyncio.sleep(5.0)
                return id(scores)

        one, other = await asyncio.gather(ask(), ask())
        assert one == other
        assert disk.read == ["a"]

    run_virtual(main())


class Punctual(Disk):
    """Shows what was recorded before it was asked, and no more."""

    async def durable(self) -> None:
        asked = {artifact: dict(scores) for artifact, scores in self.recorded.items()}
        await asyncio.sleep(1.0)
        self.readable = asked


def test_scores_that_came_and_left_while_one_waited_are_not_missed() -> None:
    async def main() -> None:
        disk = Punctual()
        shared = SharedScores(disk.durable, disk, n_kept=0)
        await note(shared, disk, "a", 1)

        async def ask_later() -> list[float]:
            await asyncio.sleep(0.5)
            return await seen(shared, "a")

        found, _ = await asyncio.gather(ask_later(), note(shared, disk, "a", 2))
        assert found == [1.0, 2.0]

    run_virtual(main())


def test_a_resume_knows_what_earlier_processes_recorded() -> None:
    async def main() -> None:
        disk = Disk()
        disk.record("a", ("val", "e", 0), Scored(0.5))
        await disk.durable()
        shared = SharedScores(disk.durable, disk)
        assert shared.resume()
        assert disk.read == []
        assert await seen(shared, "a") == [0.5]

    run_virtual(main())


def test_without_a_store_everything_stays() -> None:
    async def main() -> None:
        disk = Disk()
        shared = SharedScores(disk.durable, None, n_kept=0)
        assert not shared.resume()
        await note(shared, disk, "a", 1)
        await note(shared, disk, "b", 2)
        assert await seen(shared, "a") == [1.0]

    run_virtual(main())
