"""Parts of tables: the rows that a statement can touch, as far as its parameters say it.

A search keeps an answer with what the answer depends on. A write of one item depends on no other item, and a receive
from one queue on no other queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from redrive.store.database import Params
from redrive.store.queries import load_queries

Part = tuple[object, ...]
"""A table, and values that rows of this part have in the first columns of a part: see `COLUMNS`."""

RESOURCES, ITEMS, MESSAGES = "resources", "items", "messages"
COLUMNS = {RESOURCES: 0, ITEMS: 0, MESSAGES: 1}
"""The tables that have parts, and the column that the values of a part begin with: kind, table, queue."""

_ITEMS = load_queries(ITEMS)
_MESSAGES = load_queries(MESSAGES)
_RESOURCES = load_queries(RESOURCES)
_KEY_COLUMNS = 4
"""Table, slot, hash key and range key."""

Touching = Callable[[Params], Iterable[Part]]


def touching(sql: str) -> tuple[str, Touching] | None:
    """The table of a statement that touches parts of it alone, and which, by its parameters; None for any other."""
    return _TOUCHING.get(sql)


def part_of(rows: Sequence[tuple[object, ...]], part: Part) -> tuple[tuple[object, ...], ...]:
    """The rows of a part, of all rows of its table."""
    table, *values = part
    begin = COLUMNS[str(table)]
    end, wanted = begin + len(values), tuple(values)
    return tuple([row for row in rows if row[begin:end] == wanted])


def with_part(
    rows: Sequence[tuple[object, ...]], part: Part, new: Sequence[tuple[object, ...]]
) -> tuple[tuple[object, ...], ...]:
    """All rows of a table with other rows in a part, in the order of the table's key."""
    old = set(part_of(rows, part))
    length = _KEY_COLUMNS if part[0] == ITEMS else 3 if part[0] == RESOURCES else 1
    return tuple(sorted([*(row for row in rows if row not in old), *new], key=lambda row: row[:length]))


def _values(params: Params) -> Sequence[object]:
    return tuple(params.values()) if isinstance(params, Mapping) else tuple(params)


def _kind(params: Params) -> Iterable[Part]:
    return ((RESOURCES, params["kind"] if isinstance(params, Mapping) else params[0]),)


def _table_of_items(params: Params) -> Iterable[Part]:
    return ((ITEMS, params["table_id"] if isinstance(params, Mapping) else params[0]),)


def _item(params: Params) -> Iterable[Part]:
    return ((ITEMS, *_values(params)[:_KEY_COLUMNS]),)


def _collection(params: Params) -> Iterable[Part]:
    return ((ITEMS, *_values(params)[: _KEY_COLUMNS - 1]),)


def _queue(params: Params) -> Iterable[Part]:
    return ((MESSAGES, params["queue"] if isinstance(params, Mapping) else params[0]),)


def _both_queues(params: Params) -> Iterable[Part]:
    named = params if isinstance(params, Mapping) else {}
    return (MESSAGES, named["queue"]), (MESSAGES, named["dead_letter_queue"])


_OF_ITEMS: Mapping[Touching, Sequence[str]] = {
    _item: ("get", "put", "take", "delete_entry"),
    _collection: ("ascending", "descending", "collection_size"),
    _table_of_items: ("scan", "totals"),
}
_OF_QUEUES = (
    "put", "put_plain", "put_caused", "claim_visible", "give_back", "held", "release", "restore_receipt", "delete",
    "retain", "purge", "bring_near", "first_expiry", "expire", "counts", "next_visible", "count_visible",
    "count_in_flight", "visible", "oldest_sent_at", "in_flight_by_group", "claim_of_other_groups", "put_in_order",
    "claim_in_order", "delete_in_order", "promote_to_the_back", "visible_in_order", "expire_in_order",
    "expire_some_in_order", "delay", "next_head", "count_held", "hold_again", "exists", "promote",
)  # fmt: skip
"""The statements about the messages of one queue. Not `dead_letter`, and none that knows messages by their numbers."""

_TOUCHING: Mapping[str, tuple[str, Touching]] = {
    **dict.fromkeys(_RESOURCES.values(), (RESOURCES, _kind)),
    **{_ITEMS[name]: (ITEMS, touch) for touch, names in _OF_ITEMS.items() for name in names},
    **{_MESSAGES[name]: (MESSAGES, _queue) for name in _OF_QUEUES},
    _MESSAGES["dead_letter"]: (MESSAGES, _both_queues),
}
