import asyncio
import signal
import threading

import pytest

from flashevolve.integrations.gepa.threads import Threads


def test_code_bound_to_another_thread_is_told_what_to_do_and_leaves_no_thread() -> None:
    async def main() -> None:
        with pytest.raises(ValueError, match="main thread") as caught:
            await threads.call(signal.signal, signal.SIGINT, signal.SIG_DFL)
        assert "give your client a timeout" in caught.value.__notes__[0]

    threads = Threads(2)
    asyncio.run(main())
    assert threads.close(5.0)
    assert not [t for t in threading.enumerate() if t.name.startswith("flashevolve-adapter")]
