"""Whose connection it is."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from redrive.invoke import peers
from redrive.invoke.peers import TABLE, is_of_one_of

pytestmark = pytest.mark.skipif(not TABLE.exists(), reason="only Linux tells whose connection it is")

CLIENT = """
import socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connection.recv(1)
"""


def test_connection_belongs_to_the_process_that_made_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = subprocess.Popen([sys.executable, "-c", CLIENT, str(listener.getsockname()[1])])
        accepted, _ = listener.accept()
        with accepted:
            found = [is_of_one_of(pids, accepted) for pids in ([client.pid], [1, client.pid], [os.getpid()], [])]
        client.wait()

    assert found == [True, True, False, False]


def test_nobody_is_refused_where_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "TABLE", TABLE.with_name("no-such-table"))
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            found = is_of_one_of([], accepted)

    assert found
