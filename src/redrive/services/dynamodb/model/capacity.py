"""The consumed capacity of a request by AWS's rules: reads in units of 4 KB, writes in units of 1 KB.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.languages.dynamo import Item, item_size
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.table import Table


def is_capacity_wanted(return_consumed_capacity: str | None) -> bool:
    """Whether the request asks for its consumed capacity."""
    return return_consumed_capacity in ("TOTAL", "INDEXES")


def read_capacity(
    table: Table, return_consumed_capacity: str | None, size_bytes: int, consistent: bool | None
) -> Document:
    """Return the ConsumedCapacity of a read of `size_bytes`; empty if not requested.

    A consistent read of 4 KB costs 1, an eventually consistent one 0.5. Finding nothing costs the same as 4 KB.
    """
    return _consumed(table.name, return_consumed_capacity, read_units(size_bytes, consistent=consistent))


def write_capacity(table: Table, return_consumed_capacity: str | None, items: Sequence[Item | None]) -> Document:
    """Return the ConsumedCapacity of a write; empty if not requested. `items` are the item before and after the write.

    The larger of the two items counts; a write without any item costs the same as 1 KB.
    """
    if not is_capacity_wanted(return_consumed_capacity):
        return {}
    return _consumed(table.name, return_consumed_capacity, write_units(items))


def scan_capacity(
    table: Table, return_consumed_capacity: str | None, sizes: Mapping[int, int], consistent: bool | None
) -> Document:
    """Return the ConsumedCapacity of a scan; empty if not requested. `sizes` are the bytes read from each partition.

    Each partition costs the same as a read of its own, even if it is empty.
    """
    units = sum(read_units(size_bytes, consistent=consistent) for size_bytes in sizes.values())
    return _consumed(table.name, return_consumed_capacity, units)


def read_units(size_bytes: int, *, consistent: bool | None) -> float:
    """Return the cost of a read of `size_bytes`."""
    units = _units(size_bytes, limits.READ_UNIT_BYTES)
    return float(units) if consistent else units / 2


def write_units(items: Sequence[Item | None]) -> float:
    """Return the cost of a write; `items` are the item before and after the write, None for no item."""
    size_bytes = max((item_size(item) for item in items if item is not None), default=0)
    return float(_units(size_bytes, limits.WRITE_UNIT_BYTES))


def batch_capacity(
    units: Mapping[str, float], return_consumed_capacity: str | None, *, spent_as: str | None = None
) -> Document:
    """Return the ConsumedCapacity of a request on several tables, by their names; empty if not requested.

    `spent_as` is the member (`WriteCapacityUnits`) that transactions show in addition to the total.
    """
    if not is_capacity_wanted(return_consumed_capacity):
        return {}
    shown = [_consumed(name, return_consumed_capacity, spent)["ConsumedCapacity"] for name, spent in units.items()]
    if spent_as is not None:
        shown = [{**each, spent_as: each["CapacityUnits"]} for each in shown]
    return {"ConsumedCapacity": shown}


def _units(size_bytes: int, unit_bytes: int) -> int:
    return max(1, -(-size_bytes // unit_bytes))


def _consumed(table_name: str, return_consumed_capacity: str | None, units: float) -> Document:
    if not is_capacity_wanted(return_consumed_capacity):
        return {}
    consumed: Document = {"TableName": table_name, "CapacityUnits": units}
    if return_consumed_capacity == "INDEXES":
        consumed["Table"] = {"CapacityUnits": units}
    return {"ConsumedCapacity": consumed}
