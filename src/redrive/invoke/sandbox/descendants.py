"""All that a process has started, itself or through others: found, stopped and ended.

Used by the engine and by the keeper of a sandbox (`launch.py`), which is there for each sandbox and starts with it: so
the standard library only, and little of it.

Linux tells a process's children; elsewhere `ps` does. The keeper adopts what loses its parent, where the system lets it
(Linux), so nothing that is started under it can leave: a new session or a parent that has ended changes nothing.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable

from redrive.core.portable import USES_LINUX

FOUND_MAX = 4_096
"""How many descendants are listed at most: more are found when these have ended."""

FILE_BYTES_MAX = 1024 * 1024
READ_BYTES = 64 * 1024

HAS_PROC = USES_LINUX and os.path.exists(f"/proc/self/task/{os.getpid()}/children")  # noqa: PTH110 - pathlib takes milliseconds to import.
"""Whether the system tells the children of a process by a file. Reading it costs some microseconds; `ps` a process."""


class Tree:
    """The descendants of a process, nearest first, as they were a moment ago, and how many threads they have in all."""

    __slots__ = ("pids", "threads")

    def __init__(self, pids: tuple[int, ...] = (), threads: int = 0) -> None:
        self.pids = pids
        self.threads = threads


def look(root: int) -> Tree:
    """The descendants of a process as they are now."""
    return _look_in_proc(root) if HAS_PROC else _look_in_table(root)


def signal_all(pids: Iterable[int], number: int) -> None:
    """Send a signal to processes; those that have ended are passed over."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def end_marked(variables: Iterable[bytes]) -> None:
    """End each process of this user whose environment holds all of these `NAME=value`, whoever is its parent.

    The last resort: for systems without reapers, and for a reaper that was ended before its descendants. A process that
    has put its environment away is not found.
    """
    wanted = list(variables)
    signal_all((pid for pid in _marked(wanted) if pid != os.getpid()), signal.SIGKILL)


def resident_kb(pids: Iterable[int]) -> dict[int, int]:
    """What each of these processes holds in memory now, by `ps`; those that have ended are not in it."""
    held = {int(pid): int(kb) for pid, kb in (line.split() for line in _ps("pid=,rss="))}
    return {pid: held[pid] for pid in pids if pid in held}


def read_proc(path: str) -> bytes:
    """A file of /proc, which comes in pieces of a page.

    Errors: OSError (the process has ended, or is another user's).
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
            tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - this is looked at twenty times a second.
            for task in tasks:
                found += map(int, read_proc(f"/proc/{pid}/task/{task}/children").split())
            threads += len(tasks) if pid != root else 0
        except OSError:
            pass  # It has ended meanwhile; its children are found under whoever is their parent now.
        if at == len(found) or at >= FOUND_MAX:
            return Tree(tuple(found), threads)
        pid = found[at]
        at += 1


def _look_in_table(root: int) -> Tree:
    """The same by `ps`, which tells nothing of threads."""
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
    for name in os.listdir("/proc"):  # noqa: PTH208 - names are all that is wanted.
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
    import subprocess  # noqa: PLC0415 - it takes milliseconds, and Linux does not need it.

    shown = ("axeww" if sys.platform.startswith("linux") else "-axEww") if with_environment else "-ax"
    listed = subprocess.run(["/bin/ps", shown, "-o", columns], capture_output=True, check=False)
    return listed.stdout.splitlines()
