"""How large this process is, as the operating system counts it."""

import resource
import sys
from pathlib import Path

STATM = Path("/proc/self/statm")


def rss_mb() -> float:
    """Returns resident megabytes: of now on Linux, the most so far elsewhere."""
    if STATM.exists():
        return int(STATM.read_text().split()[1]) * resource.getpagesize() / 1e6
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 1e6 if sys.platform == "darwin" else most / 1e3
