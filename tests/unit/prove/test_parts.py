"""An answer depends on the rows that its statements can touch, and on no other rows of their tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from redrive.core.clock import Instant
from redrive.delivery.outside.invocation import Invocation, InvocationResult
from redrive.prove.stage.contents import Asked, Contents
from redrive.prove.stage.ids import Ids
from redrive.prove.stage.stage import Stage
from redrive.store.api import Transaction
from redrive.store.parts import part_of, with_part
from redrive.store.tables.items import ItemKey, StoredItem

TABLE = "table-1"


class NoFunctions:
    """An invoker of a stage without functions."""

    def invoke(self, invocation: Invocation) -> InvocationResult:
        raise AssertionError(invocation)

    def close(self) -> None:
        """Nothing to close."""


@pytest.fixture
def contents() -> Iterator[Contents]:
    with closing(Stage(NoFunctions(), seed=0)) as stage:
        yield stage.contents


def put(name: str, value: str, expires_at: Instant | None = None) -> Callable[[Transaction], None]:
    stored = StoredItem(name.encode(), b"", 1, value.encode())
    return lambda tx: tx.items.put(TABLE, stored, expires_at=expires_at)


def asked(contents: Contents, what: str, step: Callable[[Transaction], object]) -> object:
    return contents.ask(Asked((what.encode(), 0), lambda: contents.run(step), (), Ids(0)))


def read(name: str) -> Callable[[Transaction], object]:
    return lambda tx: tx.items.get(TABLE, ItemKey(name.encode()))


def scan(tx: Transaction) -> object:
    page = tx.items.scan(TABLE, after=None, segment=0, segments=1, limit=None, bytes_max=1_000_000)
    return sorted(bytes(stored.item) for stored in page.items)  # A scan goes by slots.


def test_answer_about_an_item_is_known_whatever_other_items_there_are(contents: Contents) -> None:
    contents.run(put("a", "1"))
    assert asked(contents, "a", read("a")) == b"1"
    contents.run(put("b", "2"))
    before = contents.asked

    assert asked(contents, "a", read("a")) == b"1"
    assert contents.asked == before


def test_answer_about_an_item_is_not_known_after_it_was_written(contents: Contents) -> None:
    contents.run(put("a", "1"))
    asked(contents, "a", read("a"))
    contents.run(put("a", "2"))

    assert asked(contents, "a", read("a")) == b"2"


def test_known_write_of_an_item_leaves_all_others_as_they_are(contents: Contents) -> None:
    asked(contents, "write a", put("a", "1"))
    saved = contents.save()
    contents.run(put("b", "2"))
    asked(contents, "write a", put("a", "1"))
    assert contents.run(scan) == [b"1", b"2"]
    contents.load(saved)

    assert contents.run(scan) == [b"1"]


def test_scan_is_not_known_after_any_item_of_its_table_was_written(contents: Contents) -> None:
    contents.run(put("a", "1"))
    assert asked(contents, "scan", scan) == [b"1"]
    contents.run(put("b", "2"))

    assert asked(contents, "scan", scan) == [b"1", b"2"]


@pytest.mark.parametrize("expires_later_at", [9, 12])
def test_who_writes_the_item_that_expires_first_is_told_which_one_is_next(
    contents: Contents, expires_later_at: Instant
) -> None:
    """The next expiry follows from all other items then, though the first one was the same before."""

    def prolong(tx: Transaction) -> Instant | None:
        put("a", "1", 20)(tx)
        return tx.items.next_expiry()

    for at in (9, 12, expires_later_at):
        contents.run(put("a", "1", 5))
        contents.run(put("b", "2", at))

        assert asked(contents, "prolong a", prolong) == at


def test_part_is_replaced_in_the_order_of_the_key() -> None:
    rows = ((1, "jobs", "x"), (2, "mails", "y"), (3, "jobs", "z"))
    assert part_of(rows, ("messages", "jobs")) == ((1, "jobs", "x"), (3, "jobs", "z"))

    replaced = with_part(rows, ("messages", "jobs"), ((3, "jobs", "changed"),))

    assert replaced == ((2, "mails", "y"), (3, "jobs", "changed"))
