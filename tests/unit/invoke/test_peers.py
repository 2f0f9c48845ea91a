"""Whose connection it is."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from redrive.core.portable import USES_LINUX
from redrive.invoke.sandbox import peers
from redrive.invoke.sandbox.peers import TABLE, is_of_one_of

pytestmark = pytest.mark.skipif(not TABLE.exists(), reason="only Linux tells whose connection it is")

CLIENT = """
import socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connection.recv(1)
"""


def nothing(*ends: object) -> None:
    """What the kernel answers to questions that it does not know."""


@pytest.mark.skipif(not USES_LINUX, reason="only Linux tells whose connection it is")
@pytest.mark.parametrize("left_out", [None, "_inode_by_question", "_inode_by_table"])
def test_connection_belongs_to_the_process_that_made_it(monkeypatch: pytest.MonkeyPatch, left_out: str | None) -> None:
    """By a question to the kernel or, where it has no answer to such, by the table: each of them is enough."""
    if left_out is not None:
        monkeypatch.setattr(peers, left_out, nothing)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = subprocess.Popen([sys.executable, "-c", CLIENT, str(listener.getsockname()[1])])
        accepted, _ = listener.accept()
        with accepted:
            found = [is_of_one_of(pids, accepted) for pids in ([client.pid], [1, client.pid], [os.getpid()], [])]
        client.wait()

    assert found == [True, True, False, False]


def test_nobody_is_refused_where_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "_inode_by_question", nothing)
    monkeypatch.setattr(peers, "TABLE", TABLE.with_name("no-such-table"))
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            found = is_of_one_of([], accepted)

    assert found
