"""Finds, stops and ends all descendants of a process.

The engine uses this module, and so does the keeper of each sandbox (`launch.py`), whose start must be fast: so only the
standard library, and little of it.

Linux lists a process's children in /proc; on other systems `ps` does. On Linux the keeper adopts orphans, so no
descendant can leave: neither by a new session nor when its parent ends.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable

from redrive.core.portable import USES_LINUX

FOUND_MAX = 4_096
"""How many descendants are listed at most; the others are found after these have ended."""

FILE_BYTES_MAX = 1024 * 1024
READ_BYTES = 64 * 1024

HAS_PROC = USES_LINUX and os.path.exists(f"/proc/self/task/{os.getpid()}/children")  # noqa: PTH110 - pathlib takes milliseconds to import.
"""Whether /proc lists the children of a process. Reading the list costs some microseconds; `ps` costs a process."""


class Tree:
    """The descendants of a process, nearest first, at the time of the look, and the number of their threads in all."""

    __slots__ = ("pids", "threads")

    def __init__(self, pids: tuple[int, ...] = (), threads: int = 0) -> None:
        self.pids = pids
        self.threads = threads


def look(root: int) -> Tree:
    """The descendants of a process now."""
    return _look_in_proc(root) if HAS_PROC else _look_in_table(root)


def signal_all(pids: Iterable[int], number: int) -> None:
    """Send a signal to processes; skip those that have ended."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def end_marked(variables: Iterable[bytes]) -> None:
    """End each process of this user whose environment has all of these `NAME=value`, whatever its parent is.

    The last resort: for systems without adoption of orphans, and for a keeper that ended before its descendants. A
    process that has removed its environment is not found.
    """
    wanted = list(variables)
    signal_all((pid for pid in _marked(wanted) if pid != os.getpid()), signal.SIGKILL)


def resident_kb(pids: Iterable[int]) -> dict[int, int]:
    """The resident memory of each of these processes, by `ps`; processes that have ended are missing."""
    held = {int(pid): int(kb) for pid, kb in (line.split() for line in _ps("pid=,rss="))}
    return {pid: held[pid] for pid in pids if pid in held}


def read_proc(path: str) -> bytes:
    """Read a file of /proc, page by page.

    Errors: OSError (the process has ended, or belongs to another user).
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        content = b""
        while len(content) < FILE_BYTES_MAX and (piece := os.read(handle, READ_BYTES)):
            content += piece
        return content
    finally:
        os.close(handle)


def _look_in_proc(root: int) -> Tree:
    found: list[int] = []
    threads = 0
    at, pid = 0, root
    while True:
        try:
            tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - this runs twenty times a second.
            for task in tasks:
                found += map(int, read_proc(f"/proc/{pid}/task/{task}/children").split())
            threads += len(tasks) if pid != root else 0
        except OSError:
            pass  # It has ended meanwhile; its children are listed under their new parent.
        if at == len(found) or at >= FOUND_MAX:
            return Tree(tuple(found), threads)
        pid = found[at]
        at += 1


def _look_in_table(root: int) -> Tree:
    """The same by `ps`, which does not count threads."""
    children: dict[int, list[int]] = {}
    for line in _ps("pid=,ppid="):
        pid, parent = map(int, line.split())
        children.setdefault(parent, []).append(pid)
    found = sorted(children.get(root, []))
    for pid in found:
        if len(found) >= FOUND_MAX:
            break
        found += children.get(pid, [])
    return Tree(tuple(found), len(found))


def _marked(wanted: list[bytes]) -> list[int]:
    if not HAS_PROC:
        rows = [line.split(None, 1) for line in _ps("pid=,command=", with_environment=True)]
        return [int(pid) for pid, text in rows if all(one in text.split() for one in wanted)]
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - only names are needed.
        if not name.isdigit():
            continue
        try:
            variables = read_proc(f"/proc/{name}/environ").split(b"\0")
        except OSError:
            continue
        if all(one in variables for one in wanted):
            found.append(int(name))
    return found


def _ps(columns: str, *, with_environment: bool = False) -> list[bytes]:
    import subprocess  # noqa: PLC0415 - the import takes milliseconds, and Linux does not need it.

    shown = ("axeww" if sys.platform.startswith("linux") else "-axEww") if with_environment else "-ax"
    listed = subprocess.run(["/bin/ps", shown, "-o", columns], capture_output=True, check=False)
    return listed.stdout.splitlines()
