"""The entries of an index: for each item that has the index's key attributes, the projected part of the item.

An entry is stored under a key of bytes, as items are. Its hash key is the index's. Its range key is the index's range
keys and then the key of the item, so that entries with equal index keys are in the order of the items' keys, and no
two items share an entry. Parts that others follow are escaped: a zero byte becomes 00 ff, and 00 00 ends the part.
So the order of the bytes is the order of the parts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from redrive.core.errors import ServiceError
from redrive.languages.dynamo import (
    HASH_KEY_BYTES_MAX,
    RANGE_KEY_BYTES_MAX,
    AttributeValue,
    EmptyKey,
    Item,
    KeyBounds,
    encode_key,
    type_of,
    value_size,
)
from redrive.services.dynamodb.model.index import Index, ProjectionType
from redrive.services.dynamodb.model.table import Table, invalid_parameter
from redrive.store.tables.items import ItemKey, RangeKeys

_END = b"\x00\x00"
_AFTER_END = b"\x00\x01"
_ESCAPED_ZERO = b"\x00\xff"

# PostgreSQL's indexes hold 2,704 bytes. An escaped range key takes up to 2,048 of them.
_ITEM_KEY_BYTES_MAX = 200
_ITEM_KEY_BYTES_KEPT = 169


class EmptyIndexKey(EmptyKey):
    """The refusal of an item with an empty value of an index key."""

    def __init__(self, index_name: str, name: str, type_name: str) -> None:
        kind = {"S": "string", "B": "binary"}[type_name]
        ServiceError.__init__(
            self,
            "ValidationException",
            "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "
            f"The AttributeValue for a key attribute cannot contain an empty {kind} value. "
            f"IndexName: {index_name}, IndexKey: {name}",
        )


class Entry(NamedTuple):
    """An entry of an index."""

    key: ItemKey
    item: Item


def entry_of(table: Table, index: Index, key: ItemKey, item: Item) -> Entry | None:
    """Return the entry for the item with this key.

    Returns None if the item lacks a key attribute of the index, or has a value that cannot be a key.
    """
    entry_key = entry_key_of(table, index, key, item)
    if entry_key is None:
        return None
    if index.projection is ProjectionType.ALL:
        return Entry(entry_key, item)
    return Entry(entry_key, {name: item[name] for name in index.projected if name in item})


def entry_key_of(table: Table, index: Index, key: ItemKey, item: Item) -> ItemKey | None:
    """Return the key of the entry for an item, or None as `entry_of`."""
    hash_parts = _parts(index.hash_keys, table, item, HASH_KEY_BYTES_MAX)
    if hash_parts is None:
        return None
    range_parts = _parts(index.range_keys, table, item, RANGE_KEY_BYTES_MAX)
    if range_parts is None:
        return None
    behind = key.range_key if not index.is_global else _escaped(key.hash_key) + _END + key.range_key
    if len(behind) > _ITEM_KEY_BYTES_MAX:
        behind = behind[:_ITEM_KEY_BYTES_KEPT] + hashlib.sha256(behind).digest()
    return ItemKey(hash_key_of(hash_parts), _joined(range_parts) + behind)


def hash_key_of(parts: Sequence[bytes]) -> bytes:
    """Return the hash key of the entries with these encoded hash keys."""
    return parts[0] if len(parts) == 1 else _joined(parts)


def entries_within(equal: Iterable[bytes], bounds: KeyBounds | None) -> RangeKeys:
    """Return the range keys of the entries whose first range keys are `equal`, and whose next is within `bounds`."""
    begin = _joined(equal)
    low, high = begin, begin[:-2] + _AFTER_END if begin else RangeKeys().high
    if bounds is not None and bounds.low is not None:
        low = begin + _escaped(bounds.low) + (_END if bounds.low_included else _AFTER_END)
    if bounds is not None and bounds.high is not None:
        high = begin + _escaped(bounds.high) + (_AFTER_END if bounds.high_included else _END)
    return RangeKeys(low, high)


def check_index_keys(table: Table, new: Item, old: Item | None = None) -> None:
    """Refuse an item with a value that cannot be a key of an index. Values that were in `old` stay as they are.

    Errors: ValidationException.
    """
    for index in table.indexes:
        for name in index.hash_keys:
            _check(table, index, name, new, old, HASH_KEY_BYTES_MAX)
        for name in index.range_keys:
            _check(table, index, name, new, old, RANGE_KEY_BYTES_MAX)


def _check(table: Table, index: Index, name: str, new: Item, old: Item | None, bytes_max: int) -> None:
    value = new.get(name)
    if value is None or (old is not None and old.get(name) == value):
        return
    wanted = table.attributes[name]
    if wanted not in value:
        raise invalid_parameter(
            f"Type mismatch for Index Key {name} Expected: {wanted} Actual: {type_of(value)} IndexName: {index.name}"
        )
    if _is_empty(value):
        raise EmptyIndexKey(index.name, name, type_of(value))
    if wanted != "N" and value_size(value) > bytes_max:
        raise invalid_parameter(
            f"Size limit exceeded for Index Key {name} Actual Size: {value_size(value)} bytes "
            f"Max Size: {bytes_max} bytes IndexName: {index.name}"
        )


def _parts(names: Sequence[str], table: Table, item: Item, bytes_max: int) -> list[bytes] | None:
    """Return the encoded values of key attributes; None if one is missing, or cannot be a key."""
    parts = []
    for name in names:
        value = item.get(name)
        if value is None or table.attributes[name] not in value or _is_empty(value):
            return None
        parts.append(encode_key(value))
    if sum(map(len, parts)) > bytes_max:
        return None
    return parts


def _is_empty(value: AttributeValue) -> bool:
    return value.get("S") == "" or value.get("B") == b""


def _joined(parts: Iterable[bytes]) -> bytes:
    return b"".join([_escaped(part) + _END for part in parts])


def _escaped(part: bytes) -> bytes:
    return part.replace(b"\x00", _ESCAPED_ZERO)
