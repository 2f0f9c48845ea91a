"""The operations on a table's Kinesis data streams: enable, disable, change and describe them.

AWS works on them for some seconds after the answer. Here the work is complete before the answer, which shows the same
states as AWS's (ENABLING, DISABLING, UPDATING).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.dynamodb.model.destination import (
    Destination,
    Precision,
    changed,
    describe_configuration,
    describe_destination,
    disabled,
    enabled,
    find_active,
)
from redrive.services.dynamodb.model.table import Table, invalid, not_found
from redrive.services.dynamodb.operations.tables import authorize, require_named_table
from redrive.store.api import Transaction

_PRECISION = "ApproximateCreationDateTimePrecision"


@operation("EnableKinesisStreamingDestination")
def enable_kinesis_streaming_destination(
    tx: Transaction,
    caller: Caller,
    *,
    table_name: str,
    stream_arn: str,
    enable_kinesis_streaming_configuration: Document | None = None,
) -> Document:
    """Send the changes of a table to a Kinesis data stream from now on. The caller must be able to describe it.

    Errors: ResourceNotFoundException; ResourceInUseException; LimitExceededException; ValidationException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_EnableKinesisStreamingDestination.html
    """
    table = _table(tx, caller, "EnableKinesisStreamingDestination", table_name)
    precision = _precision(enable_kinesis_streaming_configuration)
    destinations = enabled(table.destinations, stream_arn, precision)
    _require_stream(tx, caller, stream_arn)
    _store(tx, table, destinations)
    return _answer(table, stream_arn, "ENABLING", "Enable", precision)


@operation("DisableKinesisStreamingDestination")
def disable_kinesis_streaming_destination(
    tx: Transaction,
    caller: Caller,
    *,
    table_name: str,
    stream_arn: str,
    enable_kinesis_streaming_configuration: Document | None = None,  # noqa: ARG001 -- AWS has it, and ignores it.
) -> Document:
    """Send no more changes of a table to a Kinesis data stream.

    Errors: ResourceNotFoundException; ValidationException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DisableKinesisStreamingDestination.html
    """
    table = _table(tx, caller, "DisableKinesisStreamingDestination", table_name)
    found = find_active(table.destinations, stream_arn)
    if found is None:
        raise invalid(
            "Table is not in a valid state to disable Kinesis Streaming Destination: KinesisStreamingDestination must "
            "be ACTIVE to perform DISABLE operation."
        )
    _store(tx, table, changed(table.destinations, disabled(found)))
    return _answer(table, stream_arn, "DISABLING", "Enable", found.precision)


@operation("UpdateKinesisStreamingDestination")
def update_kinesis_streaming_destination(
    tx: Transaction,
    caller: Caller,
    *,
    table_name: str,
    stream_arn: str,
    update_kinesis_streaming_configuration: Document | None = None,
) -> Document:
    """Change the precision of the instants in a destination's records.

    Errors: ResourceNotFoundException; ValidationException (no change, or no such destination).
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateKinesisStreamingDestination.html
    """
    table = _table(tx, caller, "UpdateKinesisStreamingDestination", table_name)
    precision = _precision(update_kinesis_streaming_configuration)
    if precision is None:
        raise invalid(
            "Streaming destination cannot be updated with given parameters: "
            "UpdateKinesisStreamingConfiguration cannot be null or contain only null values"
        )
    found = find_active(table.destinations, stream_arn)
    if found is None:
        raise invalid(
            "Table is not in a valid state to enable Kinesis Streaming Destination: No streaming destination with "
            f"streamArn: {stream_arn} found for table with tableName: {table.name}"
        )
    if (found.precision or Precision.MILLISECOND) is precision:
        raise invalid(
            f"Invalid Request: Precision is already set to the desired value of {precision.value} "
            f"for tableId: {table.id}, kdsArn: {stream_arn}"
        )
    _store(tx, table, changed(table.destinations, dataclasses.replace(found, precision=precision)))
    return _answer(table, stream_arn, "UPDATING", "Update", precision)


@operation("DescribeKinesisStreamingDestination")
def describe_kinesis_streaming_destination(tx: Transaction, caller: Caller, *, table_name: str) -> Document:
    """List the Kinesis data streams that get a table's changes, or did so until they were disabled.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeKinesisStreamingDestination.html
    """
    table = _table(tx, caller, "DescribeKinesisStreamingDestination", table_name)
    return {
        "TableName": table.name,
        "KinesisDataStreamDestinations": [describe_destination(each) for each in table.destinations],
    }


def _table(tx: Transaction, caller: Caller, action: str, table_name: str) -> Table:
    return require_named_table(tx, caller, authorize(tx, caller, action, table_name))


def _precision(configuration: Document | None) -> Precision | None:
    text = (configuration or {}).get(_PRECISION)
    return None if text is None else Precision(text)


def _require_stream(tx: Transaction, caller: Caller, stream_arn: str) -> None:
    """Make sure that the stream is there, as the caller sees it. Errors: ResourceNotFoundException, access errors."""
    try:
        tx.services.call(tx, caller, "kinesis", "DescribeStreamSummary", {"StreamARN": stream_arn})
    except ServiceError as error:
        if error.code == "ResourceNotFoundException":
            raise not_found(f"Stream: {stream_arn} not found") from None
        raise


def _store(tx: Transaction, table: Table, destinations: Sequence[Destination]) -> None:
    tx.resources.put(table.scope, dataclasses.replace(table, destinations=tuple(destinations)))


def _answer(table: Table, stream_arn: str, status: str, verb: str, precision: Precision | None) -> Document:
    return {
        "TableName": table.name, "StreamArn": stream_arn, "DestinationStatus": status,
        f"{verb}KinesisStreamingConfiguration": describe_configuration(precision),
    }  # fmt: skip
