import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest

from flashevolve.bench.realtime.client import Client, ReflectionLM
from flashevolve.bench.realtime.endpoint import Serving, endpoint
from flashevolve.bench.realtime.slots import Pace
from flashevolve.errors import ConfigError, DataError

SERVING = Serving(
    preset="h100-qwen3-8b",
    pace=Pace(means_s={"task": 0.01, "reflect": 0.01}, sigma=0.5, slots=2),
    seed=3,
)
ASKED = [{"role": "user", "content": "Name the colours of the rainbow."}]


def test_each_role_has_its_address_and_the_same_answers() -> None:
    with ExitStack() as stack:
        seen = stack.enter_context(endpoint(SERVING))
        pool = stack.enter_context(ThreadPoolExecutor(2))
        task, reflect, test = (
            stack.enter_context(closing(Client(seen.urls[role])))
            for role in ("task", "reflect", "test")
        )
        lm = ReflectionLM(reflect, pool)
        answers = {task.complete(ASKED), test.complete(ASKED), lm(ASKED[0]["content"])}
        assert len(answers) == 1
        assert len(lm.batch_complete([ASKED, ASKED])) == 2
        with pytest.raises(DataError, match="expected an answer of the endpoint, found status 400"):
            task.complete([])
    # What test asks takes no slot.
    assert sorted(call.role for call in seen.log) == ["reflect", "reflect", "reflect", "task"]
    assert all(call.ended_s - call.began_s >= 0.9 * call.service_s > 0 for call in seen.log)
    assert seen.cpu_s > 0


@pytest.mark.skipif(not hasattr(os, "getpgid"), reason="the system has no process groups")
def test_an_interrupt_of_the_suite_stays_what_it_is() -> None:
    def interrupted() -> None:
        with endpoint(SERVING) as seen:
            assert os.getpgid(seen.pid) != os.getpgid(0)
            os.kill(seen.pid, signal.SIGTERM)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()


def test_an_endpoint_that_ends_before_it_is_told_to_is_one_line() -> None:
    with (
        pytest.raises(ConfigError, match=r"expected the endpoint's log at its end, found .* -15"),
        endpoint(SERVING) as seen,
    ):
        os.kill(seen.pid, signal.SIGTERM)


def test_what_to_serve_survives_the_way_to_its_process() -> None:
    assert Serving.from_json(SERVING.to_json()) == SERVING
