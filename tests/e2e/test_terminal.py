"""What a person sees: tables on a terminal of 80 columns, with nothing cut off."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import sys
import termios
from pathlib import Path

from tests.e2e.conftest import ServerProcess

ROOT = Path(__file__).parents[2]
COLUMNS = 80
LONG = "dead-letters-of-everything-that-has-ever-failed-in-the-reports-of-the-year"


def seen(server: ServerProcess, *arguments: str) -> tuple[int, list[str]]:
    """The exit code of a command and the lines that it writes to a terminal."""
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover - the command's own process.
        environment = {**server.environment, "PYTHONPATH": str(ROOT / "src"), "TERM": "dumb", "NO_COLOR": "1"}
        os.execve(sys.executable, [sys.executable, "-m", "redrive.cli", *arguments], environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    text = b""
    try:
        while piece := os.read(terminal, 65536):
            text += piece
    except OSError:
        pass  # That is how Linux says that the other side has closed a terminal.
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text.decode().splitlines()


def test_tables_fit_a_terminal_and_cut_nothing_off(server: ServerProcess) -> None:
    url = server.client("sqs").create_queue(QueueName=LONG)["QueueUrl"]
    server.client("sqs").send_message(QueueUrl=url, MessageBody="x")

    code, lines = seen(server, "queues")

    first_column = "".join(line[: line.find("  ")] if "  " in line else line for line in lines[2:])
    assert code == 0
    assert max(map(len, lines)) <= COLUMNS
    assert LONG in first_column


def test_status_says_where_the_server_is_and_that_nothing_is_due(server: ServerProcess) -> None:
    code, lines = seen(server, "status")

    assert code == 0
    assert f"server   {server.endpoint_url}" in lines[0]
    assert "failed   nothing" in lines
