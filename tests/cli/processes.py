"""The command line in a process of its own, to be interrupted."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Queue

from tests.cli.made import reply
from tests.fakes.endpoint import Received, Step

PATIENCE_S = 30.0


class Process:
    """A running `flashevolve`; its stderr is read line by line, so that a test can wait for one."""

    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "flashevolve", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )
        self._incoming: Queue[str] = Queue()
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._incoming.put(line.rstrip("\n"))

    def until(self, start: str) -> str:
        """Waits for a line on stderr that starts like this, and returns it."""
        while True:
            line = self._incoming.get(timeout=PATIENCE_S)
            self.lines.append(line)
            if line.startswith(start):
                return line

    def interrupt(self, number: signal.Signals = signal.SIGINT) -> None:
        self._process.send_signal(number)

    def end(self) -> tuple[int, str, str]:
        """Waits for the end; returns exit code, stdout, stderr."""
        assert self._process.stdout is not None
        out = self._process.stdout.read()
        code = self._process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        while not self._incoming.empty():
            self.lines.append(self._incoming.get())
        return code, out, "\n".join(self.lines)

    def close(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_S)
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            self._reader.join(PATIENCE_S)
            stream.close()


@contextmanager
def running(*arguments: str) -> Iterator[Process]:
    process = Process(*arguments)
    try:
        yield process
    finally:
        process.close()


class Busy:
    """A script that sets `busy` once `n` requests have come; later ones may be slow."""

    def __init__(self, n: int, late: Callable[[Received], Step] = reply) -> None:
        self.busy = threading.Event()
        self.n_left = n
        self.late = late

    def __call__(self, received: Received) -> Step:
        self.n_left -= 1
        if self.n_left > 0:
            return reply(received)
        self.busy.set()
        return self.late(received)

    def wait(self) -> None:
        assert self.busy.wait(PATIENCE_S), "the run did not get under way"
