"""The first code of a sandbox: forks into the keeper of the processes, and the process that becomes the runtime.

    engine ──► keeper ──► runtime ──► whatever the function starts
                  ▲                            │
                  └───── adopts orphans ───────┘

    python launch.py WAYS LIFELINE TASK_ROOT OPT_ROOT PACKAGE_ROOT RUNTIME HANDLER [VIRTUAL_NOW_MS TIMEOUT_MS]
    python launch.py WAYS LIFELINE TASK_ROOT OPT_ROOT PACKAGE_ROOT - PROGRAM ARGUMENT …

WAYS is `linux` if features of Linux may be used, else `portable` (`core/portable.py`).

LIFELINE is the reading end of a pipe whose only writing end the engine holds. When the engine closes its end, or ends
for any reason, the keeper ends all its descendants. It does the same when the runtime has ended, and then ends with
the runtime's exit status. With VIRTUAL_NOW_MS the runtime runs in virtual time. OPT_ROOT holds the files of the
function's layers, and is empty if there are none. With `-` the runtime is a separate program, such as Node.js. Python
runs this file by path, before any module of redrive can be imported.
"""

from __future__ import annotations

import _thread
import fcntl
import importlib
import os
import resource
import runpy
import select
import signal
import sys

OPEN_FILES_MAX = 1_024  # https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000  # https://man7.org/linux/man-pages/man2/unshare.2.html
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18  # https://man7.org/linux/man-pages/man2/mount.2.html
OPT = "/opt"
"""Where a function finds the files of its layers on AWS."""

PR_SET_CHILD_SUBREAPER = 36  # https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html

LOADED_AHEAD = {
    "awslambdaric": ("awslambdaric.bootstrap",),
    "redrive.invoke.runtime.client": (
        "http.client",
        "redrive.invoke.runtime.context",
        "redrive.invoke.runtime.handler_log",
    ),
}
"""The imports of each runtime, except its main module, which is run and not imported."""

ROUNDS_MAX = 500
"""How often the keeper signals remaining processes, with a pause between; those left after that cannot be ended."""

PAUSE_S_FIRST, PAUSE_S_MAX = 0.0005, 0.02


def keep(runtime: int, lifeline: int, adopted: int, package_root: str, *, uses_linux: bool) -> None:
    """Wait as the runtime's keeper until the runtime ends or the engine closes the lifeline; then end all processes."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # The function can send it signals.
    if uses_linux:
        adopt_orphans()
    os.write(adopted, b"\0")
    os.close(adopted)
    let_go_of_output()
    woken, waking = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _note_nothing)
    status = await_end(runtime, lifeline, woken)
    end_all(woken, package_root, uses_linux=uses_linux)
    end_as(status)


def end_all(woken: int, package_root: str, *, uses_linux: bool) -> None:
    """End every process below this one."""
    sys.path.append(package_root)
    from redrive.invoke.sandbox import descendants  # noqa: PLC0415 - the path was set just now; starting is faster.

    pause_s = PAUSE_S_FIRST
    for _ in range(ROUNDS_MAX):
        descendants.signal_all(descendants.look(os.getpid()).pids, signal.SIGKILL)
        if not has_children():
            break
        select.select([woken], [], [], pause_s)
        drain(woken)
        pause_s = min(2 * pause_s, PAUSE_S_MAX)
    if not uses_linux:
        names = ("AWS_LAMBDA_RUNTIME_API", "AWS_LAMBDA_LOG_STREAM_NAME")
        descendants.end_marked(f"{name}={os.environ[name]}".encode() for name in names if name in os.environ)


def await_end(runtime: int, lifeline: int, woken: int) -> int:
    """Wait for the runtime's end or the lifeline's; returns the runtime's wait status, 0 if it still runs."""
    while True:
        status = reap(runtime)
        if status is not None:
            # If the lifeline is closed, the engine may have signalled the runtime first: the runtime did not end by
            # itself.
            is_over, _, _ = select.select([lifeline], [], [], 0)
            return 0 if is_over else status
        readable, _, _ = select.select([lifeline, woken], [], [])
        if lifeline in readable:
            return 0
        drain(woken)


def drain(woken: int) -> None:
    """Discard the bytes that signals have written to wake this process."""
    try:
        os.read(woken, 4096)
    except BlockingIOError:
        return


def adopt_orphans() -> None:
    """Become the parent of each descendant whose own parent ends. Linux only."""
    import ctypes  # noqa: PLC0415 - the import takes some milliseconds, and only this function needs it.

    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def show_layers(opt_root: str, needed: list[str]) -> None:
    """Let this process see the files of its layers at /opt, if the machine allows it. No other does. Linux only.

    Code may name its layers' programs in full, as the CDK's BucketDeployment does. Nothing changes where there is no
    /opt, or where one of the `needed` paths is below it.
    """
    paths = [os.path.realpath(path) for path in needed]
    if not os.path.isdir(OPT) or any(path.startswith(f"{OPT}/") for path in paths):  # noqa: PTH112
        return
    import ctypes  # noqa: PLC0415 - the import takes some milliseconds, and few functions have layers.

    libc, user, group = ctypes.CDLL(None), os.getuid(), os.getgid()
    # Who is not root may mount in a namespace of users of his own, where he stays who he is.
    if libc.unshare(CLONE_NEWNS if user == 0 else CLONE_NEWNS | CLONE_NEWUSER):
        return
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123
                file.write(text)
    if libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None):
        return  # Other processes would see the next mount.
    libc.mount(opt_root.encode(), OPT.encode(), None, MS_BIND | MS_REC, None)


def reap(runtime: int) -> int | None:
    """Reap the children that have ended; the wait status of the runtime if it was among them."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 0
        if pid == runtime:
            return status
        if pid == 0:
            return None


def has_children() -> bool:
    """Whether any child is left after reaping those that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def let_go_of_output() -> None:
    """Close the function's output here, so that it ends when its last writer ends."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os.close(nothing)


def end_as(status: int) -> None:
    """End with this wait status: exit code or signal."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(max(code, 0))


def _note_nothing(number: int, frame: object) -> None:
    """A signal with a handler wakes the waiting process, which then checks the state itself."""


def tie_to(lifeline: int, *, uses_linux: bool) -> None:
    """Make this process group end with the writer of the pipe, even if its keeper ended before."""
    if uses_linux:
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
        try:
            if os.read(lifeline, 1) == b"":  # The writer ended before the kernel was asked to watch the pipe.
                os.killpg(0, signal.SIGKILL)
        except BlockingIOError:
            pass
    else:
        _thread.start_new_thread(_watch, (lifeline,))


def _watch(lifeline: int) -> None:
    """Wait for the end of the pipe in a thread, where the kernel cannot send a signal for it."""
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)


def bound_resources() -> None:
    """Disable core dumps, and limit open files to Lambda's number."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = OPEN_FILES_MAX if hard == resource.RLIM_INFINITY else min(OPEN_FILES_MAX, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))


def enter_virtual_time(runtime: str, virtual_time: list[str]) -> None:
    """Switch to virtual time. Our own runtime does that itself; AWS's runtime needs this function."""
    if runtime != "awslambdaric":
        sys.argv += virtual_time
        return
    from redrive.invoke.runtime.function_time import FunctionTime  # noqa: PLC0415 - the path was set just now.

    now_ms, timeout_ms = map(int, virtual_time)
    FunctionTime(now_ms, timeout_ms).follow_aws_runtime()


class LogEvents:
    """Where AWS's runtime writes its log: each record, however many lines it has, is one event.

    The lines of an event go to the engine separated by carriage returns. AWS's own sink for standard output would write
    them as events of their own, and the record after a traceback into the traceback's last line.
    """

    def __enter__(self) -> LogEvents:  # noqa: PYI034 - importing typing takes milliseconds.
        return self

    def __exit__(self, *_: object) -> None:
        """There is nothing to close."""

    def log(self, text: str, frame_type: object = None) -> None:
        """Write one event."""
        sys.stdout.write(text.rstrip("\n").replace("\n", "\r") + "\n")

    def log_error(self, lines: list[str]) -> None:
        """Write the lines of an error as one event."""
        self.log("\n".join(lines))


def write_log_events(runtime: str) -> None:
    """Have AWS's runtime log by events. Our own runtimes do that themselves."""
    if runtime == "awslambdaric":
        vars(importlib.import_module("awslambdaric.bootstrap"))["create_log_sink"] = LogEvents


def load_ahead(package_root: str, runtime: str) -> None:
    """Import the runtime's modules, as Lambda does before the function's code is on the search path.

    This is most of the time of loading a function; the keeper gets ready meanwhile.
    """
    if package_root not in sys.path:
        sys.path.append(package_root)
    for module in LOADED_AHEAD.get(runtime, ()):
        importlib.import_module(module)


def search_path(task_root: str, opt_root: str) -> list[str]:
    """The search path for function code: its own archive, then its layers.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/packaging-layers.html
    """
    if not opt_root:
        return [task_root]
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    layers = (f"{opt_root}/python/lib/{version}/site-packages", f"{opt_root}/python")
    return [task_root, *(path for path in layers if os.path.isdir(path))]  # noqa: PTH112 - pathlib takes milliseconds.


def become(program: list[str], lifeline: int) -> None:
    """Replace this process's program. If the program cannot run, the process ends."""
    os.set_inheritable(lifeline, False)  # The keeper holds it, too, and ends this group.
    try:
        os.execv(program[0], program)  # noqa: S606 -- no shell is wanted: the program is the runtime.
    except OSError as error:
        os.write(2, f"{program[0]} cannot be run: {error.strerror}\n".encode())
        os._exit(1)


def run(task_root: str, opt_root: str, runtime: str, handler: str, virtual_time: list[str]) -> None:
    """Run the runtime in this process, which ends with the runtime."""
    sys.path[:0] = search_path(task_root, opt_root)
    sys.argv = [runtime, handler]
    write_log_events(runtime)
    if virtual_time:
        enter_virtual_time(runtime, virtual_time)
    runpy.run_module(runtime, run_name="__main__", alter_sys=True)


def main(arguments: list[str]) -> None:
    """Fork into keeper and runtime."""
    ways, lifeline, task_root, opt_root, package_root, runtime, handler, *virtual_time = arguments
    uses_linux = ways == "linux"
    bound_resources()
    adopted, adopting = os.pipe()
    child = os.fork()
    if child:
        os.close(adopted)
        keep(child, int(lifeline), adopting, package_root, uses_linux=uses_linux)
        return
    os.close(adopting)
    os.setsid()
    if uses_linux and opt_root:
        programs = [sys.executable, sys.base_prefix, *([handler] if runtime == "-" else [])]
        show_layers(opt_root, [task_root, opt_root, package_root, *programs])
    tie_to(int(lifeline), uses_linux=uses_linux)
    if runtime != "-":
        load_ahead(package_root, runtime)
    os.read(adopted, 1)  # The function's code must not start before the keeper is ready to adopt its processes.
    os.close(adopted)
    if runtime == "-":
        become([handler, *virtual_time], int(lifeline))
    run(task_root, opt_root, runtime, handler, virtual_time)


if __name__ == "__main__":
    main(sys.argv[1:])
