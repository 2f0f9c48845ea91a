"""The operations on a table's time to live: set, remove, describe. The expiry itself is in `workers`."""

from __future__ import annotations

import dataclasses

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.dynamo import load_item
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.table import Table, TimeToLive
from redrive.services.dynamodb.model.time_to_live import check_expiry_change, expiry_of
from redrive.services.dynamodb.operations.tables import authorize, require_named_table
from redrive.services.dynamodb.replicas import replicas_of
from redrive.store.api import Transaction


@operation("UpdateTimeToLive")
def update_time_to_live(
    tx: Transaction, caller: Caller, *, table_name: str, time_to_live_specification: Document
) -> Document:
    """Let the items of a table expire by an attribute, or stop this. The change also applies to stored items.

    Errors: ResourceNotFoundException; ValidationException (nothing to change, or changed within the last hour).
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTimeToLive.html
    """
    table = require_named_table(tx, caller, authorize(tx, caller, "UpdateTimeToLive", table_name))
    attribute: str = time_to_live_specification["AttributeName"]
    enabled: bool = time_to_live_specification["Enabled"]
    check_expiry_change(table, attribute, enabled=enabled, now=tx.now)
    changed = TimeToLive(attribute if enabled else None, tx.now)
    for replica in (table, *replicas_of(tx, table)):
        _set(tx, replica, changed)
    return {"TimeToLiveSpecification": time_to_live_specification}


def _set(tx: Transaction, table: Table, setting: TimeToLive) -> None:
    tx.resources.put(table.scope, dataclasses.replace(table, time_to_live=setting))
    attribute, now = setting.attribute, tx.now
    if attribute is None:
        tx.items.forget_expiries(table.id)
        return
    tx.items.set_expiries(
        table.id, lambda item: expiry_of(load_item(item), attribute, now), bytes_max=limits.PAGE_BYTES_MAX
    )
    tx.notify("due")


@operation("DescribeTimeToLive")
def describe_time_to_live(tx: Transaction, caller: Caller, *, table_name: str) -> Document:
    """Return whether the items of a table expire, and by which attribute.

    Errors: ResourceNotFoundException; ValidationException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTimeToLive.html
    """
    table = require_named_table(tx, caller, authorize(tx, caller, "DescribeTimeToLive", table_name))
    attribute = table.expiry_attribute
    described = {"TimeToLiveStatus": "DISABLED" if attribute is None else "ENABLED", "AttributeName": attribute}
    return {"TimeToLiveDescription": described}
