"""What a process has started is found, however it was started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from redrive.invoke.sandbox import descendants
from redrive.invoke.sandbox.descendants import end_marked, look, signal_all
from redrive.invoke.sandbox.memory import memory_kb, memory_kb_at_most

needs_proc = pytest.mark.skipif(not descendants.HAS_PROC, reason="the system tells children by `ps` alone")
needs_ps = pytest.mark.skipif(not Path("/bin/ps").exists(), reason="there is no ps")

FAMILY = """
import os, signal, subprocess, sys
depth = int(sys.argv[1])
child = subprocess.Popen([sys.executable, "-c", sys.argv[2], str(depth - 1), sys.argv[2]]) if depth else None
if not depth:
    print("there", flush=True)
signal.pause()
"""


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[bytes]]:
    """A process with a child and a grandchild, each there."""
    environment = {**os.environ, "FAMILY": "ours", "HOUSE": "one"}
    parent = subprocess.Popen(
        [sys.executable, "-c", FAMILY, "2", FAMILY], stdout=subprocess.PIPE, env=environment, start_new_session=True
    )
    assert parent.stdout is not None
    parent.stdout.readline()
    yield parent
    os.killpg(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()


@needs_proc
@needs_ps
def test_the_table_of_processes_tells_the_same_as_proc(
    parent: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no /proc, as on macOS, `ps` tells who is whose child."""
    by_proc = look(parent.pid)
    monkeypatch.setattr(descendants, "HAS_PROC", False)
    by_table = look(parent.pid)

    assert by_table.pids == by_proc.pids
    assert (len(by_proc.pids), by_proc.threads) == (2, 2)


def test_descendants_are_found_nearest_first(parent: subprocess.Popen[bytes]) -> None:
    child, grandchild = look(parent.pid).pids

    assert look(child).pids == (grandchild,)
    assert look(grandchild).pids == ()


def test_process_that_has_ended_has_no_descendants_and_no_memory() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()

    assert look(ended.pid).pids == ()
    assert memory_kb([ended.pid, ended.pid]) == 0
    signal_all([ended.pid], signal.SIGKILL)


@needs_proc
def test_memory_of_a_process_and_its_children_is_theirs_without_what_they_share(
    parent: subprocess.Popen[bytes],
) -> None:
    pids = look(parent.pid).pids

    assert memory_kb(pids[:1]) < memory_kb(pids) <= memory_kb_at_most(pids)


def test_processes_are_ended_by_their_environment_if_all_of_it_matches(parent: subprocess.Popen[bytes]) -> None:
    end_marked([b"FAMILY=ours", b"HOUSE=two"])
    before = parent.poll()
    end_marked([b"FAMILY=ours", b"HOUSE=one"])

    assert before is None
    assert parent.wait() == -signal.SIGKILL
