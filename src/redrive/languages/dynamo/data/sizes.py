"""The size of an item in the bytes that DynamoDB counts, and the limits of sizes.

The rules are AWS's published estimates; the exact bytes of its storage are not public.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
"""

from __future__ import annotations

from redrive.core.errors import ServiceError
from redrive.languages.dynamo.data.numbers import digit_count
from redrive.languages.dynamo.data.values import AttributeValue, Item, type_of, utf8_length
from redrive.languages.dynamo.refusals import invalid, invalid_parameter

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
ITEM_BYTES_MAX = 400 * 1024
HASH_KEY_BYTES_MAX = 2048
RANGE_KEY_BYTES_MAX = 1024

_CONTAINER_BYTES = 3
_ELEMENT_BYTES = 1


def item_size(item: Item) -> int:
    """The size of an item in bytes: the names and the values of its attributes."""
    size_bytes = 0
    for name, value in item.items():
        size_bytes += len(name) if name.isascii() else utf8_length(name)
        if "S" in value:  # Most values: without a call of a function for each.
            text = value["S"]
            size_bytes += len(text) if text.isascii() else utf8_length(text)
        elif "N" in value:
            number = value["N"]
            digits = len(number.rstrip("0")) if number.isdigit() else digit_count(number)
            size_bytes += (digits + 1) // 2 + 1
        elif "BOOL" in value:
            size_bytes += 1
        else:
            size_bytes += value_size(value)
    return size_bytes


def value_size(value: AttributeValue) -> int:
    """The size of a value in bytes, without its name.

    A string counts its UTF-8 bytes; a number one byte, and one for each two significant digits; a list or
    map three bytes, and one for each element.
    """
    if "S" in value:
        return utf8_length(value["S"])
    if "N" in value:
        return _number_size(value["N"])
    match value:
        case {"B": data}:
            return len(data)
        case {"SS": texts}:
            return sum(utf8_length(text) for text in texts)
        case {"NS": numbers}:
            return sum(_number_size(number) for number in numbers)
        case {"BS": chunks}:
            return sum(len(chunk) for chunk in chunks)
        case {"L": elements}:
            return _CONTAINER_BYTES + sum(_ELEMENT_BYTES + value_size(element) for element in elements)
        case {"M": members}:
            return _CONTAINER_BYTES + _ELEMENT_BYTES * len(members) + item_size(members)
        case _:
            return 1


class EmptyKey(ServiceError):
    """The refusal of a key attribute with an empty value: the only defect of a key that cancels no transaction."""

    def __init__(self, message: str) -> None:
        refusal = invalid_parameter(message)
        super().__init__(refusal.code, refusal.message)


def check_item_size(item: Item) -> int:
    """Refuse an item of more than 400 KB in a request; returns its size. Errors: ValidationException."""
    size_bytes = item_size(item)
    if size_bytes > ITEM_BYTES_MAX:
        raise invalid("Item size has exceeded the maximum allowed size")
    return size_bytes


def check_updated_size(item: Item) -> int:
    """Refuse an item that an update made larger than 400 KB; returns its size. Errors: ValidationException."""
    size_bytes = item_size(item)
    if size_bytes > ITEM_BYTES_MAX:
        raise invalid("Item size to update has exceeded the maximum allowed size")
    return size_bytes


def check_hash_key(name: str, value: AttributeValue) -> None:
    """Refuse an empty partition key, or one of more than 2048 bytes. Errors: ValidationException."""
    _check_not_empty(name, value)
    if value_size(value) > HASH_KEY_BYTES_MAX:
        raise invalid_parameter(f"Size of hashkey has exceeded the maximum size limit of{HASH_KEY_BYTES_MAX} bytes")


def check_range_key(name: str, value: AttributeValue) -> None:
    """Refuse an empty sort key, or one of more than 1024 bytes. Errors: ValidationException."""
    _check_not_empty(name, value)
    if value_size(value) > RANGE_KEY_BYTES_MAX:
        raise invalid_parameter(
            f"Aggregated size of all range keys has exceeded the size limit of {RANGE_KEY_BYTES_MAX} bytes"
        )


def _check_not_empty(name: str, value: AttributeValue) -> None:
    if value.get("S") == "" or value.get("B") == b"":
        kind = {"S": "string", "B": "binary"}[type_of(value)]
        raise EmptyKey(f"The AttributeValue for a key attribute cannot contain an empty {kind} value. Key: {name}")


def _number_size(number: str) -> int:
    return (digit_count(number) + 1) // 2 + 1
