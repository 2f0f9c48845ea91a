"""Global tables of version 2017.11.29: there are none, and making one is refused by name."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.dynamodb.model.table import invalid, table_arn
from redrive.services.dynamodb.operations.tables import authorize
from redrive.store.api import Transaction


@operation("CreateGlobalTable")
def create_global_table(
    tx: Transaction,
    caller: Caller,
    *,
    global_table_name: str,
    replication_group: Sequence[object],  # noqa: ARG001 -- a global table is refused, whatever its regions.
) -> Document:
    """Refuse to create a global table of version 2017.11.29, which AWS advises against. Errors: ValidationException.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateGlobalTable.html
    """
    authorize(tx, caller, "CreateGlobalTable", global_table_name)
    raise invalid("redrive does not serve global tables: the store of one region has no replicas in others")


@operation("DescribeGlobalTable")
def describe_global_table(tx: Transaction, caller: Caller, *, global_table_name: str) -> Document:
    """Answer that there is no such global table. Errors: GlobalTableNotFoundException.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeGlobalTable.html
    """
    authorize(tx, caller, "DescribeGlobalTable", global_table_name)
    raise ServiceError("GlobalTableNotFoundException", f"Global table not found: {global_table_name}")


@operation("ListGlobalTables")
def list_global_tables(
    tx: Transaction,
    caller: Caller,
    *,
    exclusive_start_global_table_name: str | None = None,  # noqa: ARG001 -- there are none.
    limit: int | None = None,  # noqa: ARG001
    region_name: str | None = None,  # noqa: ARG001
) -> Document:
    """List global tables of version 2017.11.29: there are none.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListGlobalTables.html
    """
    tx.services.authorize(tx, caller, "dynamodb:ListGlobalTables", _every_table(caller))
    return {"GlobalTables": []}


def _every_table(caller: Caller) -> str:
    return table_arn(caller.scope, "*")
