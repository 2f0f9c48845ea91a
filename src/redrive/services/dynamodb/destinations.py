"""The way of changes into Kinesis data streams: in the transaction that makes the change, or later in order.

A write of an item never fails because of a destination. A record that Kinesis throttles becomes a delivery; later
records of the same item wait behind it.
"""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document, dump_json
from redrive.core.entropy import new_row_id, new_uuid
from redrive.core.errors import ServiceError
from redrive.core.retry import Delivered, FailureKind, GiveUp, Outcome
from redrive.core.scope import Caller, Scope
from redrive.delivery.history.records import End
from redrive.delivery.sources.call import Inside
from redrive.delivery.sources.classify import classify
from redrive.delivery.sources.source import Source
from redrive.services.dynamodb.model.destination import Destination, partition_key, write_event
from redrive.services.dynamodb.model.stream_records import Change
from redrive.services.dynamodb.model.table import Table, table_arn
from redrive.services.dynamodb.model.unsent import POLICY, SOURCE, Refused, Unsent, unsent_name
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import INSIDE, Delivery
from redrive.store.tables.metrics import Series, Watched

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
FAILED_METRIC = "FailedToReplicateRecordCount"
THROTTLED_METRIC = "ThrottledPutRecordCount"


def send_changes(tx: Transaction, table: Table, changes: Sequence[Change]) -> None:
    """Put a record of each change into each active destination of a table."""
    for destination in table.destinations:
        if destination.is_active:
            for change in changes:
                _send(tx, table, destination, change)


class DestinationSource(Source):
    """Sends the records that a destination has throttled, for 24 hours."""

    name = SOURCE

    def render(self, tx: Transaction, delivery: Delivery) -> Inside:
        """Build the attempt, which sends as many records of an item as the stream takes."""
        return Inside(lambda: _send_waiting(tx, delivery))

    def settled(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp) -> End:
        """Forget and count the records that have waited for too long, and promise what is left."""
        unsent = tx.resources.get(Unsent, delivery.scope, str(delivery.document["Unsent"]))
        if unsent is not None:
            lost = 0
            if isinstance(verdict, GiveUp):
                # The oldest record is given up; all of them are, if the stream refuses them for good.
                lost = len(unsent.records) if verdict.exhausted is None else max(1, unsent.too_old(tx.now))
                tx.metrics.count(_series(delivery.scope, unsent.table_name, FAILED_METRIC), tx.now, lost)
            _keep(tx, delivery.scope, unsent.without_oldest(lost))
        return End.of(verdict)


def _send(tx: Transaction, table: Table, destination: Destination, change: Change) -> None:
    scope, stream_arn, place = table.scope, destination.stream_arn, partition_key(change.key)
    data = write_event(
        destination, table.name, scope.region, table.key_names, change, new_uuid(tx.entropy), tx.now
    )  # fmt: skip
    name = unsent_name(table.id, stream_arn, place)
    record = Refused(data.decode(), tx.now)
    waiting = tx.resources.get(Unsent, scope, name)
    if waiting is not None:
        tx.resources.put(scope, waiting.with_record(record))
        return
    try:
        _put_record(tx, scope, stream_arn, place, data)
    except ServiceError as error:
        if classify(error).kind is FailureKind.PERMANENT:
            tx.metrics.count(_series(scope, table.name, FAILED_METRIC), tx.now)
            return
        tx.metrics.count(_series(scope, table.name, THROTTLED_METRIC), tx.now)
        _keep(tx, scope, Unsent(name, table.name, stream_arn, place, (record,)))


def _send_waiting(tx: Transaction, delivery: Delivery) -> Document:
    """Send the records of an item that the stream takes now, in their order.

    Errors: that of the oldest record, if the stream does not take even this one.
    """
    scope = delivery.scope
    unsent = tx.resources.get(Unsent, scope, str(delivery.document["Unsent"]))
    if unsent is None:
        return {"Sent": 0}
    sent = 0
    for record in unsent.records:
        try:
            _put_record(tx, scope, unsent.stream_arn, unsent.partition_key, record.data.encode())
        except ServiceError:
            if not sent:
                raise
            break
        sent += 1
    left = unsent.without_oldest(sent)
    if left.records:
        tx.resources.put(scope, left)
    else:
        tx.resources.delete(Unsent, scope, unsent.name)
    return {"Sent": sent}


def _keep(tx: Transaction, scope: Scope, unsent: Unsent) -> None:
    """Store what an item has not sent, and promise to send it; forget it if nothing is left."""
    if not unsent.records:
        tx.resources.delete(Unsent, scope, unsent.name)
        return
    tx.resources.put(scope, unsent)
    tx.deliveries.put(
        Delivery(
            id=new_row_id(tx.entropy, tx.now), scope=scope, source=SOURCE,
            source_arn=table_arn(scope, unsent.table_name), target_arn=unsent.stream_arn,
            document={"Unsent": unsent.name}, policy=POLICY, place=INSIDE, due_at=tx.now + SECOND_MS,
            first_at=unsent.records[0].at,
        )
    )  # fmt: skip
    tx.notify("due")


def _put_record(tx: Transaction, scope: Scope, stream_arn: str, place: str, data: bytes) -> None:
    """Put a record into a stream, under a role that is linked to the service, which nobody can restrict."""
    params = {"StreamARN": stream_arn, "PartitionKey": place, "Data": data}
    tx.services.call(tx, Caller(scope, new_uuid(tx.entropy)), "kinesis", "PutRecord", params)


def _series(scope: Scope, table_name: str, metric: str) -> Series:
    dimensions = {"DelegatedOperation": "KinesisDataStream", "TableName": table_name}
    return Series(Watched(str(scope), "AWS/DynamoDB", dump_json(dimensions)), metric, "Count")
