"""Items and their keys: parse them from requests, and check writes."""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.clock import Instant
from redrive.core.errors import ServiceError
from redrive.languages.dynamo import (
    HASH_KEY_BYTES_MAX,
    RANGE_KEY_BYTES_MAX,
    AttributeValue,
    Item,
    Update,
    check_hash_key,
    check_range_key,
    encode_key,
    read_item,
    touched_paths,
    type_of,
)
from redrive.services.dynamodb.model.table import Table, invalid, invalid_parameter
from redrive.services.dynamodb.model.time_to_live import expiry_of
from redrive.store.tables.items import NO_RANGE_KEY, ItemKey

_MISMATCH = "The provided key element does not match the schema"


def key_of_item(table: Table, item: Item) -> ItemKey:
    """Return the key under which an item is stored.

    Errors: ValidationException if a key attribute is missing, has the wrong type, or is empty or too long.
    """
    types = table.attributes
    for name in table.key_names:
        value = item.get(name)
        if value is None:
            raise invalid_parameter(f"Missing the key {name} in the item")
        if types[name] not in value:
            raise invalid_parameter(
                f"Type mismatch for key {name} expected: {table.attributes[name]} actual: {type_of(value)}"
            )
    return _encoded(table, item)


def read_key(table: Table, raw: Mapping[str, object]) -> tuple[Item, ItemKey]:
    """Return the key in a request, as attributes and as bytes; the request must have exactly the key's attributes.

    Errors: ValidationException.
    """
    key = read_item(raw)
    return key, matched_key(table, key)


def matched_key(table: Table, key: Item) -> ItemKey:
    """Return the bytes of a key; it must have exactly the key's attributes. Errors: ValidationException."""
    if not is_key(table, key):
        raise invalid(_MISMATCH)
    return _encoded(table, key)


def key_of_put(table: Table, item: Item) -> ItemKey:
    """Return the key of an item that a batch puts. Errors: ValidationException, as of a key that does not match."""
    if not has_key(table, item):
        raise invalid(_MISMATCH)
    return _encoded(table, item)


def is_key(table: Table, key: Item) -> bool:
    """Whether these are exactly the key attributes of the table, each with its type."""
    return len(key) == len(table.key_names) and has_key(table, key)


def has_key(table: Table, item: Item) -> bool:
    """Whether an item has the key attributes of the table, each with its type."""
    types = table.attributes
    missing = [name for name in table.key_names if name not in item or types[name] not in item[name]]
    return not missing


def key_within(table: Table, item: Item) -> dict[str, AttributeValue]:
    """Return those attributes of an item that belong to the table's key; some may be missing."""
    return {name: item[name] for name in table.key_names if name in item}


def key_attributes(table: Table, item: Item) -> dict[str, AttributeValue]:
    """Return the key of an item, in the form of LastEvaluatedKey."""
    return {name: item[name] for name in table.key_names}


def item_expiry(table: Table, item: Item, now: Instant) -> Instant | None:
    """Return when an item expires if it is written now, or None."""
    attribute = table.expiry_attribute
    return None if attribute is None else expiry_of(item, attribute, now)


def check_key_kept(table: Table, update: Update) -> None:
    """Refuse an update of a key attribute. Errors: ValidationException."""
    key_names = table.key_names
    for path in touched_paths(update):
        if path.attribute in key_names:
            raise invalid_parameter(f"Cannot update attribute {path.attribute}. This attribute is part of the key")


def failed_condition(old: Item | None, on_failure: str | None) -> ServiceError:
    """Build the error for a false condition; with ALL_OLD the error contains the present item."""
    members = {"Item": old} if on_failure == "ALL_OLD" and old is not None else {}
    return ServiceError("ConditionalCheckFailedException", "The conditional request failed", members=members)


def _encoded(table: Table, key: Item) -> ItemKey:
    # Encoded strings and binary are as long as their values; encoded numbers are never empty, and short.
    hash_key = encode_key(key[table.hash_key])
    if not 0 < len(hash_key) <= HASH_KEY_BYTES_MAX:
        check_hash_key(table.hash_key, key[table.hash_key])
    if table.range_key is None:
        return ItemKey(hash_key, NO_RANGE_KEY)
    range_key = encode_key(key[table.range_key])
    if not 0 < len(range_key) <= RANGE_KEY_BYTES_MAX:
        check_range_key(table.range_key, key[table.range_key])
    return ItemKey(hash_key, range_key)
