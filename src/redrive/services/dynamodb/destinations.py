"""The way of changes into Kinesis data streams: in the transaction that makes the change.

A write of an item never fails because of a destination: a record that Kinesis refuses is counted, and left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import dump_json
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.services.dynamodb.model.destination import Destination, partition_key, write_event
from redrive.services.dynamodb.model.stream_records import Change
from redrive.services.dynamodb.model.table import Table
from redrive.store.api import Transaction
from redrive.store.tables.metrics import Series, Watched

FAILED_METRIC = "FailedToReplicateRecordCount"
"""Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html"""


def send_changes(tx: Transaction, table: Table, changes: Sequence[Change]) -> None:
    """Put a record of each change into each active destination of a table."""
    for destination in table.destinations:
        if destination.is_active:
            for change in changes:
                _send(tx, table, destination, change)


def _send(tx: Transaction, table: Table, destination: Destination, change: Change) -> None:
    scope = table.scope
    data = write_event(
        destination, table.name, scope.region, table.key_names, change, new_uuid(tx.entropy), tx.now
    )  # fmt: skip
    params = {"StreamARN": destination.stream_arn, "PartitionKey": partition_key(change.key), "Data": data}
    try:
        # AWS writes under a role that is linked to the service, which nobody can restrict.
        tx.services.call(tx, Caller(scope, new_uuid(tx.entropy)), "kinesis", "PutRecord", params)
    except ServiceError:
        tx.metrics.count(_failures(table), tx.now)


def _failures(table: Table) -> Series:
    dimensions = {"DelegatedOperation": "KinesisDataStream", "TableName": table.name}
    return Series(Watched(str(table.scope), "AWS/DynamoDB", dump_json(dimensions)), FAILED_METRIC, "Count")
