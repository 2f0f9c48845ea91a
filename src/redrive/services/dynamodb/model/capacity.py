"""What a request consumes, by AWS's rules: reads in units of 4 KB, writes in units of 1 KB.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.languages.dynamo import Item, item_size
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.table import Table


def is_capacity_wanted(return_consumed_capacity: str | None) -> bool:
    """Whether the answer shall say what the request consumed."""
    return return_consumed_capacity in ("TOTAL", "INDEXES")


def read_capacity(
    table: Table, return_consumed_capacity: str | None, size_bytes: int, consistent: bool | None
) -> Document:
    """ConsumedCapacity of a read of so many bytes; nothing if it is not wanted.

    An eventually consistent read costs half: 4 KB cost 1 or 0.5, nothing found costs as much as 4 KB.
    """
    return _consumed(table.name, return_consumed_capacity, read_units(size_bytes, consistent=consistent))


def write_capacity(table: Table, return_consumed_capacity: str | None, items: Sequence[Item | None]) -> Document:
    """ConsumedCapacity of a write; nothing if it is not wanted. `items` are the item before it and after it.

    The larger of the two counts; writing nothing costs as much as 1 KB.
    """
    if not is_capacity_wanted(return_consumed_capacity):
        return {}
    return _consumed(table.name, return_consumed_capacity, write_units(items))


def scan_capacity(
    table: Table, return_consumed_capacity: str | None, sizes: Mapping[int, int], consistent: bool | None
) -> Document:
    """ConsumedCapacity of a scan, which reads so many bytes of each of these partitions; nothing if it is not wanted.

    Each partition that was looked at costs as if it were read alone, also one that is empty.
    """
    units = sum(read_units(size_bytes, consistent=consistent) for size_bytes in sizes.values())
    return _consumed(table.name, return_consumed_capacity, units)


def read_units(size_bytes: int, *, consistent: bool | None) -> float:
    """What a read of so many bytes costs."""
    units = _units(size_bytes, limits.READ_UNIT_BYTES)
    return float(units) if consistent else units / 2


def write_units(items: Sequence[Item | None]) -> float:
    """What a write costs that found the first item and left the second; None stands for no item."""
    size_bytes = max((item_size(item) for item in items if item is not None), default=0)
    return float(_units(size_bytes, limits.WRITE_UNIT_BYTES))


def batch_capacity(
    units: Mapping[str, float], return_consumed_capacity: str | None, *, spent_as: str | None = None
) -> Document:
    """ConsumedCapacity of a request on several tables, by their names; nothing if it is not wanted.

    `spent_as` names the member (`WriteCapacityUnits`) that transactions show beside the total.
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
