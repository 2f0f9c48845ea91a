"""Archived events by minute: pages go on at a place, and counts follow what is stored."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from redrive.core.clock import MINUTE_MS
from redrive.store.sqlite import SqliteStore
from redrive.store.tables.archives import ArchivedEvent, Content, NewArchivedEvent, Place, minute_of
from redrive.testing.world import World

EVER = 10**9
times = st.lists(st.integers(0, 5 * MINUTE_MS - 1), max_size=12)


def put(store: SqliteStore, *ats: int, archive: str = "a", now: int = 0) -> None:
    events = [NewArchivedEvent(at, 7, str(at)) for at in ats]
    if events:
        store.run(lambda tx: tx.archives.put_many(archive, events, now=now))


def page(
    store: SqliteStore, place: Place, *, start: int = 0, end: int = EVER, seq_last: int = EVER, limit: int = 100
) -> list[ArchivedEvent]:  # fmt: skip
    return store.run(
        lambda tx: tx.archives.page("a", place, start=start, end=end, seq_last=seq_last, limit=limit)
    )  # fmt: skip


def content(store: SqliteStore) -> Content:
    return store.run(lambda tx: tx.archives.content("a"))


@given(times, st.integers(0, 5 * MINUTE_MS), st.integers(0, 5 * MINUTE_MS), st.integers(1, 4))
def test_pages_of_a_range_have_each_event_once_by_minute_and_arrival(
    ats: list[int], start: int, end: int, size: int
) -> None:  # fmt: skip
    store = World().store
    put(store, *ats)
    put(store, 1, 2, archive="b")

    found: list[int] = []
    place = Place(minute_of(start), 0)
    while events := page(store, place, start=start, end=end, limit=size):
        found += [event.at for event in events]
        place = events[-1].after

    assert found == sorted((at for at in ats if start <= at <= end), key=minute_of)


def test_events_of_the_earliest_minutes_are_dropped_first(store: SqliteStore) -> None:
    put(store, 2 * MINUTE_MS, 1, MINUTE_MS, 2)
    put(store, 0, archive="b")

    store.run(lambda tx: tx.archives.drop_oldest("a", limit=3))

    assert [event.at for event in page(store, Place(0, 0))] == [2 * MINUTE_MS]
    assert content(store) == Content(1, 7)


def test_later_numbers_are_left_out(store: SqliteStore) -> None:
    put(store, 1, 2)
    last = store.run(lambda tx: tx.archives.last_seq())
    put(store, 0)

    assert [event.at for event in page(store, Place(0, 0), seq_last=last)] == [1, 2]


def test_place_stays_when_events_before_it_expire_and_new_ones_come(store: SqliteStore) -> None:
    put(store, 0, 1, MINUTE_MS, now=10)
    place = page(store, Place(0, 0), limit=2)[-1].after

    store.run(lambda tx: tx.archives.expire("a", 11, limit=2))
    put(store, 2)

    assert [event.at for event in page(store, place)] == [2, MINUTE_MS]


@given(times, st.integers(0, 15))
def test_content_is_what_is_stored_after_any_expiry(ats: list[int], expired: int) -> None:
    store = World().store
    put(store, *ats, now=5)

    count = store.run(lambda tx: tx.archives.expire("a", 6, limit=expired)) if expired else 0

    left = len(ats) - min(expired, len(ats))
    assert count == len(ats) - left
    assert content(store) == Content(left, 7 * left)
    (minutes,) = store.connection.execute("SELECT count(*) FROM archive_minutes WHERE events <= 0").fetchone()
    assert minutes == 0


def test_expiry_takes_what_was_archived_first_whatever_its_own_time(store: SqliteStore) -> None:
    put(store, 5 * MINUTE_MS, now=1)
    put(store, 0, now=2)

    store.run(lambda tx: tx.archives.expire("a", 3, limit=1))

    assert [event.at for event in page(store, Place(0, 0))] == [0]
    assert store.run(lambda tx: tx.archives.oldest("a")) == 2


def test_deletion_goes_in_pieces_and_leaves_other_archives(store: SqliteStore) -> None:
    put(store, *range(0, 10 * MINUTE_MS, MINUTE_MS))
    put(store, 0, archive="b")

    steps = [store.run(lambda tx: tx.archives.delete("a", limit=4)) for _ in range(4)]

    assert steps == [4, 4, 2, 0]
    assert content(store) == Content(0, 0)
    assert store.run(lambda tx: tx.archives.content("b")) == Content(1, 7)
