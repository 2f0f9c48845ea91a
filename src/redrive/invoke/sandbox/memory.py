"""The memory of a sandbox's processes, as exactly as the system reports it.

Without /proc, `ps` reports the current memory of each process. Programs, libraries and shared memory then count for
each process.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from redrive.invoke.sandbox.descendants import HAS_PROC, read_proc, resident_kb

_PEAK = re.compile(rb"^VmHWM:\s+(\d+) kB", re.MULTILINE)
_OWN = re.compile(rb"^Rss(?:Anon|Shmem):\s+(\d+) kB", re.MULTILINE)
_SHARE = re.compile(rb"^Pss_(?:Anon|Shmem):\s+(\d+) kB", re.MULTILINE)


def memory_kb(pids: Sequence[int]) -> int:
    """The peak resident size of the first process plus the current memory of the others; 0 if unknown.

    The others are descendants of the first. Their programs and libraries do not count, and memory that several
    processes share (after a fork, all of it) counts once in all, a share for each. This takes 0.1 ms for each process.
    """
    if not HAS_PROC:
        return memory_kb_at_most(pids)
    return _peak(pids) + sum(_sum(f"/proc/{pid}/smaps_rollup", _SHARE) for pid in pids[1:])


def memory_kb_at_most(pids: Sequence[int]) -> int:
    """An upper bound of the same, faster: shared memory counts for each process that shares it."""
    if not HAS_PROC:
        return sum(resident_kb(pids).values())
    return _peak(pids) + sum(_sum(f"/proc/{pid}/status", _OWN) for pid in pids[1:])


def _peak(pids: Sequence[int]) -> int:
    return _sum(f"/proc/{pids[0]}/status", _PEAK) if pids else 0


def _sum(path: str, pattern: re.Pattern[bytes]) -> int:
    try:
        return sum(map(int, pattern.findall(read_proc(path))))
    except OSError:
        return 0
