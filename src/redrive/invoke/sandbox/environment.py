"""One execution environment: processes with function code, and the Runtime API from which they take events.

Has no thread of its own. The thread that runs an event here also reads the output and answers the requests. Between two
runs no thread does, and the processes are soon frozen, as Lambda freezes an idle environment.

Each turn of the loop is short, whatever the function does: one read from each source that has data. After a number of
turns the loop pauses until the next tick, so the deadline, the memory and the number of processes are checked in time.
"""

from __future__ import annotations

import os
import selectors
import socket
import threading
from collections.abc import Callable

from redrive.core.clock import Clock, monotonic_ms
from redrive.delivery.outside.invocation import LogLine, ResponseStream
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
"""How often the loop checks whether the runtime lives."""

LEFT_TICK_MS = 1
"""The same, after the runtime has closed its connection: its process is about to end."""

MEASURE_MS = 50 if HAS_PROC else 1_000
"""How often processes are measured: their number, and their memory."""

TURNS_PER_TICK_MAX = 128
"""How many reads there are in a tick: more output waits in its pipe, so that it costs other functions little."""

TURNS_OF_A_CONNECTION = 8
"""How many reads a new connection counts for: finding its process takes longer than a read."""

LAST_READS_MAX = 1_000
"""How many reads take the output that was written before all processes ended: a full pipe at most."""

CONNECTIONS_MAX = 16


class Sandbox:
    """Processes that run one event at a time. One thread at a time may use it; any thread may call `kill`."""

    def __init__(self, program: Program, *, log_stream: str, clock: Clock) -> None:
        """Start the processes. `clock` dates the log lines. Errors: OSError."""
        self.log_stream = log_stream
        self.program = program
        self._memory_kb_max = program.memory_mb * 1024
        self._output = Output(clock)
        self._selector = selectors.DefaultSelector()
        self._waiting: Connection | None = None
        self._was_left = False
        self._stream: ResponseStream | None = None
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
    def has_streamed(self) -> bool:
        """Whether the latest run has begun to answer in pieces."""
        return self._api.has_streamed

    @property
    def memory_used_mb(self) -> int:
        """The most memory in use at any measurement so far, in whole megabytes."""
        return -(-self._processes.memory_kb // 1024)

    def await_ready(self, limit_ms: float) -> Ready | Ran:
        """Wait until the function is loaded, or reports that loading failed."""
        ended = self._serve(lambda: self._api.phase in (Phase.WAITING, Phase.FAILED), limit_ms)
        if ended is not None:
            return ended
        return self._api.report or Ready()

    def run(self, event: Event, limit_ms: float, stream: ResponseStream | None = None) -> Ran:
        """Hand over an event and wait for the answer to it, which goes to `stream` if it comes in pieces."""
        self._stream = stream
        try:
            return self._run(event, limit_ms)
        finally:
            self._stream = None

    def _run(self, event: Event, limit_ms: float) -> Ran:
        end = monotonic_ms() + limit_ms
        self._processes.thaw()
        ended = self._serve(lambda: self._waiting is not None, limit_ms)
        if ended is not None:
            return ended
        assert self._waiting is not None
        connection, self._waiting = self._waiting, None
        self._hand_over(connection, event)
        ended = self._serve(lambda: self._api.report is not None, end - monotonic_ms())
        # Where measuring is slow, a run that ends before the first measurement is measured once.
        if ended is None and (HAS_PROC or not self._processes.memory_kb):
            ended = self._excess()
        if ended is not None:
            return ended
        self._read_output()
        assert self._api.report is not None
        return self._api.report

    def note(self, text: str) -> None:
        """Add a line of the environment's own to the function's output."""
        self._output.note(text)

    def take_lines(self) -> tuple[LogLine, ...]:
        """The output since the last call."""
        return self._output.take()

    def freeze(self) -> None:
        """Stop all processes until the next run."""
        self._processes.freeze()

    def kill(self) -> None:
        """Make all processes end soon."""
        self._processes.end()
        self._rest.set()

    def close(self) -> None:
        """End all processes, keep their last output, release all resources."""
        self._processes.close()
        self._hear_last_words()
        for connection in self._connections:
            connection.socket.close()
        self._selector.close()
        self._listener.close()
        self._processes.let_go()

    def _serve(self, done: Callable[[], bool], limit_ms: float) -> Exited | TimedOut | OutOfMemory | None:
        """Answer requests and read output until `done`. None if that comes first; otherwise what came first."""
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
            if turns < TURNS_PER_TICK_MAX and not (self._stream is not None and self._stream.is_full):
                turns += self._poll(wait_ms)
            else:
                self._rest.wait(max(0.0, wait_ms) / 1000)
        return None

    def _poll(self, wait_ms: float) -> int:
        """Serve once each source that has data; returns the number of turns."""
        events = self._selector.select(max(0.0, wait_ms) / 1000)
        for key, _ in events:
            key.data()
        return sum(TURNS_OF_A_CONNECTION if key.fileobj is self._listener else 1 for key, _ in events)

    def _hear_last_words(self) -> None:
        for _ in range(LAST_READS_MAX):
            if not self._poll(0):
                break

    def _excess(self) -> OutOfMemory | Exited | None:
        """Why the processes must end: too much memory for the function, or too many processes; None if neither."""
        self._processes.measure()
        if self._processes.memory_kb > self._memory_kb_max:
            return OutOfMemory()
        if self._processes.are_too_many:
            return Exited(f"more than {PROCESSES_MAX} processes and threads")
        return None

    def _hand_over(self, connection: Connection, event: Event) -> None:
        try:
            connection.send(self._api.begin(event, self._stream))
        except OSError:
            self._drop(connection)
            return
        self._watch(connection)

    def _accept(self) -> None:
        """Accept a connection, if it comes from a process of this sandbox."""
        try:
            accepted, _ = self._listener.accept()
        except OSError:
            return  # The client has closed it already.
        is_welcome = len(self._connections) < CONNECTIONS_MAX and is_of_one_of(self._processes.pids, accepted)
        if not is_welcome:
            accepted.close()
            return
        connection = Connection(accepted, self._api.take_pieces)
        self._was_left = False
        self._connections.add(connection)
        self._watch(connection)

    def _watch(self, connection: Connection) -> None:
        """Wait for the connection's next event: until it can send if bytes are unsent, otherwise until bytes arrive."""
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
        """Close a connection that is not used any more."""
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
