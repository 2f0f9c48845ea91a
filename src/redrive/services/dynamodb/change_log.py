"""What is written down of the changes of items: for the table's stream, and for its point-in-time recovery.

Every function here runs in the transaction that changes the items. A table that nothing follows never comes here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from redrive.delivery.sources.watches import arrived
from redrive.delivery.upkeep.worker import will_age
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.destinations import send_changes
from redrive.services.dynamodb.model.stream import ViewType
from redrive.services.dynamodb.model.stream_records import Change, write_record
from redrive.services.dynamodb.model.table import Table
from redrive.store.api import Transaction
from redrive.store.tables.items import ItemKey
from redrive.store.tables.streams import NewStreamRecord

RETENTION = "dynamodb.streams"
"""The kind of the timer of the sweep that deletes records."""


def shards_of_items(places: Iterable[tuple[Table, ItemKey]]) -> Iterator[str]:
    """The stored shards to which changes of these items are written."""
    for table, key in places:
        if table.stream is not None and table.has_stream:
            yield table.stream.stored_shard(table.stream.partition_of(key))
        if table.log is not None:
            yield table.log.shard_of(key)


def write_changes(tx: Transaction, table: Table, changes: Sequence[Change]) -> None:
    """Write down changes of a table's items, in order. A change that changes nothing is left out."""
    told = [change for change in changes if not change.is_none]
    if not told:
        return
    shards: dict[str, list[NewStreamRecord]] = defaultdict(list)
    for change in told:
        if table.stream is not None and table.has_stream:
            record = write_record(table.stream.key, table.stream.view_type, change)
            shards[table.stream.stored_shard(table.stream.partition_of(change.key))].append(record)
        if table.log is not None:
            record = write_record(table.key_names, ViewType.OLD_IMAGE, change)
            shards[table.log.shard_of(change.key)].append(record)
    tx.streams.reserve(*shards)
    for shard, records in shards.items():
        tx.streams.append(shard, records, now=tx.now)
    _tell(tx, table)
    if table.destinations:
        send_changes(tx, table, told)


def _tell(tx: Transaction, table: Table) -> None:
    """Tell a stream's readers that there are records, and the sweep that they will expire."""
    if table.stream is not None and table.has_stream:
        arrived(tx, table.stream.arn, tx.now)
        will_age(tx, RETENTION, tx.now + limits.STREAM_RETENTION_MS)
    elif table.log is not None:
        will_age(tx, RETENTION, tx.now + table.log.kept_ms)
