"""One connection to PostgreSQL in libpq's pipeline mode: statements are queued, sent together, answered in order.

    queue ─► queue ─► queue ─► flush ═══ one round trip ═══► read ─► each receiver, in the order of the statements

Nothing here waits. An event loop, or a thread that has nothing else to do, tells when the socket is readable.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import NamedTuple, cast

import psycopg
from psycopg import Connection, pq
from psycopg.adapt import Transformer
from psycopg.rows import TupleRow

from redrive.store.database import Params, Row
from redrive.store.dialect import numbered
from redrive.store.postgres.failures import ConnectionLost, failure_of
from redrive.store.queries import postgresql_text

_BINARY = pq.Format.BINARY
_TEXT = pq.Format.TEXT
_TUPLES = pq.ExecStatus.TUPLES_OK
_DONE = pq.ExecStatus.COMMAND_OK

STATEMENTS_KEPT = 2_000


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with its parameters numbered. `keys` says which parameter, by name or position, each number is."""

    text: bytes
    keys: tuple[str | int, ...]
    only_reads: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a statement: its rows, or how many rows it changed."""

    rows: Sequence[Row]
    changed: int


Receiver = Callable[[Answer], None]


@lru_cache(STATEMENTS_KEPT)
def statement_of(sql: str) -> Statement:
    """What PostgreSQL runs for a statement of the tables."""
    text, keys = numbered(postgresql_text(sql))
    without_comments = re.sub(r"^--.*$", "", text, flags=re.MULTILINE)
    return Statement(text.encode(), keys, only_reads=without_comments.lstrip().startswith("SELECT"))


class _Expected(NamedTuple):
    """A command that was sent. `preparing` is the text of a statement that it prepares; `is_sync` ends a flush."""

    receiver: Receiver | None
    preparing: bytes | None
    is_sync: bool
    round: int


_Queued = tuple[bytes, "list[bytes | None]", "list[pq.Format] | None", "Receiver | None"]
"""A statement's text, its parameters as PostgreSQL reads them, their formats, and who gets the answer."""


class Pipeline:
    """Queues statements and reads their answers. `failed` is called with the first failure since `recover`.

    After a failure, the server skips what was sent with the failed statement, and no receiver of it is called.
    """

    __slots__ = (
        "_expected", "_failed", "_has_failed", "_mark", "_names", "_numbers", "_owner", "_queued", "_round",
        "_transformer", "pgconn", "socket",
    )  # fmt: skip

    def __init__(self, owner: Connection[TupleRow], *, failed: Callable[[Exception], None]) -> None:
        """`owner` is a connection that nothing else uses from now on."""
        self._owner = owner
        self.pgconn = pgconn = owner.pgconn
        self._failed = failed
        self._has_failed = False
        self._names: dict[bytes, bytes] = {}
        self._numbers = count()
        self._queued: list[_Queued] = []
        self._expected: deque[_Expected] = deque()
        self._mark = 0
        self._round = 0
        self._transformer = Transformer(None)
        self.socket = pgconn.socket
        """The file descriptor to watch."""
        pgconn.nonblocking = 1
        pgconn.enter_pipeline_mode()

    @property
    def awaits(self) -> bool:
        """Whether answers are still to come."""
        return bool(self._expected)

    @property
    def has_queued(self) -> bool:
        """Whether statements wait for `flush`."""
        return bool(self._queued)

    def queue(self, sql: str, params: Params, receiver: Receiver | None = None) -> None:
        """Queue a statement. Without a receiver, only its failure matters.

        Errors: whatever a parameter raises that is no value for a database. It is the error of the step that gives it.
        """
        self._queued.append(_queued(statement_of(sql), params, receiver))

    def mark(self) -> None:
        """What is queued so far stays before what `queue_first` queues."""
        self._mark = len(self._queued)

    def queue_first(self, sql: str, params: Params) -> None:
        """Queue a statement before all that are queued since the mark."""
        self._queued.insert(self._mark, _queued(statement_of(sql), params, None))

    def flush(self) -> None:
        """Send what is queued. Errors: ConnectionLost."""
        if not self._queued:
            return
        queued, self._queued = self._queued, []
        self._mark = 0
        try:
            for one in queued:
                self._send(one)
            self._synchronize()
            self.pgconn.flush()
        except psycopg.OperationalError as error:
            raise ConnectionLost(str(error).strip()) from error

    def recover(self) -> None:
        """Forget what is queued and what was sent, so that the server listens again. Errors: ConnectionLost."""
        self._queued.clear()
        self._mark = 0
        self._has_failed = False
        self._round += 1
        try:
            self._synchronize()
        except psycopg.OperationalError as error:
            raise ConnectionLost(str(error).strip()) from error

    def write(self) -> bool:
        """Send more of what the socket had no room for. Returns whether all is sent. Errors: ConnectionLost."""
        try:
            return not self.pgconn.flush()
        except psycopg.OperationalError as error:
            raise ConnectionLost(str(error).strip()) from error

    def read(self) -> None:
        """Read what has arrived, and call the receivers. Errors: ConnectionLost."""
        try:
            self.pgconn.consume_input()
            results = self._arrived()
        except psycopg.OperationalError as error:
            raise ConnectionLost(str(error).strip()) from error
        for expected, result in results:
            self._take(expected, result)

    def notifications(self) -> list[str]:
        """The payloads of the notifications that have arrived."""
        found: list[str] = []
        while (notice := self.pgconn.notifies()) is not None:
            found.append(notice.extra.decode())
        return found

    def close(self) -> None:
        """Close the connection."""
        self._owner.close()

    def _arrived(self) -> list[tuple[_Expected, pq.abc.PGresult]]:
        """The results that need no waiting, each with the command that it answers."""
        pgconn, expected = self.pgconn, self._expected
        found: list[tuple[_Expected, pq.abc.PGresult]] = []
        nothing = 0
        while expected and nothing < 2 and not pgconn.is_busy():
            result = pgconn.get_result()
            if result is None:
                nothing += 1
                continue
            nothing = 0
            found.append((expected.popleft(), result))
        return found

    def _take(self, expected: _Expected, result: pq.abc.PGresult) -> None:
        status = result.status
        if expected.preparing is not None and status != _DONE:
            self._names.pop(expected.preparing, None)
        if expected.round != self._round or expected.is_sync or self._has_failed:
            return
        if status == _TUPLES:
            if expected.receiver is not None:
                transformer = self._transformer
                transformer.set_pgresult(result)
                rows = transformer.load_rows(0, result.ntuples, tuple)
                expected.receiver(Answer(rows, result.command_tuples or 0))
        elif status == _DONE:
            if expected.receiver is not None:
                expected.receiver(Answer((), result.command_tuples or 0))
        else:
            self._has_failed = True
            self._failed(failure_of(result))

    def _send(self, one: _Queued) -> None:
        text, values, formats, receiver = one
        name = self._names.get(text)
        if name is None:
            name = self._names[text] = b"s%d" % next(self._numbers)
            self.pgconn.send_prepare(name, text)
            self._expected.append(_Expected(None, text, False, self._round))
        self.pgconn.send_query_prepared(name, values, formats, _BINARY)
        self._expected.append(_Expected(receiver, None, False, self._round))

    def _synchronize(self) -> None:
        self.pgconn.pipeline_sync()
        self._expected.append(_Expected(None, None, True, self._round))


def _queued(statement: Statement, params: Params, receiver: Receiver | None) -> _Queued:
    values = [params[key] for key in statement.keys]  # type: ignore[index]
    has_bytes = bytes in map(type, values)
    formats = [_BINARY if type(value) is bytes else _TEXT for value in values] if has_bytes else None
    return statement.text, [_encoded(value) for value in values], formats, receiver


def _encoded(value: object) -> bytes | None:
    """A value as PostgreSQL reads it, for a parameter whose type the server infers.

    PostgreSQL's texts have no NUL, and libpq would end the text there. U+FFFD stands for it.
    """
    kind = type(value)
    if kind is int:
        return b"%d" % cast(int, value)
    if isinstance(value, str):
        encoded = str.encode(value)
        return encoded.replace(b"\0", b"\xef\xbf\xbd") if b"\0" in encoded else encoded
    if value is None or kind is bytes:
        return cast("bytes | None", value)
    if kind is bool:  # Columns of truth values are integers, as in SQLite.
        return b"1" if value else b"0"
    return str(value).encode()
