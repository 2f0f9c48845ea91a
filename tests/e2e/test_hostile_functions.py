"""A server under functions that write for ever: others are answered, a restart with their backlog too, and it stops."""

from __future__ import annotations

import io
import json
import os
import select
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e.conftest import ServerProcess

Start = Callable[..., ServerProcess]

FLOOD = 'import os\n\ndef handler(event, context):\n    while True:\n        os.write(1, b"\\n" * 65536)\n'
TELL = 'import os\n\ndef handler(event, context):\n    open(os.environ["GATE"], "w").write(event)\n    return event\n'
TRUST = {
    "Version": "2012-10-17",
    "Statement": {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"},
}


def create_function(server: ServerProcess, name: str, code: str, role: str, **variables: str) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("app.py", code)
    server.client("lambda").create_function(
        FunctionName=name, Role=role, Runtime="python3.12", Handler="app.handler", Timeout=600,
        Code={"ZipFile": content.getvalue()}, Environment={"Variables": variables},
    )  # fmt: skip


def invoke(server: ServerProcess, name: str, event: str, *, kind: str = "Event") -> Any:
    return server.client("lambda").invoke(FunctionName=name, InvocationType=kind, Payload=json.dumps(event).encode())


def heard(gate: int) -> bytes:
    """What a function writes into the pipe; nothing if it never does."""
    readable, _, _ = select.select([gate], [], [], 60)
    return os.read(gate, 100) if readable else b""


def test_functions_that_write_for_ever_hold_up_neither_others_nor_the_end(start: Start, tmp_path: Path) -> None:
    """The functions' time is ten minutes: whatever is answered here did not wait for them."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    gate = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    options = ("--data", str(tmp_path / "data"), "--slots", "4")
    first = start(*options)
    role = first.client("iam").create_role(RoleName="work", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    create_function(first, "floods", FLOOD, role)
    create_function(first, "tells", TELL, role, GATE=str(path))

    for _ in range(20):
        invoke(first, "floods", "x")
    invoke(first, "tells", "before", kind="RequestResponse")
    before = heard(gate)
    first.kill()
    second = start(*options)
    invoke(second, "tells", "after")
    after = heard(gate)
    code = second.stop()
    os.close(gate)

    assert (before, after) == (b"before", b"after")
    assert code == 0
