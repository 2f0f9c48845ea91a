"""One execution environment: processes with function code in them, and the Runtime API that they ask for work.

Has no thread of its own. Whoever runs something in it also reads its output and answers its requests meanwhile; between
two runs nobody does, and its processes are soon stopped, as Lambda freezes an idle environment.

Whatever the function does, a turn of the loop is short: it reads once from each that has something, and after so many
turns it rests until the next tick. So the deadline, the memory and the number of processes are looked at in time.
"""

from __future__ import annotations

import os
import selectors
import socket
import threading
from collections.abc import Callable

from redrive.core.clock import Clock, monotonic_ms
from redrive.delivery.outside.invocation import LogLine
from redrive.invoke.endings import Exited, OutOfMemory, Ran, Ready, TimedOut
from redrive.invoke.runtime.api import Event, Phase, RuntimeApi
from redrive.invoke.runtime.connection import READ_BYTES, Connection
from redrive.invoke.runtime.http_exchange import CONTINUE, MalformedRequest
from redrive.invoke.sandbox.descendants import HAS_PROC
from redrive.invoke.sandbox.output import Output
from redrive.invoke.sandbox.peers import is_of_one_of
from redrive.invoke.sandbox.processes import PROCESSES_MAX, Processes
from redrive.invoke.sandbox.program import Program

TICK_MS = 50
"""How often it is looked at whether the runtime lives."""

LEFT_TICK_MS = 1
"""The same, once the runtime has hung up: its process is about to end."""

MEASURE_MS = 50 if HAS_PROC else 1_000
"""How often processes are measured: how many they are, and how much memory they hold."""

TURNS_PER_TICK_MAX = 128
"""How often a sandbox is read from within a tick: a flood of output waits in its pipe, and costs others little."""

TURNS_OF_A_CONNECTION = 8
"""What a new connection counts: to find out whose it is takes longer than to read."""

LAST_READS_MAX = 1_000
"""How many reads are spent on what was written before the end of all processes, who leave a full pipe at most."""

CONNECTIONS_MAX = 16


class Sandbox:
    """Processes that run one event at a time. Used by one thread at a time; `kill` may come from any."""

    def __init__(self, program: Program, *, log_stream: str, clock: Clock) -> None:
        """Start the processes. `clock` gives the log lines their time. Errors: OSError."""
        self.log_stream = log_stream
        self.program = program
        self._memory_kb_max = program.memory_mb * 1024
        self._output = Output(clock)
        self._selector = selectors.DefaultSelector()
        self._waiting: Connection | None = None
        self._was_left = False
        self._rest = threading.Event()
        self._connections: set[Connection] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        host, port = self._listener.getsockname()
        self._api = RuntimeApi(f"{host}:{port}")
        try:
            self._processes = Processes(program, f"{host}:{port}")
        except BaseException:
            self._selector.close()
            self._listener.close()
            raise
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._processes.output, selectors.EVENT_READ, self._read_output)

    @property
    def is_alive(self) -> bool:
        """Whether the runtime's process runs."""
        return self._processes.are_alive

    @property
    def memory_used_mb(self) -> int:
        """The most memory that was seen in use so far, in whole megabytes."""
        return -(-self._processes.memory_kb // 1024)

    def await_ready(self, limit_ms: float) -> Ready | Ran:
        """Wait until the function is loaded, or says that it cannot be."""
        ended = self._serve(lambda: self._api.phase in (Phase.WAITING, Phase.FAILED), limit_ms)
        if ended is not None:
            return ended
        return self._api.report or Ready()

    def run(self, event: Event, limit_ms: float) -> Ran:
        """Hand over an event and wait for the answer to it."""
        end = monotonic_ms() + limit_ms
        self._processes.thaw()
        ended = self._serve(lambda: self._waiting is not None, limit_ms)
        if ended is not None:
            return ended
        assert self._waiting is not None
        connection, self._waiting = self._waiting, None
        self._hand_over(connection, event)
        ended = self._serve(lambda: self._api.report is not None, end - monotonic_ms())
        # Where looking takes long, it is done once for a run that is over before the first look.
        if ended is None and (HAS_PROC or not self._processes.memory_kb):
            ended = self._excess()
        if ended is not None:
            return ended
        self._read_output()
        assert self._api.report is not None
        return self._api.report

    def note(self, text: str) -> None:
        """Add a line of the environment's own to what the function wrote."""
        self._output.note(text)

    def take_lines(self) -> tuple[LogLine, ...]:
        """What was written since the last time."""
        return self._output.take()

    def freeze(self) -> None:
        """Stop all processes until the next run."""
        self._processes.freeze()

    def kill(self) -> None:
        """Have all processes ended soon."""
        self._processes.end()
        self._rest.set()

    def close(self) -> None:
        """End all processes, keep their last output, let go of all that was held."""
        self._processes.close()
        self._hear_last_words()
        for connection in self._connections:
            connection.socket.close()
        self._selector.close()
        self._listener.close()
        self._processes.let_go()

    def _serve(self, done: Callable[[], bool], limit_ms: float) -> Exited | TimedOut | OutOfMemory | None:
        """Answer requests and read output until `done`. None if it was; otherwise what came first."""
        start = monotonic_ms()
        looked_at = measured_at = start
        turns = 0
        while not done():
            now = monotonic_ms()
            tick_ms = LEFT_TICK_MS if self._was_left else TICK_MS
            if now - looked_at >= tick_ms:
                looked_at, turns = now, 0
                if now - measured_at >= MEASURE_MS:
                    measured_at = now
                    excess = self._excess()
                    if excess is not None:
                        return excess
                if not self.is_alive:
                    self._hear_last_words()
                    return None if done() else Exited(self._processes.exit_reason)
            if now - start >= limit_ms:
                return TimedOut()
            wait_ms = min(looked_at + tick_ms - now, limit_ms - (now - start))
            if turns < TURNS_PER_TICK_MAX:
                turns += self._poll(wait_ms)
            else:
                self._rest.wait(max(0.0, wait_ms) / 1000)
        return None

    def _poll(self, wait_ms: float) -> int:
        """Serve each that has something, once; how many turns that was."""
        events = self._selector.select(max(0.0, wait_ms) / 1000)
        for key, _ in events:
            key.data()
        return sum(TURNS_OF_A_CONNECTION if key.fileobj is self._listener else 1 for key, _ in events)

    def _hear_last_words(self) -> None:
        for _ in range(LAST_READS_MAX):
            if not self._poll(0):
                break

    def _excess(self) -> OutOfMemory | Exited | None:
        """What the processes are ended for: more memory than the function has, or too many of them."""
        self._processes.measure()
        if self._processes.memory_kb > self._memory_kb_max:
            return OutOfMemory()
        if self._processes.are_too_many:
            return Exited(f"more than {PROCESSES_MAX} processes and threads")
        return None

    def _hand_over(self, connection: Connection, event: Event) -> None:
        try:
            connection.send(self._api.begin(event))
        except OSError:
            self._drop(connection)
            return
        self._watch(connection)

    def _accept(self) -> None:
        """Take a connection, if it comes from a process of this sandbox."""
        try:
            accepted, _ = self._listener.accept()
        except OSError:
            return  # Whoever it was has left already.
        is_welcome = len(self._connections) < CONNECTIONS_MAX and is_of_one_of(self._processes.pids, accepted)
        if not is_welcome:
            accepted.close()
            return
        connection = Connection(accepted)
        self._was_left = False
        self._connections.add(connection)
        self._watch(connection)

    def _watch(self, connection: Connection) -> None:
        """Wait for what the connection can do next: take bytes if it owes any, otherwise bring some."""
        events = selectors.EVENT_WRITE if connection.owes else selectors.EVENT_READ

        def serve() -> None:
            self._serve_connection(connection)

        if connection.socket in self._selector.get_map():
            self._selector.modify(connection.socket, events, serve)
        else:
            self._selector.register(connection.socket, events, serve)

    def _serve_connection(self, connection: Connection) -> None:
        try:
            is_open = connection.exchange()
            while (request := connection.reader.next_request()) is not None:
                answer = self._api.handle(request)
                if answer is None:
                    self._waiting = connection
                else:
                    connection.send(answer)
            if connection.reader.wants_continue():
                connection.send(CONTINUE)
        except (MalformedRequest, OSError):
            is_open = False
        if is_open:
            self._watch(connection)
        else:
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        """Let go of a connection that is of no more use."""
        if connection.socket in self._selector.get_map():
            self._selector.unregister(connection.socket)
        self._connections.discard(connection)
        self._was_left = True
        connection.socket.close()
        if self._waiting is connection:
            self._waiting = None

    def _read_output(self) -> None:
        """Read once."""
        try:
            data = os.read(self._processes.output, READ_BYTES)
        except BlockingIOError:
            return
        if data:
            self._output.feed(data)
        elif self._processes.output in self._selector.get_map():
            self._selector.unregister(self._processes.output)
