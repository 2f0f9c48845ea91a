"""Reads the records of a shard that one of its lanes is to do next. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from redrive.core.documents import dump_json
from redrive.core.scope import Caller, Scope
from redrive.delivery.sources.stream_sources import StreamItem, StreamPage, StreamSource
from redrive.services.lambda_.limits import SHARD_RECORDS_PER_LOOK_MAX, SYNC_PAYLOAD_BYTES_MAX
from redrive.services.lambda_.model.filters import passes
from redrive.services.lambda_.model.function import Function
from redrive.services.lambda_.model.mapping import EventSourceMapping
from redrive.services.lambda_.model.shard_state import Lane, lane_of, window_of
from redrive.services.lambda_.model.stream_settings import StreamSettings
from redrive.store.api import Transaction

_ENVELOPE_BYTES = 1_024
"""What an event has beside its records and the state of a window."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A mapping from a stream that is looked at, with its function, and the role's session that reads."""

    scope: Scope
    mapping: EventSourceMapping
    settings: StreamSettings
    function: Function
    source: StreamSource
    caller: Caller


@dataclass(slots=True)
class Found:
    """The next records of a lane.

    `items` are the records of a batch, with their JSON in `texts`; `expired` are records before them that are too old
    for the function. `position` is the number up to which the lane has nothing else. `filtered` records were left out
    by the filters, `filtered_within` of them before the last record of the batch. `is_full`: waiting would not make the
    batch larger. `is_at_end`: the shard is closed and has no more records. `has_more`: more can be read at once.
    `ends_window`: the next record belongs to a later window than the lane's.
    """

    position: int
    items: list[StreamItem] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    expired: list[StreamItem] = field(default_factory=list)
    filtered: int = 0
    filtered_within: int = 0
    is_full: bool = False
    is_at_end: bool = False
    has_more: bool = False
    ends_window: bool = False
    size: int = _ENVELOPE_BYTES


class ShardReader:
    """Reads one shard during one look. Lanes at the same position share what is read."""

    def __init__(self, tx: Transaction, subject: Subject, shard_id: str, lanes: int) -> None:
        self._tx = tx
        self._of = subject
        self._shard_id = shard_id
        self._lanes = lanes
        self._pages: dict[tuple[int, int], StreamPage] = {}
        # Most lanes leave records to others, and most filters leave records out.
        is_sparse = lanes > 1 or bool(subject.mapping.filters)
        self._limit = SHARD_RECORDS_PER_LOOK_MAX if is_sparse else subject.mapping.batch_size

    def next_batch(self, number: int, lane: Lane, *, seq_last: int | None) -> Found:
        """The lane's next records, as many as fit into a batch; none after `seq_last`."""
        found = Found(lane.position)
        window = lane.window
        for item in self._after(found, seq_last):
            if not self._is_wanted(item, number, found):
                found.position = item.seq
                continue
            if not found.items and self._of.settings.is_expired(item.at, self._tx.now):
                found.expired.append(item)
                found.position = item.seq
                if len(found.expired) == self._of.mapping.batch_size:
                    return found
                continue
            if self._of.settings.tumbling_s:
                window = window or window_of(item.at, self._of.settings.tumbling_s)
                if item.at >= window.end:
                    found.is_full, found.ends_window = True, not found.items
                    return found
            if not self._add(found, item):
                return found
        return found

    def batch_again(self, number: int, lane: Lane) -> Found:
        """The records of the lane's batch that comes again, unless they have expired in the stream."""
        found = Found(lane.position)
        for item in self._after(found, lane.ends[0]):
            if not self._is_wanted(item, number, found):
                continue
            if self._of.settings.is_expired(item.at, self._tx.now):
                found.expired.append(item)
            elif not self._add(found, item):
                break
        return found

    def _add(self, found: Found, item: StreamItem) -> bool:
        """Add a record to a batch. Returns whether there is room for another."""
        text = dump_json(item.document)
        size = len(text.encode()) + 1
        if found.items and found.size + size > SYNC_PAYLOAD_BYTES_MAX:
            found.is_full = True
            return False
        found.items.append(item)
        found.texts.append(text)
        found.size += size
        found.position = item.seq
        found.filtered_within = found.filtered
        found.is_full = len(found.items) >= self._of.mapping.batch_size
        return not found.is_full

    def _is_wanted(self, item: StreamItem, number: int, found: Found) -> bool:
        if lane_of(item.partition_key, self._lanes) != number:
            return False
        if passes(self._of.mapping.filters, self._of.mapping.service, item.document):
            return True
        found.filtered += 1
        return False

    def _after(self, found: Found, seq_last: int | None) -> Iterator[StreamItem]:
        """The records after the position in `found`, up to the limit of one look; notes in `found` why they end."""
        after, read = found.position, 0
        while seq_last is None or after < seq_last:
            page = self._page(after)
            for item in page.items:
                if seq_last is not None and item.seq > seq_last:
                    return
                yield item
            read += len(page.items)
            if page.is_end:
                found.is_at_end = True
                return
            if not page.items or self._is_last(page.items):
                return
            after = page.items[-1].seq
            if read >= SHARD_RECORDS_PER_LOOK_MAX:
                found.has_more = found.is_full = True
                return

    def _is_last(self, items: Sequence[StreamItem]) -> bool:
        """Whether a page ended because the shard has no more records now, and not because of its size."""
        if len(items) >= self._limit:
            return False
        return sum(len(dump_json(item.document)) for item in items) < SYNC_PAYLOAD_BYTES_MAX // 2

    def _page(self, after: int) -> StreamPage:
        key = (after, self._limit)
        page = self._pages.get(key)
        if page is None:
            page = self._of.source.read(
                self._tx, self._of.caller, self._of.mapping.read_arn, self._shard_id, after, limit=self._limit,
                bytes_max=SYNC_PAYLOAD_BYTES_MAX,
            )  # fmt: skip
            self._pages[key] = page
        return page
