"""How much memory a process and its children hold, as far as the system tells (Linux does)."""

from __future__ import annotations

import re
from pathlib import Path

_PEAK = re.compile(rb"^VmHWM:\s+(\d+) kB", re.MULTILINE)
_ANONYMOUS = re.compile(rb"^RssAnon:\s+(\d+) kB", re.MULTILINE)

PROCESSES_MAX = 1_000


def memory_kb(pid: int) -> int:
    """The largest resident size that a process ever had, and what its descendants hold of their own now; 0 if unknown.

    Of descendants only anonymous memory counts: a child shares its program and libraries with its parent.
    """
    return _field(pid, _PEAK) + sum(_field(child, _ANONYMOUS) for child in _descendants(pid))


def _field(pid: int, pattern: re.Pattern[bytes]) -> int:
    try:
        found = pattern.search(Path(f"/proc/{pid}/status").read_bytes())
    except OSError:
        return 0
    return int(found[1]) if found else 0


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    parents = [pid]
    while parents and len(found) < PROCESSES_MAX:
        children = _children(parents.pop())
        found += children
        parents += children
    return found


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            children += map(int, (thread / "children").read_bytes().split())
    except OSError:
        return []
    return children
