"""How large this process is, as the operating system counts it, and of what kinds its memory is."""

import re
import resource
import sys
from collections import Counter
from pathlib import Path

STATM = Path("/proc/self/statm")
SMAPS = Path("/proc/self/smaps")
MAPPING = re.compile(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ (\d+)\s*(.*)")


def rss_mb() -> float:
    """Returns resident megabytes: of now on Linux, the most so far elsewhere."""
    if STATM.exists():
        return int(STATM.read_text().split()[1]) * resource.getpagesize() / 1e6
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 1e6 if sys.platform == "darwin" else most / 1e3


def mapped_mb() -> dict[str, float]:
    """Returns resident megabytes by kind of mapping; nothing where the system does not tell.

    heap = what C asks malloc for: texts and other objects beyond 512 bytes, SQLite's pages;
    anonymous = the arenas of smaller Python objects, and single blocks of 128 KB and more (of a
    run that is not in the main thread: its heap too); libraries = code and data of files;
    databases = a store's files in memory; other = the stack and the kernel's pages.
    """
    found: Counter[str] = Counter()
    if not SMAPS.exists():
        return {}
    kind = "other"
    for line in SMAPS.read_text(encoding="utf-8", errors="replace").splitlines():
        if mapping := MAPPING.match(line):
            kind = _kind(mapping[1], mapping[2])
        elif line.startswith("Rss:"):
            found[kind] += int(line.split()[1])
    return {kind: kilobytes * 1024 / 1e6 for kind, kilobytes in found.items()}


def _kind(inode: str, name: str) -> str:
    if name == "[heap]":
        return "heap"
    if inode == "0":
        return "other" if name else "anonymous"
    return "databases" if ".sqlite" in name else "libraries"
