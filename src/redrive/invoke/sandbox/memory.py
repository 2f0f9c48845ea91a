"""How much memory the processes of a sandbox hold, as far as the system tells.

Without /proc `ps` tells what each holds now. Programs and libraries, and what several share, then count for each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from redrive.invoke.sandbox.descendants import HAS_PROC, read_proc, resident_kb

_PEAK = re.compile(rb"^VmHWM:\s+(\d+) kB", re.MULTILINE)
_OWN = re.compile(rb"^Rss(?:Anon|Shmem):\s+(\d+) kB", re.MULTILINE)
_SHARE = re.compile(rb"^Pss_(?:Anon|Shmem):\s+(\d+) kB", re.MULTILINE)


def memory_kb(pids: Sequence[int]) -> int:
    """The largest resident size that the first process ever had, and what the others hold now; 0 if unknown.

    Of the others, the first one's descendants, programs and libraries do not count, and what several processes share
    (after a fork, all of it) counts once in all, a share for each. To find that out takes 0.1 ms for each of them.
    """
    if not HAS_PROC:
        return memory_kb_at_most(pids)
    return _peak(pids) + sum(_sum(f"/proc/{pid}/smaps_rollup", _SHARE) for pid in pids[1:])


def memory_kb_at_most(pids: Sequence[int]) -> int:
    """The same, where what is shared counts for each that shares it: no less than it is, and quicker to find out."""
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
