"""Items and their keys: parse them from requests, and check writes."""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.clock import Instant
from redrive.core.errors import ServiceError
from redrive.languages.dynamo import (
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


def key_of_item(table: Table, item: Item) -> ItemKey:
    """Return the key under which an item is stored.

    Errors: ValidationException if a key attribute is missing, has the wrong type, or is empty or too long.
    """
    for name in table.key_names:
        value = item.get(name)
        if value is None:
            raise invalid_parameter(f"Missing the key {name} in the item")
        if type_of(value) != table.attributes[name]:
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
        raise invalid("The provided key element does not match the schema")
    return _encoded(table, key)


def is_key(table: Table, key: Item) -> bool:
    """Whether these are exactly the key attributes of the table, each with its type."""
    names, types = table.key_names, table.attributes
    return len(key) == len(names) and all(name in key and types[name] in key[name] for name in names)


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
    hash_value = key[table.hash_key]
    check_hash_key(table.hash_key, hash_value)
    if table.range_key is None:
        return ItemKey(encode_key(hash_value), NO_RANGE_KEY)
    range_value = key[table.range_key]
    check_range_key(table.range_key, range_value)
    return ItemKey(encode_key(hash_value), encode_key(range_value))
