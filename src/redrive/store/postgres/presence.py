"""What a node tells the others and hears from them: that it lives, what has been committed, and what time it is.

    heartbeat   a row of `nodes`, each second; a node that is silent for a minute is forgotten
    topics      NOTIFY, at most once in 10 ms: a hint for other nodes, which also look by themselves
    time        the database's clock. The node's own wall clock is not used, so nodes with wrong clocks agree

All of it has a connection of its own, because a NOTIFY inside a transaction would serialize all commits.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import LiteralString, NamedTuple

import psycopg

from redrive.core.clock import Instant, monotonic_ms
from redrive.core.errors import UserError
from redrive.store.api import EVERYTHING
from redrive.store.postgres.failures import ConnectionLost
from redrive.store.postgres.pipeline import Answer, Pipeline
from redrive.store.postgres.socket_events import SocketEvents

CHANNEL = "redrive"
BEAT_S = 1.0
GATHER_S = 0.01
"""How long topics are gathered before other nodes are told."""
PAYLOAD_BYTES_MAX = 7_000
"""A notification has room for 8,000 bytes."""
SILENT_MS_MAX = 60_000
RECONNECT_PAUSE_S = 0.5
MEASURED_FOR_MS = 60_000
"""How long the best measurement of the database's clock counts: clocks drift."""

_BEAT = """
INSERT INTO nodes (id, started_at, seen_at, document) VALUES (:id, :now, :now, :document)
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, document = excluded.document
"""
_NODES = "SELECT started_at, seen_at, document FROM nodes ORDER BY started_at, id"
TIME: LiteralString = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"


class DatabaseTime:
    """The database's clock, read between measurements by this machine's monotonic clock."""

    def __init__(self) -> None:
        self._offset_ms = 0.0
        self._error_ms = float("inf")
        self._measured_at = 0.0

    def measured(self, sent_at: float, database_ms: Instant) -> None:
        """Take a measurement. The shortest round trip errs the least: by at most half of it."""
        now = monotonic_ms()
        error_ms = (now - sent_at) / 2
        if error_ms <= self._error_ms or now - self._measured_at > MEASURED_FOR_MS:
            self._error_ms, self._measured_at = error_ms, now
            self._offset_ms = database_ms - (sent_at + now) / 2

    def now(self) -> Instant:
        """Milliseconds since the epoch, by the database's clock."""
        return round(monotonic_ms() + self._offset_ms)


class Told(NamedTuple):
    """What a node says of itself, and when it was here first and last, by the database's clock."""

    started_at: Instant
    seen_at: Instant
    document: dict[str, object]


class Presence:
    """A node among others, on an event loop. All methods are called on the loop's thread, except `tell`."""

    def __init__(
        self, connect: Callable[[Callable[[Exception], None]], Pipeline], time: DatabaseTime, *, id: str,
        describe: Callable[[], Mapping[str, object]], heard: Callable[[frozenset[str]], None],
    ) -> None:  # fmt: skip
        """`describe` is what the node says of itself. `heard` is called with the topics of other nodes' commits."""
        self._connect = connect
        self._time = time
        self._id = id
        self._describe = describe
        self._heard = heard
        self._loop = asyncio.get_running_loop()
        self._home = threading.get_ident()
        self._topics: set[str] = set()
        self._closing = threading.Event()
        self._failure: Exception | None = None
        self._pipeline: Pipeline | None = None
        self._beating: asyncio.TimerHandle | None = None
        self.nodes: Sequence[Told] = ()
        """All nodes, this one among them, as they were at the last beat."""
        self._connected(connect(self._failed))

    def tell(self, topics: frozenset[str]) -> None:
        """Tell other nodes that these topics have news. Any thread may call it."""
        if threading.get_ident() != self._home:
            self._loop.call_soon_threadsafe(self.tell, topics)
        elif topics and not self._closing.is_set():
            if not self._topics:
                self._loop.call_later(GATHER_S, self._send_topics)
            self._topics |= topics

    def close(self) -> None:
        """Take leave: the node's row is deleted."""
        self._closing.set()
        if self._beating is not None:
            self._beating.cancel()
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is not None:
            self._events.close()
            with contextlib.suppress(ConnectionLost):
                pipeline.queue("DELETE FROM nodes WHERE id = ?", (self._id,))
                pipeline.flush()
            pipeline.close()

    def _failed(self, error: Exception) -> None:
        self._failure = error

    def _connected(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._failure = None
        self._events = SocketEvents(self._loop, pipeline.socket, self._read)
        pipeline.queue(f"LISTEN {CHANNEL}", ())
        self._beat()

    def _beat(self) -> None:
        """Say that this node lives, measure the time, and forget nodes that are silent."""
        pipeline = self._pipeline
        if pipeline is None or self._closing.is_set():
            return
        if self._beating is not None:
            self._beating.cancel()  # Of the connection before.
        self._beating = self._loop.call_later(BEAT_S, self._beat)
        sent_at = monotonic_ms()
        pipeline.queue(TIME, (), lambda answer: self._measured(sent_at, answer))
        now = self._time.now()
        pipeline.queue(_BEAT, {"id": self._id, "now": now, "document": json.dumps(self._describe())})
        pipeline.queue("DELETE FROM nodes WHERE seen_at < ?", (now - SILENT_MS_MAX,))
        pipeline.queue(_NODES, (), self._saw)
        self._flush(pipeline)
        self._heard(frozenset({EVERYTHING}))  # A hint may be lost with the node that would have given it.

    def _saw(self, answer: Answer) -> None:
        self.nodes = [Told(int(began), int(seen), json.loads(text)) for began, seen, text in answer.rows]

    def _measured(self, sent_at: float, answer: Answer) -> None:
        self._time.measured(sent_at, answer.rows[0][0])

    def _send_topics(self) -> None:
        topics, self._topics = self._topics, set()
        payload = self._id + "\n" + json.dumps(sorted(topics))
        if len(payload) > PAYLOAD_BYTES_MAX:
            payload = self._id + "\n" + json.dumps([EVERYTHING])
        if self._pipeline is not None:
            self._pipeline.queue("SELECT pg_notify(?, ?)", (CHANNEL, payload))
            self._flush(self._pipeline)

    def _flush(self, pipeline: Pipeline) -> None:
        try:
            pipeline.flush()
        except ConnectionLost:
            self._lost()

    def _read(self) -> None:
        pipeline = self._pipeline
        if pipeline is None:
            return
        try:
            pipeline.read()
        except ConnectionLost:
            self._lost()
            return
        for payload in pipeline.notifications():
            sender, _, topics = payload.partition("\n")
            if sender != self._id:
                self._heard(frozenset(json.loads(topics)))
        if self._failure is not None:
            self._lost()

    def _lost(self) -> None:
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is not None:
            self._events.close()
            pipeline.close()
            threading.Thread(target=self._reconnect, name="redrive-presence", daemon=True).start()

    def _reconnect(self) -> None:
        while not self._closing.wait(RECONNECT_PAUSE_S):
            try:
                pipeline = self._connect(self._failed)
            except (UserError, psycopg.Error):  # The connection may be lost again before it is used.
                continue
            self._loop.call_soon_threadsafe(self._connected, pipeline)
            return
