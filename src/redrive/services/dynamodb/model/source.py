"""What queries and scans read: a table, or one of its indexes. Both have keys, rows, and a price."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from redrive.languages.dynamo import (
    AttributeValue,
    Item,
    KeyCondition,
    KeyTerm,
    bounds_of,
    check_hash_key,
    check_key_types,
    encode_key,
    keys_condition,
    read_item,
    type_of,
)
from redrive.services.dynamodb.model.billing import Billing
from redrive.services.dynamodb.model.entries import entries_within, entry_key_of, hash_key_of
from redrive.services.dynamodb.model.index import Index, ProjectionType
from redrive.services.dynamodb.model.items import key_of_item
from redrive.services.dynamodb.model.table import Table, invalid, invalid_parameter
from redrive.store.tables.items import ItemKey, RangeKeys, just_after


@dataclass(frozen=True, slots=True)
class Source:
    """A table, or an index of it if `index` is given."""

    table: Table
    index: Index | None = None

    @property
    def id(self) -> str:
        """The id under which the rows are stored."""
        return self.table.id if self.index is None else self.index.id

    @property
    def hash_keys(self) -> Sequence[str]:
        """The names of the hash keys. A table has one."""
        return (self.table.hash_key,) if self.index is None else self.index.hash_keys

    @property
    def range_keys(self) -> Sequence[str]:
        """The names of the range keys. A table has one at most."""
        return self.table.key_names[1:] if self.index is None else self.index.range_keys

    @property
    def key_names(self) -> Sequence[str]:
        """The names of the key attributes, the hash keys first."""
        return self.table.key_names if self.index is None else self.index.key_names

    @property
    def start_names(self) -> Sequence[str]:
        """The attributes of LastEvaluatedKey and ExclusiveStartKey: the keys of the index and of the table."""
        if self.index is None:
            return self.table.key_names
        return tuple(dict.fromkeys((*self.index.key_names, *self.table.key_names)))

    @property
    def billing(self) -> Billing:
        """The throughput settings that count here."""
        own = None if self.index is None else self.index.billing
        return self.table.billing if own is None else own

    def type_of_key(self, name: str) -> str:
        """The type of a key attribute: S, N or B."""
        return self.table.attributes[name]

    def key_condition(self, terms: Sequence[KeyTerm]) -> KeyCondition:
        """Return the terms as a condition on the keys. Errors: ValidationException."""
        condition = keys_condition(terms, self.hash_keys, self.range_keys)
        check_condition(self, condition)
        return condition

    def hash_key(self, condition: KeyCondition) -> bytes:
        """Return the hash key of the rows that a condition asks for."""
        if not condition.more_hash_values:
            return encode_key(condition.hash_value)
        return hash_key_of([encode_key(value) for value in _hash_values(condition)])

    def range_of(self, condition: KeyCondition) -> RangeKeys:
        """Return the range of the range keys of the rows that satisfy a condition."""
        if self.index is None:
            return _range_keys(condition)
        bounds = None if condition.range is None else bounds_of(condition.range)
        return entries_within([encode_key(value) for value in condition.equal_ranges], bounds)

    def start_key(self, raw: Mapping[str, object], problem: str = "") -> ItemKey:
        """Return the key after which a page begins.

        Errors: ValidationException for attributes that are not exactly the keys; its message includes `problem`.
        """
        given = read_item(raw)
        names = self.start_names
        if len(given) != len(names) or any(
            name not in given or type_of(given[name]) != self.type_of_key(name) for name in names
        ):
            raise invalid(f"The provided starting key is invalid{': ' if problem else ''}{problem}")
        key = key_of_item(self.table, {name: given[name] for name in self.table.key_names})
        if self.index is None:
            return key
        entry_key = entry_key_of(self.table, self.index, key, given)
        if entry_key is None:
            raise invalid(f"The provided starting key is invalid{': ' if problem else ''}{problem}")
        return entry_key

    def last_key(self, item: Item) -> dict[str, AttributeValue]:
        """Return the key of a row, in the form of LastEvaluatedKey."""
        return {name: item[name] for name in self.start_names}


def source_of(table: Table, index_name: str | None, *, consistent: bool | None) -> Source:
    """Return what a request reads: a table, or its index with this name.

    Errors: ValidationException for an unknown index, one that is being filled, and a consistent read of a global one.
    """
    if index_name is None:
        return Source(table)
    index = table.find_index(index_name)
    if index is None:
        raise invalid(f"The table does not have the specified index: {index_name}")
    if consistent and index.is_global:
        raise invalid("Consistent reads are not supported on global secondary indexes")
    if index.is_filling:
        raise invalid(f"Cannot read from backfilling global secondary index: {index_name}")
    return Source(table, index)


def check_condition(source: Source, condition: KeyCondition) -> None:
    """Refuse values that the keys cannot have. Errors: ValidationException."""
    if source.index is None:
        table = source.table
        range_type = None if table.range_key is None else table.attributes[table.range_key]
        check_key_types(condition, table.attributes[table.hash_key], range_type)
        check_hash_key(table.hash_key, condition.hash_value)
        return
    ranges: list[tuple[AttributeValue, ...]] = [(value,) for value in condition.equal_ranges]
    if condition.range is not None:
        ranges.append(condition.range.values)
    hashes = list(zip(source.hash_keys, _hash_values(condition), strict=True))
    wanted = [(name, (value,)) for name, value in hashes] + list(zip(source.range_keys, ranges, strict=False))
    if any(type_of(value) != source.type_of_key(name) for name, values in wanted for value in values):
        raise invalid_parameter("Condition parameter type does not match schema type")
    for name, value in hashes:
        check_hash_key(name, value)


def needs_items(source: Source, select: str | None, chosen: Collection[str] | None) -> bool:
    """Whether the entries of a local index lack attributes that a request asks for, so that the items are read too.

    `chosen` are the attributes that the request names, None if it names none.
    Errors: ValidationException for a global index, because its entries are all that can be read.
    """
    index = source.index
    if index is None or index.projection is ProjectionType.ALL or select == "COUNT":
        return False
    if select == "ALL_ATTRIBUTES":
        if index.is_global:
            raise invalid_parameter(
                f"Select type ALL_ATTRIBUTES is not supported for global secondary index {index.name} "
                "because its projection type is not ALL"
            )
        return True
    missing = _missing(index, chosen or ())
    if missing and index.is_global:
        raise invalid_parameter(f"Global secondary index {index.name} does not project [{', '.join(missing)}]")
    return bool(missing)


def check_filter_projected(source: Source, named: Iterable[str]) -> None:
    """Refuse a filter on attributes that the entries of an index do not have. Errors: ValidationException."""
    if source.index is None:
        return
    missing = _missing(source.index, named)
    if missing:
        raise invalid_parameter(
            f"Secondary index {source.index.name} does not project one or more filter attributes: "
            f"[{', '.join(missing)}]"
        )


def _missing(index: Index, names: Iterable[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if not index.contains(name)]


def _hash_values(condition: KeyCondition) -> Sequence[AttributeValue]:
    return (condition.hash_value, *condition.more_hash_values)


def _range_keys(condition: KeyCondition) -> RangeKeys:
    """Return the range of a table's range keys that satisfy a condition."""
    everything = RangeKeys()
    if condition.range is None:
        return everything
    bounds = bounds_of(condition.range)
    low, high = bounds.low, bounds.high
    if low is None:
        low = everything.low
    elif not bounds.low_included:
        low = just_after(low)
    if high is None:
        high = everything.high
    elif bounds.high_included:
        high = just_after(high)
    return RangeKeys(low, high)
