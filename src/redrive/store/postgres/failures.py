"""What a failure of PostgreSQL means for the steps of a batch."""

from __future__ import annotations

from psycopg import pq

from redrive.core.errors import Conflict, Doubtful, Unavailable
from redrive.store.connection import StoreFull


class ConnectionLost(Unavailable):
    """The database does not answer. Nothing of what had not been committed is stored."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The database does not answer: {reason or 'the connection was closed'}.",
            next_step="Look whether it runs; this node goes on when it does.",
        )


class InDoubt(Doubtful):
    """The connection was lost while a commit was under way: the step is stored, or it is not."""

    def __init__(self) -> None:
        super().__init__(
            "The connection to the database was lost during a commit; whether it is stored is not known.",
            next_step="Look at the result before you repeat the request.",
        )


class Outdated(Exception):
    """What the batch relied on has changed meanwhile: it runs again. Nothing of it is committed."""


class StatementFailed(Exception):
    """A statement failed for a reason that another attempt does not mend."""


_OUTDATED = "22012"
"""division_by_zero: how a statement says so, because the COMMIT may be sent together with it."""

_CONFLICTS = frozenset({
    "40001",  # serialization_failure
    "40P01",  # deadlock_detected
    "55P03",  # lock_not_available: lock_timeout
    "57014",  # query_canceled: statement_timeout
    "53200",  # out_of_memory: too many locks in one transaction
    "26000",  # invalid_sql_statement_name: its preparation was skipped with a failed batch
    "25P02",  # in_failed_sql_transaction
})  # fmt: skip
_FULL = frozenset({"53100", "58030"})  # disk_full, io_error
_AWAY = frozenset({"57P01", "57P02", "57P03", "25P03", "25P04"})  # shut down, crashed, starting; idle too long


def failure_of(result: pq.abc.PGresult) -> Exception:
    """The exception for a result that is a failure."""
    state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
    message = (result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode(errors="replace")
    if state == _OUTDATED:
        return Outdated()
    if state in _CONFLICTS:
        return Conflict(f"{message} ({state})")
    if state in _FULL:
        return StoreFull("The database's disk is full.", next_step="Free some space and try again.")
    if state in _AWAY:
        return ConnectionLost(message)
    return StatementFailed(f"{message} ({state})")
