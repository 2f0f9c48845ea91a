"""The RDS Data API: its statements are answered by the databases that drivers speak to, and not by made-up answers.

A statement without a transaction commits itself. Source: https://docs.aws.amazon.com/rdsdataservice/latest/APIReference/
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal

from botocore.client import BaseClient
from botocore.exceptions import ConnectionClosedError

from redrive.prove.process.sql_exchange import LOST, SqlAnswer, SqlAsk, SqlAsked, SqlRefusal

SERVICE = "rds-data"
_DATABASE = "cluster"
"""The name of the database where a call names none."""
_NAMED = re.compile(r"('(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|::)|:([A-Za-z_]\w*)|(%)")
_OF_MYSQL = re.compile(
    r"`|\bON\s+DUPLICATE\s+KEY\b|\bINSERT\s+IGNORE\b|\bREPLACE\s+INTO\b|\bLAST_INSERT_ID\b", re.IGNORECASE
)
_FIELDS = ("stringValue", "longValue", "doubleValue", "booleanValue", "blobValue", "arrayValue")
_HINTED: Mapping[str, Callable[[str], object]] = {
    "DECIMAL": Decimal, "UUID": str, "JSON": str, "DATE": str, "TIME": str, "TIMESTAMP": str,
}  # fmt: skip
_NOT_FOUND = "Transaction {} is not found"


class DataApi:
    """Answers the calls of its clients. `number` gives the number of a connection of the run under way."""

    def __init__(self, ask: SqlAsk, number: Callable[[], int | None]) -> None:
        self._ask, self._number = ask, number
        self._open: dict[str, tuple[int, str]] = {}
        """The connections and the databases of transactions."""

    def answer(self, client: BaseClient, operation: str, params: Mapping[str, object]) -> Mapping[str, object]:
        """The answer to a call. Errors: ClientError; ConnectionClosedError if the answer is lost."""
        match operation:
            case "ExecuteStatement":
                found = self._run(client, operation, params, [_bound(params.get("parameters"))])
                return _as_records(found, params)
            case "BatchExecuteStatement":
                sets = [_bound(one) for one in _list(params.get("parameterSets"))]
                self._run(client, operation, params, sets or [{}])
                return {"updateResults": [{"generatedFields": []} for _ in sets]}
            case "BeginTransaction":
                return self._begin(params)
            case "CommitTransaction" | "RollbackTransaction":
                return self._end(client, operation, str(params.get("transactionId")))
            case _:
                message = "ExecuteSql is deprecated, and answered by nobody here: use ExecuteStatement."
                raise _error(client, operation, "BadRequestException", message)

    def _begin(self, params: Mapping[str, object]) -> Mapping[str, object]:
        number, database = self._number() or 0, str(params.get("database") or _DATABASE)
        name = base64.b64encode(f"transaction {number}".encode()).decode()
        self._ask(SqlAsked("postgres", database, number, "BEGIN"))
        self._open[name] = (number, database)
        return {"transactionId": name}

    def _end(self, client: BaseClient, operation: str, name: str) -> Mapping[str, object]:
        if name not in self._open:
            raise _error(client, operation, "TransactionNotFoundException", _NOT_FOUND.format(name))
        number, database = self._open.pop(name)
        is_commit = operation == "CommitTransaction"
        self._asked(client, operation, SqlAsked("postgres", database, number, "COMMIT" if is_commit else "ROLLBACK"))
        return {"transactionStatus": "Transaction Committed" if is_commit else "Rollback Complete"}

    def _run(
        self, client: BaseClient, operation: str, params: Mapping[str, object], sets: Sequence[Mapping[str, object]]
    ) -> SqlAnswer:  # fmt: skip
        name = params.get("transactionId")
        if name is not None and name not in self._open:
            raise _error(client, operation, "TransactionNotFoundException", _NOT_FOUND.format(name))
        own = (self._number() or 0, str(params.get("database") or _DATABASE))
        number, database = own if name is None else self._open[str(name)]
        text = str(params.get("sql", ""))
        dialect = "mysql" if _OF_MYSQL.search(text) else "postgres"
        first, *more = sets
        asked = SqlAsked(dialect, database, number, _with_places(text), first or (), more=tuple(more))
        return self._asked(client, operation, asked)

    def _asked(self, client: BaseClient, operation: str, asked: SqlAsked) -> SqlAnswer:
        answer = self._ask(asked)
        if answer == LOST:
            raise ConnectionClosedError(endpoint_url=client.meta.endpoint_url)
        if isinstance(answer, SqlRefusal):
            told = f"ERROR: {answer.message}; SQLState: {answer.code}"
            raise _error(client, operation, "DatabaseErrorException", told)
        return answer


def _with_places(text: str) -> str:
    """The statement with the places of drivers, `%(name)s`, for those of the Data API, `:name`."""

    def place(found: re.Match[str]) -> str:
        kept, name, _ = found.groups()
        if kept:
            return kept.replace("%", "%%")
        return f"%({name})s" if name else "%%"

    return _NAMED.sub(place, text) if ":" in text or "%" in text else text


def _bound(parameters: object) -> dict[str, object]:
    return {str(one["name"]): _value(one) for one in _list(parameters) if isinstance(one, Mapping) and "name" in one}


def _value(parameter: Mapping[str, object]) -> object:
    held = parameter.get("value")
    value = next((held[name] for name in _FIELDS if name in held), None) if isinstance(held, Mapping) else None
    hint = _HINTED.get(str(parameter.get("typeHint")))
    return hint(value) if hint is not None and isinstance(value, str) else value


def _as_records(found: SqlAnswer, params: Mapping[str, object]) -> Mapping[str, object]:
    names = found.columns
    answer: dict[str, object] = {"numberOfRecordsUpdated": max(found.count, 0) if names is None else 0}
    if names is None:
        generated = [] if found.last_id is None else [{"longValue": found.last_id}]
        return {**answer, "generatedFields": generated}
    if params.get("formatRecordsAs") == "JSON":
        rows = [dict(zip(names, map(_plain, row), strict=True)) for row in found.rows]
        return {**answer, "formattedRecords": json.dumps(rows)}
    if params.get("includeResultMetadata"):
        answer["columnMetadata"] = [{"name": name, "label": name, "nullable": 1} for name in names]
    return {**answer, "records": [list(_fields(row)) for row in found.rows]}


def _fields(row: Sequence[object]) -> Iterator[Mapping[str, object]]:
    for value in row:
        match value:
            case None:
                yield {"isNull": True}
            case bool():
                yield {"booleanValue": value}
            case int():
                yield {"longValue": value}
            case float():
                yield {"doubleValue": value}
            case bytes():
                yield {"blobValue": value}
            case _:
                yield {"stringValue": str(_plain(value))}


def _plain(value: object) -> object:
    match value:
        case Decimal():
            return str(value)
        case datetime():
            return value.isoformat(" ")
        case date():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            return value


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def _error(client: BaseClient, operation: str, code: str, message: str) -> Exception:
    made: Exception = client.exceptions.from_code(code)({"Error": {"Code": code, "Message": message}}, operation)
    return made
