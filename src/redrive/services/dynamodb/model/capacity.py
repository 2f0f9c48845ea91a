"""The consumed capacity of a request by AWS's rules: reads in units of 4 KB, writes in units of 1 KB.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from redrive.core.documents import Document
from redrive.languages.dynamo import Item, item_size
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.entries import entry_of
from redrive.services.dynamodb.model.index import Index
from redrive.services.dynamodb.model.table import Table
from redrive.store.tables.items import ItemKey

_ANY_KEY = ItemKey(b"")
"""The key of the item does not matter when two entries of one item are compared."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The units that a request consumed: of a table, and of its indexes by their names."""

    table: float = 0.0
    global_indexes: Mapping[str, float] = field(default_factory=dict)
    local_indexes: Mapping[str, float] = field(default_factory=dict)

    @property
    def total(self) -> float:
        return self.table + sum(self.global_indexes.values()) + sum(self.local_indexes.values())

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.table + other.table,
            _added(self.global_indexes, other.global_indexes),
            _added(self.local_indexes, other.local_indexes),
        )

    def times(self, factor: int) -> Cost:
        """Return this cost several times."""
        return Cost(
            self.table * factor,
            {name: units * factor for name, units in self.global_indexes.items()},
            {name: units * factor for name, units in self.local_indexes.items()},
        )


def is_capacity_wanted(return_consumed_capacity: str | None) -> bool:
    """Whether the request asks for its consumed capacity."""
    return return_consumed_capacity in ("TOTAL", "INDEXES")


def read_capacity(
    table: Table, return_consumed_capacity: str | None, size_bytes: int, consistent: bool | None
) -> Document:
    """Return the ConsumedCapacity of a read of `size_bytes`; empty if not requested.

    A consistent read of 4 KB costs 1, an eventually consistent one 0.5. Finding nothing costs the same as 4 KB.
    """
    return consumed(table, return_consumed_capacity, Cost(read_units(size_bytes, consistent=consistent)))


def write_capacity(table: Table, return_consumed_capacity: str | None, old: Item | None, new: Item | None) -> Document:
    """Return the ConsumedCapacity of a write; empty if not requested. `old` and `new` are None for no item."""
    if not is_capacity_wanted(return_consumed_capacity):
        return {}
    return consumed(table, return_consumed_capacity, write_cost(table, old, new))


def source_capacity(
    table: Table, index: Index | None, return_consumed_capacity: str | None, units: float, fetched_units: float
) -> Document:
    """Return the ConsumedCapacity of a query or a scan; empty if not requested.

    `fetched_units` were consumed by reading the items of a local index's entries from the table.
    """
    if index is None:
        cost = Cost(units)
    elif index.is_global:
        cost = Cost(0.0, global_indexes={index.name: units})
    else:
        cost = Cost(fetched_units, local_indexes={index.name: units})
    return consumed(table, return_consumed_capacity, cost)


def scan_units(sizes: Iterable[int], consistent: bool | None) -> float:
    """Return the cost of a scan. `sizes` are the bytes that were read from each partition.

    Each partition costs the same as a read of its own, even if it is empty.
    """
    return sum(read_units(size_bytes, consistent=consistent) for size_bytes in sizes)


def read_units(size_bytes: int, *, consistent: bool | None) -> float:
    """Return the cost of a read of `size_bytes`."""
    units = _units(size_bytes, limits.READ_UNIT_BYTES)
    return float(units) if consistent else units / 2


def write_units(items: Sequence[Item | None]) -> float:
    """Return the cost of a write in the table; `items` are the item before and after the write, None for no item.

    The larger of the two items counts; a write without any item costs the same as 1 KB.
    """
    size_bytes = max((item_size(item) for item in items if item is not None), default=0)
    return float(_units(size_bytes, limits.WRITE_UNIT_BYTES))


def write_cost(table: Table, old: Item | None, new: Item | None) -> Cost:
    """Return the cost of a write in the table and in its indexes; `old` and `new` are None for no item."""
    units = write_units((old, new))
    if not table.indexes:
        return Cost(units)
    costs = [(index, _entry_units(table, index, old, new)) for index in table.indexes]
    return Cost(
        units,
        {index.name: spent for index, spent in costs if index.is_global and spent},
        {index.name: spent for index, spent in costs if not index.is_global and spent},
    )


def batch_capacity(
    costs: Mapping[str, Cost], return_consumed_capacity: str | None, *, spent_as: str | None = None
) -> Document:
    """Return the ConsumedCapacity of a request on several tables, by their names; empty if not requested.

    `spent_as` is the member (`WriteCapacityUnits`) that transactions show in addition to the total.
    """
    if not is_capacity_wanted(return_consumed_capacity):
        return {}
    shown = [_shown(name, return_consumed_capacity, cost) for name, cost in costs.items()]
    if spent_as is not None:
        shown = [{**each, spent_as: each["CapacityUnits"]} for each in shown]
    return {"ConsumedCapacity": shown}


def consumed(table: Table, return_consumed_capacity: str | None, cost: Cost) -> Document:
    """Return the ConsumedCapacity of a request on one table; empty if not requested."""
    if not is_capacity_wanted(return_consumed_capacity):
        return {}
    return {"ConsumedCapacity": _shown(table.name, return_consumed_capacity, cost)}


def _shown(table_name: str, return_consumed_capacity: str | None, cost: Cost) -> Document:
    shown: Document = {"TableName": table_name, "CapacityUnits": cost.total}
    if return_consumed_capacity == "INDEXES":
        shown["Table"] = {"CapacityUnits": cost.table}
        for member, units in (
            ("GlobalSecondaryIndexes", cost.global_indexes), ("LocalSecondaryIndexes", cost.local_indexes),
        ):  # fmt: skip
            if units:
                shown[member] = {name: {"CapacityUnits": spent} for name, spent in units.items()}
    return shown


def _entry_units(table: Table, index: Index, old: Item | None, new: Item | None) -> float:
    """Return the cost of a write in one index: for an entry that moves, its deletion and its creation both count."""
    before = None if old is None else entry_of(table, index, _ANY_KEY, old)
    after = None if new is None else entry_of(table, index, _ANY_KEY, new)
    if before == after:
        return 0.0
    if before is not None and after is not None and before.key == after.key:
        return write_units((before.item, after.item))
    return sum(write_units((entry.item,)) for entry in (before, after) if entry is not None)


def _units(size_bytes: int, unit_bytes: int) -> int:
    return max(1, -(-size_bytes // unit_bytes))


def _added(one: Mapping[str, float], other: Mapping[str, float]) -> Mapping[str, float]:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in (*one, *other)}
