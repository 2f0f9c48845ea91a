"""What a sandbox runs, and how its processes are started."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import redrive
from redrive.core.clock import Instant
from redrive.core.portable import IS_FORCED, USES_LINUX, VARIABLE
from redrive.invoke.sandbox.variables import process_variables

PACKAGE_ROOT = Path(redrive.__file__).parents[1]
LAUNCHER = Path(__file__).with_name("launch.py")

AWS_RUNTIME = "awslambdaric"
OWN_RUNTIME = "redrive.invoke.runtime.client"

TASK_ROOT, OPT_ROOT = "/var/task", "/opt"
"""Where a function's code and its layers are on AWS, which is how answers and logs name those places."""


@dataclass(frozen=True, slots=True)
class Program:
    """What to start. `runtime` is the module that asks for events and calls the handler.

    With a `command` that is the runtime instead, in a program of its own. `virtual_now` is where its time begins if the
    engine's is virtual, None for real time. `opt_root` holds the files of the function's layers.
    """

    runtime: str
    handler: str
    task_root: Path
    variables: Mapping[str, str]
    memory_mb: int
    timeout_ms: int
    virtual_now: Instant | None = None
    opt_root: Path | None = None
    command: tuple[str, ...] = ()

    def shown(self, text: str) -> str:
        """A text of the function's with the names that its folders have on AWS."""
        for place, name in self._places():
            if place in text:
                text = text.replace(place, name)
        return text

    def shown_bytes(self, content: bytes) -> bytes:
        """The same for bytes."""
        for place, name in self._places():
            if place.encode() in content:
                content = content.replace(place.encode(), name.encode())
        return content

    def _places(self) -> tuple[tuple[str, str], ...]:
        own = (str(self.task_root), TASK_ROOT)
        return (own,) if self.opt_root is None else (own, (str(self.opt_root), OPT_ROOT))


def start(program: Program, runtime_api: str, lifeline: int) -> subprocess.Popen[bytes]:
    """Start the keeper of a sandbox, which starts the runtime. `runtime_api` is the host and port that it asks."""
    root = str(program.task_root)
    # -u: a line is in the log when it was printed, even if the process is killed after it.
    # -s and -P: neither this user's packages nor the launcher's own directory are on the search path.
    opt_root = "" if program.opt_root is None else str(program.opt_root)
    ways = "linux" if USES_LINUX else "portable"
    launcher = [sys.executable, "-u", "-s", "-P", str(LAUNCHER), ways, str(lifeline), root, opt_root, str(PACKAGE_ROOT)]
    virtual_time = [] if program.virtual_now is None else [str(program.virtual_now), str(program.timeout_ms)]
    runtime = ["-", *program.command] if program.command else [program.runtime, program.handler, *virtual_time]
    return subprocess.Popen(
        [*launcher, *runtime],
        cwd=root,
        env={
            **process_variables(root, runtime_api, opt_root),
            **program.variables,
            **({VARIABLE: "1"} if IS_FORCED else {}),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        pass_fds=[lifeline],
        start_new_session=True,
    )
