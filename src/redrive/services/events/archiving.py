"""What a bus accepts goes into its archives, in the transaction that accepts the event.

This module also answers how much an archive holds, and deletes what has expired.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from redrive.core.clock import DAY_MS, Instant, parse_instant
from redrive.core.scope import Scope
from redrive.delivery.upkeep.worker import rest_until, will_age
from redrive.languages.event_pattern import Matcher, parse
from redrive.services.events.limits import MATCHERS_KEPT, REPLAYS_KEPT_MS
from redrive.services.events.model.archive import Archive
from redrive.services.events.model.bus import BusReference
from redrive.services.events.model.event import Event
from redrive.services.events.model.replay import Replay
from redrive.store.api import Transaction
from redrive.store.tables.archives import NewArchivedEvent

RETENTION = "events.retention"
"""The kind of the sweep's timer. Whatever stores what will expire also sets the timer."""

_ONLY = "archive"


def keep_events(tx: Transaction, bus: BusReference, events: Sequence[Event]) -> None:
    """Archive accepted events in all archives of a bus whose pattern they match. Replayed events are left out.

    Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-archive.html
    """
    archives = _archives_of(tx, bus)
    if not archives:
        return
    fresh = [event for event in events if "replay-name" not in event.document]
    for archive in archives:
        kept = [_archived(event) for event in fresh if _is_wanted(archive, event)]
        if kept:
            tx.archives.put_many(archive.id, kept, now=tx.now)
            if archive.retention_days:
                will_age(tx, RETENTION, tx.now + archive.retention_days * DAY_MS)


def is_archived(tx: Transaction, bus: BusReference) -> bool:
    """Whether a bus has an archive."""
    return bool(_archives_of(tx, bus))


def _archives_of(tx: Transaction, bus: BusReference) -> Sequence[Archive]:
    known = tx.resources.everywhere(Archive)
    if not known:
        return ()
    return [archive for scope, archive in known if archive.bus_name == bus.name and scope == bus.scope]


def _is_wanted(archive: Archive, event: Event) -> bool:
    return archive.pattern is None or bool(_matcher(archive.pattern).matching(event.document))


def _archived(event: Event) -> NewArchivedEvent:
    text = event.text
    return NewArchivedEvent(parse_instant(event.document["time"]), len(text.encode()), text)


@lru_cache(maxsize=MATCHERS_KEPT)
def _matcher(pattern: str) -> Matcher:
    return Matcher.of({_ONLY: parse(pattern)})


class ArchiveSweep:
    """Deletes the events of archives whose retention has passed, and replays that ended long ago."""

    timer = RETENTION

    def next_at(self, tx: Transaction) -> Instant | None:
        return tx.timers.next(RETENTION)

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        left = limit
        over_at: list[Instant] = []
        for _, archive in tx.resources.everywhere(Archive):
            if not archive.retention_days:
                continue
            left -= tx.archives.expire(archive.id, archive.kept_since(tx.now), limit=left)
            if left <= 0:
                return  # The timer stays due, so the next claim continues.
            oldest_at = tx.archives.oldest(archive.id)
            over_at += [] if oldest_at is None else [oldest_at + archive.retention_days * DAY_MS]
        for scope, replay in tx.resources.everywhere(Replay):
            over_at += _swept(tx, scope, replay)
        rest_until(tx, RETENTION, min(over_at, default=None))


def _swept(tx: Transaction, scope: Scope, replay: Replay) -> list[Instant]:
    """Delete a replay that has expired; otherwise return when it will."""
    if replay.is_active or replay.ended_at is None:
        return []
    if replay.ended_at + REPLAYS_KEPT_MS > tx.now:
        return [replay.ended_at + REPLAYS_KEPT_MS]
    tx.resources.delete(Replay, scope, replay.name)
    return []
