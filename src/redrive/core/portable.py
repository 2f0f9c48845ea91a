"""Which system this is, and whether Linux-only methods are used. The only module that reads REDRIVE_PORTABLE.

    needed for                       on Linux                             elsewhere, or with REDRIVE_PORTABLE=1
    a function's processes end       the keeper adopts orphans; a signal  marked by their environment, found by `ps`;
    with the engine                  when a pipe closes                   a thread reads the pipe
    their children and memory        /proc                                `ps`
    who calls the Runtime API        sock_diag, /proc/net/tcp             nobody is refused
    the runtime of Python functions  AWS's runtime interface client       our own client of the Runtime API
    the server's event loop          uvloop                               asyncio's
    a connection to PostgreSQL       watched by an epoll of its own       watched by the event loop

The test suite runs both ways (`make test portable=1`), so that the macOS paths are tested on Linux, too.
"""

from __future__ import annotations

import os
import sys

from redrive.core.errors import UserError

VARIABLE = "REDRIVE_PORTABLE"

IS_FORCED = os.environ.get(VARIABLE, "") not in ("", "0")
"""Whether the portable methods are forced, even where the system offers others."""

USES_LINUX = sys.platform.startswith("linux") and not IS_FORCED
"""Whether Linux-only methods are used."""


def refuse_windows(platform: str = sys.platform) -> None:
    """Errors: UserError on Windows."""
    if platform == "win32":
        raise UserError(
            "redrive does not run on Windows itself.",
            next_step="Run it inside WSL, where it is a Linux program: https://learn.microsoft.com/windows/wsl/install",
        )
