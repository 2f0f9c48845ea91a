"""The program of a sandbox, and the start of its processes."""

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
"""The folders of a function's code and layers on AWS; answers and logs use these names."""


@dataclass(frozen=True, slots=True)
class Program:
    """What to start. `runtime` is the module that asks for events and calls the handler.

    A `command` is a separate program that is the runtime instead. `virtual_now` is where its time begins if the
    engine's time is virtual, None for real time. `opt_root` holds the files of the function's layers.
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
        """A text from the function, with its folders named as on AWS."""
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
    """Start the keeper of a sandbox, which starts the runtime. `runtime_api` is host and port of the Runtime API."""
    root = str(program.task_root)
    # -u: a printed line is in the log even if the process is killed right after.
    # -s and -P: the search path has neither this user's packages nor the launcher's own directory.
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
