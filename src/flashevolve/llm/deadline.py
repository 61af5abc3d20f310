"""Deadlines that follow a model's own tail: a hung request is given up long before the cap.

Pure. Giving up too early costs a paid answer, waiting too long a slot; so the deadline stays far
above what was seen, and what was cut off counts as seen.
"""

from collections import deque
from dataclasses import dataclass, field

WINDOW = 200
"""Latencies remembered: enough for a 99th percentile, few enough to follow a change of load."""
MIN_SEEN = 50
"""Before this many answers the tail is unknown and the cap holds."""
FACTOR = 5.0
"""Above the 99th percentile. Lengths are lognormal-like: five times it is beyond one in 10,000."""
FLOOR_S = 60.0
"""Load may rise tenfold within a minute of the last look."""


@dataclass
class TailDeadline:
    """The deadline of one model's requests, from the latencies of its last answers."""

    cap_s: float
    """What the configuration allows (`timeout_s`)."""
    _seen: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    _p99_s: float = 0.0
    _n_new: int = 0

    def observe(self, latency_s: float) -> None:
        """Notes how long an answer took."""
        self._seen.append(latency_s)
        self._n_new += 1
        # Sorting at every answer would cost more than the rest of a call.
        if self._n_new >= MIN_SEEN // 2 or latency_s > self._p99_s:
            self._n_new = 0
            ordered = sorted(self._seen)
            self._p99_s = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]

    def missed(self, waited_s: float) -> None:
        """Notes a request without an answer; one that failed at once says nothing of the tail."""
        if waited_s >= self.seconds:
            self.observe(waited_s)

    @property
    def seconds(self) -> float:
        """How long the next request may take."""
        if len(self._seen) < MIN_SEEN:
            return self.cap_s
        return min(self.cap_s, max(FLOOR_S, FACTOR * self._p99_s))
