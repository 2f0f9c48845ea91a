"""What is written down of the changes of items: the records of the table's stream.

Every function here runs in the transaction that changes the items. A table without a stream never comes here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from redrive.delivery.sources.watches import arrived
from redrive.delivery.upkeep.worker import will_age
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.destinations import send_changes
from redrive.services.dynamodb.model.stream import Stream
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
            yield table.stream.stored_shard(table.stream.lane_of(key))


def write_changes(tx: Transaction, table: Table, changes: Sequence[Change]) -> None:
    """Write down changes of a table's items, in order. A change that changes nothing is left out."""
    told = [change for change in changes if not change.is_none]
    if told and table.stream is not None and table.has_stream:
        _write_records(tx, table.stream, told)
    if told and table.destinations:
        send_changes(tx, table, told)


def _write_records(tx: Transaction, stream: Stream, changes: Sequence[Change]) -> None:
    shards: dict[str, list[NewStreamRecord]] = defaultdict(list)
    for change in changes:
        shards[stream.stored_shard(stream.lane_of(change.key))].append(write_record(stream, change))
    tx.streams.reserve(*shards)
    for shard, records in shards.items():
        tx.streams.append(shard, records, now=tx.now)
    _tell(tx, stream)


def _tell(tx: Transaction, stream: Stream) -> None:
    """Tell the stream's readers that there are records, and the sweep that they will expire."""
    arrived(tx, stream.arn, tx.now)
    will_age(tx, RETENTION, tx.now + limits.STREAM_RETENTION_MS)
