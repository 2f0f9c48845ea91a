"""The databases of a handler's world, and the transactions that are open: executes statements, saves and restores all.

A transaction reads what is committed; its first write makes a copy, which COMMIT puts in the place of the database.
One transaction writes at a time: another one that wants to write is refused, as after a wait for a lock. A transaction
of a higher isolation whose database has changed meanwhile is refused as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from redrive.prove.process.sql_exchange import (
    ABORTED,
    LOCKED,
    LOST,
    SERIALIZATION,
    UNKNOWN,
    Bound,
    SqlAnswer,
    SqlAsked,
    SqlRefusal,
)
from redrive.prove.sql.database import Database, Rows, changes_between, rows_in
from redrive.prove.sql.functions import Now
from redrive.prove.sql.statement import Statement, named_placeholders
from redrive.prove.sql.tables import Schema
from redrive.prove.sql.translating import translated

Place = tuple[int, int]
"""A connection: the number of its run, and its own in that run."""
_SERIAL = re.compile(r"(?i)\b(SERIALIZABLE|REPEATABLE\s+READ)\b")
_WRITES = frozenset({"ALTER", "CREATE", "DELETE", "DROP", "INSERT", "REPLACE", "TRUNCATE", "UPDATE"})
_IGNORED = frozenset(
    {"ANALYZE", "COMMENT", "GRANT", "LISTEN", "LOCK", "NOTIFY", "PRAGMA", "RESET", "SET", "UNLOCK", "USE", "VACUUM"}
)
_DONE = SqlAnswer(count=0)


@dataclass(slots=True)
class _Session:
    """A connection on the server's side."""

    database: str
    is_open: bool = False
    copy: Database | None = None
    """The transaction's own copy, once it has written."""
    touched: frozenset[str] = frozenset()
    is_aborted: bool = False
    is_serial: bool = False
    began: int = 0
    """The version of the database in which the transaction has begun."""
    savepoints: list[tuple[str, bytes | None]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A session, saved."""

    session: _Session
    content: bytes | None


@dataclass(frozen=True, slots=True)
class Databases:
    """All databases and sessions at a moment."""

    contents: tuple[tuple[str, int, bytes], ...] = ()
    sessions: tuple[tuple[Place, _Kept], ...] = ()


class Server:
    """Executes the statements of a handler."""

    def __init__(self, now: Now, schema: Callable[[str], Schema], told: Callable[[str, str], None]) -> None:
        """`schema` says what is known of tables, by dialect; `told` receives what was guessed."""
        self._now = now
        self._schema = schema
        self._told = told
        self._bases: dict[str, Database] = {}
        self._versions: dict[str, int] = {}
        self._sessions: dict[Place, _Session] = {}
        self._known: set[tuple[str, int, str]] = set()

    def save(self) -> Databases:
        """Everything, for `load`."""
        contents = tuple((name, self._versions[name], base.content) for name, base in sorted(self._bases.items()))
        sessions = tuple(
            (
                place,
                _Kept(replace(one, copy=None, savepoints=list(one.savepoints)), one.copy.content if one.copy else None),
            )
            for place, one in sorted(self._sessions.items())
        )
        return Databases(contents, sessions)

    def load(self, saved: object) -> None:
        """Restore what was saved."""
        held = saved if isinstance(saved, Databases) else Databases()
        for one in (*self._bases.values(), *(each.copy for each in self._sessions.values() if each.copy)):
            one.close()
        self._bases = {name: Database(self._now, content) for name, _, content in held.contents}
        self._versions = {name: version for name, version, _ in held.contents}
        self._sessions = {
            place: replace(
                kept.session, copy=Database(self._now, kept.content) if kept.content else None,
                savepoints=list(kept.session.savepoints),
            )
            for place, kept in held.sessions
        }  # fmt: skip
        self._known.clear()

    def told(self) -> str:
        """All rows, and what open transactions have written, as text: empty if there is nothing."""
        if not self._bases:
            return ""
        open_ones = [
            (place, one.database, one.is_aborted, one.copy.told() if one.copy else "")
            for place, one in sorted(self._sessions.items())
            if one.is_open
        ]
        return repr(([(name, base.told()) for name, base in sorted(self._bases.items())], open_ones))

    def end(self, run: int) -> None:
        """A run has ended: its connections are closed, and what they have not committed is rolled back."""
        for place in [place for place in self._sessions if place[0] == run]:
            self._dropped(self._sessions.pop(place))

    def lose(self, place: Place) -> SqlRefusal:
        """The connection is lost, and with it its transaction."""
        session = self._sessions.pop(place, None)
        if session is not None:
            self._dropped(session)
        return LOST

    def execute(self, place: Place, asked: SqlAsked) -> SqlAnswer | SqlRefusal:
        """Run a statement."""
        session = self._sessions.setdefault(place, _Session(asked.database))
        if session.database != asked.database:
            session = self._sessions[place] = _Session(asked.database)
        text, params = _placed(asked.dialect, asked.text, asked.params)
        said = translated(asked.dialect, text)
        special = self._controlled(session, said, text)
        if special is not None:
            return special
        if session.is_aborted:
            return SqlRefusal(
                ABORTED, "current transaction is aborted, commands ignored until end of transaction block"
            )
        if said.trouble:
            return SqlRefusal(UNKNOWN, f"redrive prove does not understand this statement: {said.trouble}")
        if asked.begins:
            self._open(session)
        answer = self._run(session, asked, said, params)
        if isinstance(answer, SqlRefusal) and session.is_open and asked.dialect == "postgres":
            session.is_aborted = True
        return answer

    def _controlled(self, session: _Session, said: Statement, text: str) -> SqlAnswer | SqlRefusal | None:
        """What begins and ends transactions, and what changes nothing; None for any other statement."""
        session.is_serial = session.is_serial or (said.word in {"SET", "BEGIN", "START"} and bool(_SERIAL.search(text)))
        words = text.strip().rstrip(";").split()
        match said.word:
            case "BEGIN" | "START":
                self._open(session)
                return self._locked(session) if said.locks else _DONE
            case "COMMIT" | "END":
                return self._commit(session)
            case "ROLLBACK" if "TO" in [word.upper() for word in words]:
                return self._rolled_back_to(session, words[-1].lower())
            case "ROLLBACK" | "ABORT":
                self._dropped(session)
                return _DONE
            case "SAVEPOINT":
                session.savepoints.append((words[-1].lower(), session.copy.content if session.copy else None))
                return _DONE
            case "RELEASE":
                return _DONE
            case word if word in _IGNORED or not word:
                return (self._locked(session) or _DONE) if word == "LOCK" else _DONE
            case _:
                return None

    def _open(self, session: _Session) -> None:
        if not session.is_open:
            session.is_open, session.began = True, self._versions.get(session.database, 0)

    def _run(self, session: _Session, asked: SqlAsked, said: Statement, params: Bound) -> SqlAnswer | SqlRefusal:
        base = self._base(session.database, asked.dialect)
        self._provide(session, asked, said, params)
        is_writing = said.word in _WRITES or bool(said.written)
        if is_writing or said.locks:
            refusal = self._locked(session) if session.is_open else self._refused_by_lock(session)
            if refusal is not None:
                return refusal
        target = session.copy or base
        touched = frozenset({said.written} if said.written else ()) or frozenset(target.tables() if is_writing else ())
        before = rows_in(target, touched) if is_writing and not session.is_open else {}
        answer, count = _DONE, 0
        for bound in (params, *(_placed(asked.dialect, asked.text, one)[1] for one in asked.more)):
            made = target.execute(said.text, bound)
            if isinstance(made, SqlRefusal):
                return made
            answer, count = made, count + max(made.count, 0)
        answer = replace(answer, count=count if asked.more else answer.count)
        if not is_writing:
            return answer
        if session.is_open:
            session.touched |= touched
            return answer
        return self._with_changes(session.database, answer, before, rows_in(target, touched))

    def _with_changes(
        self, name: str, answer: SqlAnswer, before: Mapping[str, Rows], after: Mapping[str, Rows]
    ) -> SqlAnswer:
        changes = tuple(changes_between(before, after))
        if changes:
            self._versions[name] += 1
        return replace(answer, changes=changes)

    def _refused_by_lock(self, session: _Session) -> SqlRefusal | None:
        """The error of a write while another transaction holds the lock."""
        for other in self._sessions.values():
            if other is not session and other.database == session.database and other.copy is not None:
                return SqlRefusal(LOCKED, "canceling statement due to lock timeout: another transaction holds the lock")
        return None

    def _locked(self, session: _Session) -> SqlRefusal | None:
        """Take the lock of a database and a copy to write to."""
        if session.copy is not None:
            return None
        refusal = self._refused_by_lock(session)
        if refusal is not None:
            return refusal
        if session.is_serial and session.began != self._versions.get(session.database, 0):
            return SqlRefusal(SERIALIZATION, "could not serialize access due to concurrent update")
        session.copy = self._base(session.database, "").copy()
        return None

    def _commit(self, session: _Session) -> SqlAnswer:
        """Put the transaction's copy in the place of its database. A transaction that has failed is rolled back."""
        copy, session.copy = session.copy, None
        touched, is_aborted = session.touched, session.is_aborted
        self._dropped(session)
        if copy is None or is_aborted:
            if copy is not None:
                copy.close()
            return _DONE
        base = self._bases[session.database]
        answer = self._with_changes(session.database, _DONE, rows_in(base, touched), rows_in(copy, touched))
        self._bases[session.database] = copy
        base.close()
        return answer

    def _dropped(self, session: _Session) -> None:
        """End a transaction without a trace."""
        if session.copy is not None:
            session.copy.close()
        session.is_open, session.copy, session.touched, session.is_aborted = False, None, frozenset(), False
        session.savepoints.clear()

    def _rolled_back_to(self, session: _Session, name: str) -> SqlAnswer | SqlRefusal:
        while session.savepoints and session.savepoints[-1][0] != name:
            session.savepoints.pop()
        if not session.savepoints:
            return SqlRefusal(UNKNOWN, f"savepoint {name} does not exist")
        content = session.savepoints[-1][1]
        if session.copy is not None:
            session.copy.close()
            session.copy = Database(self._now, content) if content else self._base(session.database, "").copy()
        session.is_aborted = False
        return _DONE

    def _base(self, name: str, dialect: str) -> Database:
        if name not in self._bases:
            content = _content_of_file(name) if dialect == "sqlite" else b""
            self._bases[name] = Database(self._now, content)
            self._versions[name] = 0
            if name.startswith("/tmp/"):  # noqa: S108 - as functions have it.
                why = "its rows are kept between runs, although /tmp belongs to one environment and begins empty"
                self._told(f"database {name}", why)
            if content:
                self._told(
                    f"database {Path(name).name}", "begins with what the file holds now; the file stays as it is"
                )
            for table in self._schema(dialect).tables.values():
                if dialect != "sqlite":
                    self._bases[name].provide(table)
                    self._bases[name].provide_key(table)
        return self._bases[name]

    def _provide(self, session: _Session, asked: SqlAsked, said: Statement, params: Bound) -> None:
        """Make the tables, columns and rows that a statement takes for granted. SQLite's own tables the code makes."""
        if asked.dialect == "sqlite" or said.word in {"ALTER", "DROP"}:
            return
        base = self._bases[session.database]
        schema = self._schema(asked.dialect)
        for table in said.tables:
            for one in (base, *(each.copy for each in self._sessions.values() if each.copy)):
                made = one.provide(table)
                if not table.is_declared and table.name in schema.tables and schema.tables[table.name].is_declared:
                    continue
                one.provide_key(table)
                if made:
                    self._told(f"table {table.name}", made)
            place = schema.places.get(table.name)
            known = schema.tables.get(table.name)
            if known is not None:
                columns = f"columns {', '.join(known.columns)}"
                self._told(
                    f"table {table.name}",
                    f"as {place} declares it" if place else f"{columns}, by the code's statements",
                )
        self._seed(session, base, said, schema, params)

    def _seed(self, session: _Session, base: Database, said: Statement, schema: Schema, params: Bound) -> None:
        """Make the row that a statement asks for, of a table into which the code never inserts any."""
        if not said.asked or len(said.tables) != 1 or said.tables[0].name in schema.filled:
            return
        table = said.tables[0].name
        row = {column: _value(text, params) for column, text in said.asked}
        if any(value is None for value in row.values()) or not row.keys() <= base.columns_of(table).keys():
            return
        if base.seed(table, row):
            told = ", ".join(f"{name}={value}" for name, value in row.items())
            self._told(f"row of {table}", f"{told}, because the code asks for it and inserts none")
            if session.copy is not None:
                session.copy.seed(table, row)


def _placed(dialect: str, text: str, params: Bound) -> tuple[str, Bound]:
    """A statement with SQLite's placeholders, and its parameters by their names. A tuple stands for its members."""
    if dialect == "sqlite" or not params:
        return (text, params) if dialect == "sqlite" else (text.replace("%%", "%"), ())
    named, names = named_placeholders(text)
    bound = dict(params) if isinstance(params, Mapping) else dict(zip(names, params, strict=False))
    for name, value in list(bound.items()):
        if isinstance(value, tuple):
            members = {f"{name}_{number}": one for number, one in enumerate(value)}
            named = re.sub(rf"\(?:{name}\b\)?", "(" + ", ".join(f":{one}" for one in members) + ")", named)
            bound |= members
            del bound[name]
    return named, bound


def _value(text: str, params: Bound) -> object:
    if not text.startswith(":"):
        return text
    return params.get(text[1:]) if isinstance(params, Mapping) else None


def _content_of_file(name: str) -> bytes:
    """The content of a database file of the user's, which is only read."""
    file = Path(name)
    try:
        content = file.read_bytes() if file.is_file() else b""
    except OSError:
        return b""
    journal = slice(
        18, 20
    )  # https://www.sqlite.org/fileformat.html: 2 says WAL, which a database in memory cannot have.
    return (
        content[: journal.start] + b"\x01\x01" + content[journal.stop :] if content[journal] == b"\x02\x02" else content
    )
