"""The exceptions of asyncpg: those of the module that is installed, or of a stand-in."""

from __future__ import annotations

import re
from types import ModuleType

from redrive.prove.process.sql_connection import Raise
from redrive.prove.process.sql_exchange import SqlRefusal

_PARENTS = {
    "PostgresError": "Exception", "InterfaceError": "Exception", "IntegrityConstraintViolationError": "PostgresError",
    "UniqueViolationError": "IntegrityConstraintViolationError",
    "NotNullViolationError": "IntegrityConstraintViolationError",
    "ForeignKeyViolationError": "IntegrityConstraintViolationError",
    "CheckViolationError": "IntegrityConstraintViolationError", "PostgresConnectionError": "PostgresError",
    "ConnectionDoesNotExistError": "PostgresConnectionError", "ConnectionFailureError": "PostgresConnectionError",
    "TransactionRollbackError": "PostgresError", "SerializationError": "TransactionRollbackError",
    "DeadlockDetectedError": "TransactionRollbackError", "LockNotAvailableError": "PostgresError",
    "InFailedSQLTransactionError": "PostgresError", "PostgresSyntaxError": "PostgresError",
    "UndefinedTableError": "PostgresError", "DataError": "PostgresError",
    "NoActiveSQLTransactionError": "PostgresError",
}  # fmt: skip
"""The exceptions that handlers name, and what each is a kind of."""
_BY_CODE = {
    "23505": "UniqueViolationError", "23502": "NotNullViolationError", "23503": "ForeignKeyViolationError",
    "23514": "CheckViolationError", "08003": "InterfaceError", "08006": "ConnectionDoesNotExistError",
    "40001": "SerializationError", "55P03": "LockNotAvailableError", "25P02": "InFailedSQLTransactionError",
    "25P01": "NoActiveSQLTransactionError", "22000": "DataError",
}  # fmt: skip
_NO_DETAILS = dict.fromkeys(("detail", "hint", "schema_name", "table_name", "column_name", "constraint_name"))
"""What exceptions tell besides their message, if the server says so."""
_DUPLICATE = 'duplicate key value violates unique constraint "{}_{}_key"'
_UNIQUE = re.compile(r"UNIQUE constraint failed: (\w+)\.(\w+)")
_KINDS: dict[str, type[Exception]] = {}


def exceptions() -> dict[str, object]:
    """The exceptions of a stand-in: the same ones each time."""
    if not _KINDS:
        made: dict[str, type[Exception]] = {"Exception": Exception}
        codes = {name: code for code, name in _BY_CODE.items()}
        for name, parent in _PARENTS.items():
            members = {**_NO_DETAILS, "__module__": "asyncpg.exceptions", "sqlstate": codes.get(name)}
            made[name] = type(name, (made[parent],), members)
        _KINDS.update({name: kind for name, kind in made.items() if name != "Exception"})
    return dict(_KINDS)


def error_of(module: ModuleType) -> Raise:
    """Makes a module's exceptions."""

    def error(refusal: SqlRefusal) -> Exception:
        kind = getattr(module, _BY_CODE.get(refusal.code, "PostgresError"))
        key = _UNIQUE.match(refusal.message)
        made: Exception = kind(refusal.message if key is None else _DUPLICATE.format(*key.groups()))
        if key is not None:
            vars(made).update(table_name=key[1], column_name=key[2], constraint_name="_".join((*key.groups(), "key")))
        return made

    return error
