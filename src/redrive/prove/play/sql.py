"""Answers the handler's statements to databases: each one that reads or writes is a call, and so is a COMMIT of writes.

Within a transaction nothing is left behind before its COMMIT, so a crash before or after that call makes a
difference. What begins or ends a transaction without writes is no call.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from redrive.core.clock import SECOND_MS
from redrive.prove.calls.calls import SQL_SERVICE, Call
from redrive.prove.play.asked import Way
from redrive.prove.play.running import Passage
from redrive.prove.process.sql_exchange import (
    ABORTED,
    LOCKED,
    LOST,
    SERIALIZATION,
    UNIQUE,
    SqlAnswer,
    SqlAsked,
    SqlRefusal,
)
from redrive.prove.process.statements import deed_of, first_word, is_read_statement
from redrive.prove.sql.server import Place, Server
from redrive.prove.sql.statement import named_placeholders
from redrive.prove.sql.tables import Schema, schema_of
from redrive.prove.sql.translating import translated
from redrive.prove.stage.stage import Stage

_SILENT = frozenset(
    {
        "",
        "ABORT",
        "ALTER",
        "BEGIN",
        "CREATE",
        "PRAGMA",
        "RELEASE",
        "ROLLBACK",
        "SAVEPOINT",
        "SET",
        "SHOW",
        "START",
        "USE",
        "VACUUM",
    }
)
_OUTCOMES = {
    UNIQUE: "the key is there already", LOCKED: "another transaction holds the lock",
    SERIALIZATION: "another transaction came between", ABORTED: "the transaction has failed before",
}  # fmt: skip
"""Refusals, for the user."""
_PER_RUN = 1_000
"""More connections than a run makes: one that an environment keeps from an earlier run has a number of its own."""
_ENDS = frozenset({"COMMIT", "END"})


@dataclass(slots=True)
class _Session:
    """A connection as the handler has it: whether a transaction is open, and what it has written."""

    is_open: bool = False
    writes: list[tuple[str, str]] = field(default_factory=list)


class Sql:
    """The databases of the world, and the connections of the runs."""

    def __init__(self, stage: Stage, file: Callable[[], Path | None], guesses: MutableMapping[str, str]) -> None:
        """`file` is the handler's; `guesses` receives what was guessed."""
        self._stage = stage
        self._file = file
        self._guesses = guesses
        self._sessions: dict[Place, _Session] = {}
        self._connections: dict[int, int] = {}
        self._server = Server(self._now, self._schema, self._tell)
        stage.attached.append(self._server)

    def connect(self, run: int) -> int:
        """The number of a new connection of a run."""
        self._connections[run] = self._connections.get(run, 0) + 1
        return run * _PER_RUN + self._connections[run]

    def end(self, run: int) -> None:
        """A run has ended, however: its connections are gone, and its open transactions are rolled back."""
        self._connections.pop(run, None)
        for place in [place for place in self._sessions if place[0] == run]:
            del self._sessions[place]
        self._stage.ask(("sql end", run), lambda: self._server.end(run))

    def has(self, run: int) -> bool:
        """Whether a run has made a connection or a statement."""
        return run in self._connections or any(place[0] == run for place in self._sessions)

    def call_of(self, place: Place, asked: SqlAsked) -> Call | None:
        """The call that a statement is; None if it is none."""
        word = first_word(asked.text)
        session = self._sessions.setdefault(place, _Session())
        if word in _ENDS:
            return _commit(asked, session.writes) if session.writes else None
        if word in _SILENT:
            return None
        return Call(
            SQL_SERVICE, deed_of(asked.text), _table(asked), {"Statement": asked.text, "Parameters": asked.params}
        )

    def answer(self, place: Place, asked: SqlAsked) -> SqlAnswer | SqlRefusal:
        """The answer where nothing goes wrong."""
        question = ("sql", place, asked.dialect, asked.database, asked.text, repr(asked.params), repr(asked.more))
        answer = self._stage.ask(question, lambda: self._server.execute(place, asked))
        self._follow(place, asked, answer)
        return answer

    def pass_on(self, place: Place, asked: SqlAsked, passage: Passage) -> SqlAnswer | SqlRefusal:
        """The answer on a way."""
        if passage.way in {Way.REFUSED, Way.UNREACHED}:
            return self._lose(place, passage)
        answer = self.answer(place, asked)
        if isinstance(answer, SqlRefusal):
            passage.outcome = _OUTCOMES.get(answer.code, f"SQLSTATE {answer.code}")
            passage.answer = {"refused": answer.code, "message": answer.message}
            return answer
        if answer.changes:
            passage.take_effect({"Changes": answer.changes})
        if passage.way is Way.LOST:
            return self._lose(place, passage)
        passage.answer = {"rows": answer.rows, "count": answer.count, "id": answer.last_id}
        return answer

    def _lose(self, place: Place, passage: Passage) -> SqlRefusal:
        self._sessions.pop(place, None)
        self._stage.ask(("sql lost", place), lambda: self._server.lose(place))
        passage.outcome, passage.answer = "OperationalError", "OperationalError"
        return LOST

    def _follow(self, place: Place, asked: SqlAsked, answer: SqlAnswer | SqlRefusal) -> None:
        """Know what is open on a connection, whether the server itself has answered or a tape."""
        session = self._sessions.setdefault(place, _Session())
        word = first_word(asked.text)
        if word in {"BEGIN", "START"} or asked.begins:
            session.is_open = True
        if word in _ENDS or word == "ABORT" or (word == "ROLLBACK" and " TO " not in f" {asked.text.upper()} "):
            session.is_open = False
            session.writes.clear()
        elif (
            session.is_open
            and isinstance(answer, SqlAnswer)
            and not is_read_statement(asked.text)
            and word not in _SILENT
        ):
            session.writes.append((deed_of(asked.text), _table(asked)))

    def _tell(self, what: str, how: str) -> None:
        self._guesses.setdefault(what, how)

    def _schema(self, dialect: str) -> Schema:
        file = self._file()
        return Schema() if file is None else schema_of(file, dialect)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._stage.now / SECOND_MS, UTC)


def _commit(asked: SqlAsked, writes: list[tuple[str, str]]) -> Call:
    """A COMMIT, whose parts are the writes of its transaction."""
    tables = ", ".join(dict.fromkeys(table for _, table in writes if table))
    return Call(SQL_SERVICE, "COMMIT", tables or asked.database, {"Writes": tuple(dict.fromkeys(writes))})


def _table(asked: SqlAsked) -> str:
    """The table to which a statement writes, or from which it reads first; the database if it has none."""
    text = asked.text if asked.dialect == "sqlite" else named_placeholders(asked.text)[0]
    said = translated(asked.dialect, text)
    return said.written or next((table.name for table in said.tables), "") or Path(asked.database).name
