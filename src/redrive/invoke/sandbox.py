"""One execution environment: a process with function code in it, and the Runtime API that it asks for work.

Has no thread of its own. Whoever runs something in it also reads its output and answers its requests meanwhile;
between two runs nobody does, and the process waits: Lambda freezes an idle environment, and this comes near to it.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import redrive
from redrive.core.clock import Clock, Instant, monotonic_ms
from redrive.delivery.invocation import LogLine
from redrive.invoke.endings import Exited, OutOfMemory, Ran, Ready, TimedOut
from redrive.invoke.environment import process_variables
from redrive.invoke.http_exchange import CONTINUE, MalformedRequest, RequestReader
from redrive.invoke.memory import memory_kb
from redrive.invoke.output import Output
from redrive.invoke.runtime_api import Event, Phase, RuntimeApi

TICK_MS = 50
"""How often a running process is looked at: whether it lives, and how much memory it holds."""

LEFT_TICK_MS = 1
"""The same, once the runtime has hung up: its process is about to end."""

LAST_WORDS_MAX = 1_000
"""How many reads are spent on what a process wrote before it ended: a child that lives on may write for ever."""

READ_BYTES = 256 * 1024

PACKAGE_ROOT = Path(redrive.__file__).parents[1]
LAUNCHER = Path(__file__).with_name("launch.py")

AWS_RUNTIME = "awslambdaric"
OWN_RUNTIME = "redrive.invoke.client"


@dataclass(frozen=True, slots=True)
class Program:
    """What to start. `runtime` is the module that asks for events and calls the handler.

    `virtual_now` is where its time begins if the engine's is virtual, None for real time.
    """

    runtime: str
    handler: str
    task_root: Path
    variables: Mapping[str, str]
    memory_mb: int
    timeout_ms: int
    virtual_now: Instant | None = None


class Sandbox:
    """A process that runs one event at a time. Used by one thread at a time; `kill` may come from any."""

    def __init__(self, program: Program, *, log_stream: str, clock: Clock) -> None:
        """Start the process. `clock` gives the log lines their time."""
        self.log_stream = log_stream
        self.memory_used_kb = 0
        self._memory_kb_max = program.memory_mb * 1024
        self._api = RuntimeApi()
        self._output = Output(clock)
        self._selector = selectors.DefaultSelector()
        self._waiting: _Connection | None = None
        self._was_left = False
        self._connections: set[_Connection] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        reading_end, self._lifeline = os.pipe()
        try:
            self._process = _start(program, self._listener, reading_end)
        except BaseException:
            os.close(self._lifeline)
            self._listener.close()
            raise
        finally:
            os.close(reading_end)
        assert self._process.stdout is not None
        self._stdout = self._process.stdout.fileno()
        os.set_blocking(self._stdout, False)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._stdout, selectors.EVENT_READ, self._read_output)

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    @property
    def memory_used_mb(self) -> int:
        """The most memory that was seen in use so far, in whole megabytes."""
        return -(-self.memory_used_kb // 1024)

    def await_ready(self, limit_ms: float) -> Ready | Ran:
        """Wait until the function is loaded, or says that it cannot be."""
        ended = self._serve(lambda: self._api.phase in (Phase.WAITING, Phase.FAILED), limit_ms)
        if ended is not None:
            return ended
        return self._api.report or Ready()

    def run(self, event: Event, limit_ms: float) -> Ran:
        """Hand over an event and wait for the answer to it."""
        end = monotonic_ms() + limit_ms
        ended = self._serve(lambda: self._waiting is not None, limit_ms)
        if ended is not None:
            return ended
        assert self._waiting is not None
        connection, self._waiting = self._waiting, None
        connection.send(self._api.begin(event))
        self._watch(connection)
        ended = self._serve(lambda: self._api.report is not None, end - monotonic_ms())
        self._read_output()
        if ended is None and self._holds_too_much():
            ended = OutOfMemory()
        if ended is not None:
            return ended
        assert self._api.report is not None
        return self._api.report

    def note(self, text: str) -> None:
        """Add a line of the environment's own to what the function wrote."""
        self._output.add(text)

    def take_lines(self) -> tuple[LogLine, ...]:
        """What was written since the last time."""
        return self._output.take()

    def kill(self) -> None:
        """End the process and its whole group at once."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return  # Everybody has ended already; macOS then says that it is not permitted.

    def close(self) -> None:
        """End the process, keep its last output, let go of all that it held."""
        self.kill()
        self._process.wait()
        self._hear_last_words()
        for connection in self._connections:
            connection.socket.close()
        self._selector.close()
        self._listener.close()
        os.close(self._lifeline)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _serve(self, done: Callable[[], bool], limit_ms: float) -> Exited | TimedOut | OutOfMemory | None:
        """Answer requests and read output until `done`. None if it was; otherwise what came first."""
        start = monotonic_ms()
        looked_at = start
        while not done():
            now = monotonic_ms()
            tick_ms = LEFT_TICK_MS if self._was_left else TICK_MS
            if now - looked_at >= tick_ms:
                looked_at = now
                if self._holds_too_much():
                    return OutOfMemory()
                if not self.is_alive:
                    self._hear_last_words()
                    return None if done() else Exited(self._exit_reason())
            if now - start >= limit_ms:
                return TimedOut()
            self._poll(min(tick_ms, limit_ms - (now - start)))
        return None

    def _poll(self, wait_ms: float) -> bool:
        events = self._selector.select(max(0.0, wait_ms) / 1000)
        for key, _ in events:
            key.data()
        return bool(events)

    def _hear_last_words(self) -> None:
        for _ in range(LAST_WORDS_MAX):
            if not self._poll(0):
                break

    def _holds_too_much(self) -> bool:
        self.memory_used_kb = max(self.memory_used_kb, memory_kb(self._process.pid))
        return self.memory_used_kb > self._memory_kb_max

    def _exit_reason(self) -> str:
        status = self._process.returncode
        if status == 0:
            return "Runtime exited without providing a reason"
        if status > 0:
            return f"Runtime exited with error: exit status {status}"
        name = signal.strsignal(-status) or str(-status)
        return f"Runtime exited with error: signal: {name.lower()}"

    def _accept(self) -> None:
        accepted, _ = self._listener.accept()
        connection = _Connection(accepted)
        self._was_left = False
        self._connections.add(connection)
        self._watch(connection)

    def _watch(self, connection: _Connection) -> None:
        """Wait for what the connection can do next: take bytes if it owes any, and bring some."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.owes else 0)

        def serve() -> None:
            self._serve_connection(connection)

        if connection.socket in self._selector.get_map():
            self._selector.modify(connection.socket, events, serve)
        else:
            self._selector.register(connection.socket, events, serve)

    def _serve_connection(self, connection: _Connection) -> None:
        try:
            open_still = connection.exchange()
            while (request := connection.reader.next_request()) is not None:
                answer = self._api.handle(request)
                if answer is None:
                    self._waiting = connection
                else:
                    connection.send(answer)
            if connection.reader.wants_continue():
                connection.send(CONTINUE)
        except (MalformedRequest, OSError):
            open_still = False
        if open_still:
            self._watch(connection)
            return
        self._selector.unregister(connection.socket)
        self._connections.discard(connection)
        self._was_left = True
        connection.socket.close()
        if self._waiting is connection:
            self._waiting = None

    def _read_output(self) -> None:
        """Read all that there is now."""
        try:
            while data := os.read(self._stdout, READ_BYTES):
                self._output.feed(data)
        except BlockingIOError:
            return
        if self._stdout in self._selector.get_map():
            self._selector.unregister(self._stdout)


class _Connection:
    """One connection of the runtime: never blocks, keeps what could not be sent yet."""

    def __init__(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = accepted
        self.reader = RequestReader()
        self._unsent = bytearray()

    @property
    def owes(self) -> bool:
        """Whether something is left to send."""
        return bool(self._unsent)

    def send(self, data: bytes) -> None:
        """Send now what can be sent, and keep the rest."""
        self._unsent += data
        try:
            while self._unsent:
                del self._unsent[: self.socket.send(self._unsent)]
        except BlockingIOError:
            return

    def exchange(self) -> bool:
        """Send what is left, read what has come; False if the other side is gone."""
        self.send(b"")
        try:
            while data := self.socket.recv(READ_BYTES):
                self.reader.feed(data)
        except BlockingIOError:
            return True
        return False


def _start(program: Program, listener: socket.socket, lifeline: int) -> subprocess.Popen[bytes]:
    address, port = listener.getsockname()
    root = str(program.task_root)
    # -u: a line is in the log when it was printed, even if the process is killed after it.
    # -s and -P: neither this user's packages nor the launcher's own directory are on the search path.
    command = [sys.executable, "-u", "-s", "-P", str(LAUNCHER), str(lifeline), root, str(PACKAGE_ROOT)]
    virtual_time = [] if program.virtual_now is None else [str(program.virtual_now), str(program.timeout_ms)]
    return subprocess.Popen(
        [*command, program.runtime, program.handler, *virtual_time],
        cwd=root,
        env={**process_variables(root, f"{address}:{port}"), **program.variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        pass_fds=[lifeline],
        start_new_session=True,
    )
