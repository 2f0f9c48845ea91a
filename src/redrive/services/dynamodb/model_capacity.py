"""What a request consumes, by AWS's rules: reads in units of 4 KB, writes in units of 1 KB.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
"""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.languages.dynamo import Item, item_size
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model import Table


def is_capacity_wanted(return_consumed_capacity: str | None) -> bool:
    """Whether the answer shall say what the request consumed."""
    return return_consumed_capacity in ("TOTAL", "INDEXES")


def read_capacity(
    table: Table, return_consumed_capacity: str | None, size_bytes: int, consistent: bool | None
) -> Document:
    """ConsumedCapacity of a read of so many bytes; nothing if it is not wanted.

    An eventually consistent read costs half: 4 KB cost 1 or 0.5, nothing found costs as much as 4 KB.
    """
    units = _units(size_bytes, limits.READ_UNIT_BYTES)
    return _consumed(table, return_consumed_capacity, float(units) if consistent else units / 2)


def write_capacity(table: Table, return_consumed_capacity: str | None, items: Sequence[Item | None]) -> Document:
    """ConsumedCapacity of a write; nothing if it is not wanted. `items` are the item before it and after it.

    The larger of the two counts; writing nothing costs as much as 1 KB.
    """
    if not is_capacity_wanted(return_consumed_capacity):
        return {}
    size_bytes = max((item_size(item) for item in items if item is not None), default=0)
    return _consumed(table, return_consumed_capacity, float(_units(size_bytes, limits.WRITE_UNIT_BYTES)))


def _units(size_bytes: int, unit_bytes: int) -> int:
    return max(1, -(-size_bytes // unit_bytes))


def _consumed(table: Table, return_consumed_capacity: str | None, units: float) -> Document:
    if not is_capacity_wanted(return_consumed_capacity):
        return {}
    consumed: Document = {"TableName": table.name, "CapacityUnits": units}
    if return_consumed_capacity == "INDEXES":
        consumed["Table"] = {"CapacityUnits": units}
    return {"ConsumedCapacity": consumed}
