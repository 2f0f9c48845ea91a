"""Servers as processes of their own: pinned to a core, and measured from outside, by /proc.

The client of a measurement runs on another core, so that neither takes the other's time.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

ROOT = Path(__file__).parents[1]
PYTHON = str(ROOT / ".venv/bin/python")
ENVIRONMENT = {"PYTHONPATH": str(ROOT / "src")}
CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, CLIENT_CORE = CORES[0], CORES[-1]
STOP_S_MAX = 10
POLL_S = 0.002

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class NotStarted(Exception):
    """A server did not answer in time; the message holds the end of what it printed."""


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A server that answers on `port` of 127.0.0.1. `started_s` is how long it took from exec to the first answer."""

    pid: int
    port: int
    started_s: float

    def cpu_s(self) -> float:
        """Seconds of CPU that its tree of processes has used so far, of user and of system."""
        return sum(_cpu_ticks(pid) for pid in _tree(self.pid)) / _TICKS_PER_S

    def rss_mb(self) -> float:
        """Resident memory of its tree of processes, in units of a million bytes."""
        pages = sum(int(_read(f"/proc/{pid}/statm", "0 0").split()[1]) for pid in _tree(self.pid))
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def cpu_s_of(pid: int) -> float:
    """Seconds of CPU that a process and those below it have used so far, also of children that have ended."""
    return sum(_cpu_ticks(one) for one in _tree(pid)) / _TICKS_PER_S


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def serving(
    command: Sequence[str], port: int, *, probe: bytes, env: Mapping[str, str] | None = None, start_s_max: float = 60
) -> Iterator[ServerProcess]:
    """A server for as long as the block lasts. It has started when `probe` is answered with any HTTP status.

    Errors: NotStarted.
    """
    with TemporaryFile() as printed:
        began = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603 - the servers to measure.
            command, stdout=printed, stderr=subprocess.STDOUT, start_new_session=True,
            env={**os.environ, **(env or {})},
        )  # fmt: skip
        os.sched_setaffinity(process.pid, {SERVER_CORE})
        try:
            while not _answers(port, probe):
                if process.poll() is not None or time.perf_counter() - began > start_s_max:
                    printed.seek(max(0, printed.seek(0, os.SEEK_END) - 500))
                    raise NotStarted(printed.read().decode(errors="replace").strip() or f"no answer in {start_s_max} s")
                time.sleep(POLL_S)
            yield ServerProcess(process.pid, port, time.perf_counter() - began)
        finally:
            _end(process)


def redrive_command(port: int, *options: str) -> list[str]:
    """The command that serves redrive from this tree."""
    return [PYTHON, "-m", "redrive.cli", "serve", "--port", str(port), *options]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop a server and what it started: they are a process group of their own."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            continue
        return


def _answers(port: int, probe: bytes) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(probe)
            return connection.recv(12).startswith(b"HTTP/1.1 ")
    except OSError:
        return False


def _tree(root: int) -> list[int]:
    """A process and all below it."""
    found = [root]
    for pid in found:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            found += [int(child) for child in _read(str(task), "").split()]
    return found


def _cpu_ticks(pid: int) -> int:
    # The name of a process, in parentheses, may contain spaces: the numbers follow the last one.
    fields = _read(f"/proc/{pid}/stat", ") 0 0 0 0 0 0 0 0 0 0 0 0 0").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _read(path: str, gone: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return gone
