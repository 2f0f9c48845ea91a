"""How many items a table or an index has, as descriptions show: counted, or remembered if there are many."""

from __future__ import annotations

from typing import NamedTuple

from redrive.core.clock import Instant
from redrive.services.dynamodb import limits
from redrive.store.api import Transaction


class Totals(NamedTuple):
    """The number and size of items at an instant."""

    items: int
    size_bytes: int
    counted_at: Instant


def shown_totals(
    tx: Transaction, id: str, *, fresh_items_max: int = limits.TOTALS_FRESH_ITEMS_MAX
) -> tuple[int, int]:  # fmt: skip
    """The number of items under the id of a table or an index, and their size in bytes.

    Of more than `fresh_items_max` items the numbers may be five minutes old.
    """
    key = ("dynamodb.totals", id)
    known = tx.resources.memo.get(key)
    if isinstance(known, Totals) and 0 <= tx.now - known.counted_at < limits.TOTALS_AGE_MS_MAX:
        return known.items, known.size_bytes
    items, size_bytes = tx.items.totals(id)
    if items > fresh_items_max:
        tx.resources.memo.put(key, Totals(items, size_bytes, tx.now))
    return items, size_bytes
