import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.llm.messages import Request, user
from flashevolve.simulate.batching import ServingSettings
from flashevolve.simulate.charged import ChargedLoop, charge_call, free
from flashevolve.simulate.lengths import LengthSettings
from flashevolve.simulate.loop import run_virtual
from flashevolve.simulate.model import SimulatedModel
from flashevolve.simulate.serving import server_of


class Cpu:
    """A CPU clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s

    def spend(self, seconds: float) -> None:
        self.now_s += seconds


def now_s() -> float:
    return asyncio.get_running_loop().time()


def test_what_is_computed_takes_virtual_time_at_the_end_of_each_turn() -> None:
    cpu = Cpu()

    async def main() -> list[float]:
        times = [now_s()]
        cpu.spend(0.25)
        times.append(now_s())
        await asyncio.sleep(0)
        times.append(now_s())
        cpu.spend(0.5)
        await asyncio.sleep(1)
        times.append(now_s())
        return times

    assert run_virtual(main(), ChargedLoop(cpu_s=cpu)) == [0.0, 0.0, 0.25, 1.25]


def test_a_timer_that_fell_due_while_the_loop_computed_fires_late_and_moves_nothing() -> None:
    cpu = Cpu()

    async def main() -> float:
        sleeping = asyncio.create_task(asyncio.sleep(1))
        await asyncio.sleep(0)
        cpu.spend(3)
        await sleeping
        return now_s()

    assert run_virtual(main(), ChargedLoop(cpu_s=cpu)) == 3.0


def test_an_idle_cpu_gives_the_times_of_the_plain_loop() -> None:
    async def main() -> list[float]:
        times = []
        for pause_s in (0.1, 0.7, 1e-9, 12.3):
            await asyncio.sleep(pause_s)
            times.append(now_s())
        return times

    assert run_virtual(main(), ChargedLoop(cpu_s=Cpu())) == run_virtual(main())


def test_what_runs_free_is_not_charged_and_time_stands_still_in_it() -> None:
    cpu = Cpu()

    async def main() -> list[float]:
        cpu.spend(1)
        times = []
        with free():
            cpu.spend(10)
            times.append(now_s())
            with free():
                cpu.spend(10)
            cpu.spend(10)
            times.append(now_s())
        cpu.spend(2)
        await asyncio.sleep(0)
        times.append(now_s())
        return times

    assert run_virtual(main(), ChargedLoop(cpu_s=cpu)) == [1.0, 1.0, 3.0]


def test_an_error_ends_what_is_free() -> None:
    cpu = Cpu()

    def fail() -> None:
        with free():
            cpu.spend(5)
            raise KeyError("found")

    async def main() -> float:
        with pytest.raises(KeyError, match="found"):
            fail()
        cpu.spend(1)
        await asyncio.sleep(0)
        return now_s()

    assert run_virtual(main(), ChargedLoop(cpu_s=cpu)) == 1.0


@given(st.lists(st.tuples(st.sampled_from(["spend", "free", "turn", "sleep"]), st.floats(0, 9))))
def test_time_never_runs_backwards_and_all_that_is_not_free_is_charged(
    steps: list[tuple[str, float]],
) -> None:
    cpu = Cpu()

    async def main() -> list[float]:
        times = [now_s()]
        for what, seconds in steps:
            if what == "spend":
                cpu.spend(seconds)
            elif what == "free":
                with free():
                    cpu.spend(seconds)
            else:
                await asyncio.sleep(seconds if what == "sleep" else 0)
            times.append(now_s())
        return times

    loop = ChargedLoop(cpu_s=cpu)
    times = run_virtual(main(), loop)
    assert times == sorted(times)
    spent_s = sum(seconds for what, seconds in steps if what == "spend")
    assert loop.charged_s() == pytest.approx(spent_s, abs=1e-9)


def test_each_call_is_charged_its_constant() -> None:
    async def main() -> float:
        charge_call()
        charge_call()
        return now_s()

    assert run_virtual(main(), ChargedLoop(per_call_s=0.5, cpu_s=Cpu())) == 1.0
    assert run_virtual(main()) == 0.0


def test_what_was_charged_can_be_read_at_any_time() -> None:
    cpu = Cpu()

    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, ChargedLoop)
        read_s = [loop.charged_s()]
        cpu.spend(1)
        with free():
            cpu.spend(7)
            read_s.append(loop.charged_s())
        loop.charge(0.5)
        await asyncio.sleep(4.5)
        return [*read_s, loop.charged_s(), loop.time()]

    assert run_virtual(main(), ChargedLoop(cpu_s=cpu)) == [0.0, 1.0, 1.5, 6.0]


def test_another_thread_computes_while_time_stands_still() -> None:
    def compute() -> int:
        until_s = time.thread_time() + 0.02
        while time.thread_time() < until_s:
            pass
        return 7

    async def main() -> tuple[int, float]:
        return await asyncio.to_thread(compute), now_s()

    answer, passed_s = run_virtual(main(), ChargedLoop(cpu_s=time.thread_time))
    assert answer == 7
    assert 0 < passed_s < 0.02


def test_a_negative_charge_is_refused() -> None:
    async def main() -> None:
        charge_call()

    with pytest.raises(ValueError, match="must not run backwards: expected a charge >= 0, got -1"):
        run_virtual(main(), ChargedLoop(per_call_s=-1))


class SlowReader:
    """A reader that takes a second of CPU."""

    def __init__(self, cpu: Cpu) -> None:
        self._cpu = cpu

    def answer(self, messages: object, rng: object) -> str:
        self._cpu.spend(1.0)
        return "yes"


def test_a_simulated_model_is_charged_for_its_client_and_not_for_its_reader() -> None:
    settings = ServingSettings(
        max_sequences=2,
        t_base_s=0.5,
        t_per_sequence_s=0.0,
        prefill_tokens_per_s=1e9,
        prefix_cache_blocks=0,
    )
    lengths = LengthSettings(mean_tokens=4, sigma_example=0, sigma_sample=0, max_tokens=100)
    cpu = Cpu()
    model = SimulatedModel(SlowReader(cpu), server_of(settings), lengths, name="slow")

    async def main() -> float:
        await asyncio.gather(*(model.complete(Request(messages=(user("Hi"),))) for _ in range(3)))
        return now_s()

    # Three calls of two seconds on two slots; the constants pass one after the other.
    plain_s = run_virtual(main())
    assert plain_s == pytest.approx(4.0)
    assert run_virtual(main(), ChargedLoop(cpu_s=cpu)) == plain_s
    loop = ChargedLoop(per_call_s=0.25, cpu_s=cpu)
    assert run_virtual(main(), loop) == pytest.approx(plain_s + 0.25)
    assert loop.charged_s() == 0.75
