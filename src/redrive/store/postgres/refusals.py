"""The errors of PostgreSQL as errors for the person who started redrive: what is wrong, and what to do next.

An error of a statement has a code (SQLSTATE). While a connection is made, libpq passes on no code, only the server's
text; a text in another language than English is shown as it is.

Source: https://www.postgresql.org/docs/current/errcodes-appendix.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import psycopg

from redrive.core.errors import UserError

CONNECTIONS_PER_NODE = 5


@dataclass(frozen=True, slots=True)
class _Refusal:
    """How an error is known, by its code or by a part of its text, and what is said of it. `{url}`: the store."""

    codes: tuple[str, ...]
    text: str
    what: str
    next_step: str


_REFUSALS = (
    _Refusal(
        ("28P01", "28000"),
        r"password authentication failed|no password supplied|role .* does not exist|authentication failed",
        "PostgreSQL refuses the user or the password of {url}",
        "Give the password in the URL, in PGPASSWORD or in ~/.pgpass, and see that the user exists and may log in.",
    ),
    _Refusal(
        (), r"no pg_hba\.conf entry|pg_hba\.conf rejects",
        "PostgreSQL does not let this user in from this machine: {url}",
        "Allow it in the server's pg_hba.conf, or ask for TLS with ?sslmode=require.",
    ),
    _Refusal(
        (), r"does not support SSL|SSL error|SSL negotiation|certificate|SSL .*is required|GSSAPI",
        "No connection to {url} that is encrypted as the URL asks",
        "Turn on ssl at the server, name its certificate authority by sslrootcert=, or ask for less by ?sslmode=.",
    ),
    _Refusal(
        ("3D000",), r"database .* does not exist",
        "There is no such database: {url}",
        "Create it on that server: CREATE DATABASE name;",
    ),
    _Refusal(
        ("53300",), r"too many clients|too many connections|remaining connection slots|max_client_conn",
        "The server of {url} has no connection left",
        f"Raise max_connections, or run fewer servers: each redrive serve needs up to {CONNECTIONS_PER_NODE}.",
    ),
    _Refusal(
        ("57P03", "57P01", "57P02"), r"the database system is",
        "PostgreSQL is starting or stopping: {url}",
        "Try again in a moment.",
    ),
    _Refusal(
        ("42501",), r"permission denied|not permitted to log in|does not have CONNECT privilege",
        "This user has too few rights in {url}",
        "Let it create tables: GRANT ALL ON SCHEMA public TO its role, or give it a database of its own.",
    ),
    _Refusal(
        ("25006",), "read-only transaction",
        "{url} can only be read",
        "Name the primary server in place of a replica: with several hosts, add target_session_attrs=read-write.",
    ),
    _Refusal(
        ("55P03", "57014"), "lock timeout|statement timeout",
        "{url} is locked for too long by somebody else",
        "See who: SELECT pid, state, query FROM pg_stat_activity WHERE state <> 'idle';",
    ),
    _Refusal(
        ("53100", "53200"), "No space left|out of memory",
        "The server of {url} has no room left",
        "Free some space there and try again.",
    ),
    _Refusal(
        ("08000", "08001", "08003", "08004", "08006"),
        r"Connection refused|timeout expired|connection timeout|failed to resolve|could not translate host name"
        r"|No such file or directory|No route to host|unreachable|closed the connection unexpectedly|reset by peer",
        "There is no answer from {url}",
        "Start the server, or correct the host and the port; from another machine, listen_addresses has to name it.",
    ),
)  # fmt: skip


def refusal(shown: str, error: psycopg.Error) -> UserError:
    """The error for a store that cannot be opened or used. `shown` is its URL without secrets."""
    said = _first_line(error)
    for known in _REFUSALS:
        if error.sqlstate in known.codes or (error.sqlstate is None and re.search(known.text, str(error))):
            return UserError(f"{known.what.format(url=shown)} ({said}).", next_step=known.next_step)
    code = f"{error.sqlstate}: " if error.sqlstate else ""
    return UserError(
        f"{shown} cannot be used: {code}{said}.", next_step="See the log of the PostgreSQL server, or name another one."
    )


def _first_line(error: psycopg.Error) -> str:
    """What the server said, without libpq's words around it."""
    lines = [line.strip() for line in str(error).strip().splitlines()]
    said = next((line for line in lines if "FATAL:" in line), lines[0] if lines else type(error).__name__)
    return said.rpartition("FATAL:")[2].strip().rstrip(".")
