"""The first code in a function's process: fits the process to its purpose, then becomes the runtime.

    python launch.py LIFELINE TASK_ROOT PACKAGE_ROOT RUNTIME HANDLER [VIRTUAL_NOW_MS TIMEOUT_MS]

LIFELINE is the reading end of a pipe whose only writing end the engine holds. When the engine is gone, however it went,
the kernel kills this process and all of its group. With VIRTUAL_NOW_MS the process lives in virtual time. Runs by
path, before anything of redrive can be imported.
"""

from __future__ import annotations

import _thread
import fcntl
import os
import resource
import runpy
import signal
import sys

OPEN_FILES_MAX = 1_024  # https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html


def tie_to(lifeline: int) -> None:
    """Let this process group die with the writer of the pipe."""
    if hasattr(fcntl, "F_SETSIG"):
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
        try:
            if os.read(lifeline, 1) == b"":  # The writer was gone before the kernel was asked to watch it.
                os.killpg(0, signal.SIGKILL)
        except BlockingIOError:
            pass
    else:
        _thread.start_new_thread(_watch, (lifeline,))


def _watch(lifeline: int) -> None:
    """Where the kernel cannot send a signal for a pipe, a thread waits for its end."""
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)


def bound_resources() -> None:
    """No core dumps, and as many open files as Lambda grants."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = OPEN_FILES_MAX if hard == resource.RLIM_INFINITY else min(OPEN_FILES_MAX, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))


def enter_virtual_time(runtime: str, virtual_time: list[str]) -> None:
    """Live in virtual time. Our own runtime sees to that by itself; AWS's has to be helped."""
    if runtime != "awslambdaric":
        sys.argv += virtual_time
        return
    from redrive.invoke.function_time import FunctionTime  # noqa: PLC0415 - the path was set just now.

    now_ms, timeout_ms = map(int, virtual_time)
    FunctionTime(now_ms, timeout_ms).follow_aws_runtime()


def main(arguments: list[str]) -> None:
    """Prepare the process and run the runtime, which ends with it."""
    lifeline, task_root, package_root, runtime, handler, *virtual_time = arguments
    tie_to(int(lifeline))
    bound_resources()
    sys.path.insert(0, task_root)
    if package_root not in sys.path:
        sys.path.append(package_root)
    sys.argv = [runtime, handler]
    if virtual_time:
        enter_virtual_time(runtime, virtual_time)
    runpy.run_module(runtime, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
