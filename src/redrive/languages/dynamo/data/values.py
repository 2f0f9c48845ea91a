"""Attribute values in AWS's JSON form: parsed, compared, measured.

A value from `read_value` is valid and canonical (its numbers are in the form that AWS returns), and every other module
of this room relies on that. No function here changes its arguments; results share parts with them. This module knows
nothing of expressions, tables or bytes on disk.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_AttributeValue.html
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TypedDict, TypeGuard, TypeVar

from redrive.languages.dynamo.data.numbers import CANONICAL, canonical
from redrive.languages.dynamo.refusals import invalid, invalid_parameter

# An attribute of an item is on level 1, the members of its map or list on level 2, and so on.
# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-attributes
NESTING_LEVELS_MAX = 32

TYPES = ("S", "N", "B", "SS", "NS", "BS", "BOOL", "NULL", "M", "L")
SET_TYPES = ("SS", "NS", "BS")
SCALAR_KEY_TYPES = ("S", "N", "B")

_EMPTY = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
_SEVERAL = (
    "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
)
_TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)

Kind = TypeVar("Kind", str, bytes)


class AttributeValue(TypedDict, total=False):
    """One value: exactly one member is set; its name is the type."""

    S: str
    N: str
    B: bytes
    SS: list[str]
    NS: list[str]
    BS: list[bytes]
    BOOL: bool
    NULL: bool
    M: dict[str, AttributeValue]
    L: list[AttributeValue]


Item = Mapping[str, AttributeValue]


def type_of(value: AttributeValue) -> str:
    """The name of the value's type: S, N, B, SS, NS, BS, BOOL, NULL, M or L."""
    return next(iter(value))


def read_item(raw: Mapping[str, object]) -> dict[str, AttributeValue]:
    """Validate a whole item, and convert its numbers to their canonical form.

    Errors: as `read_value`; ValidationException for an attribute without a name.
    """
    if "" in raw:
        raise invalid_parameter("The name of an attribute must have at least one character")
    return {name: value if is_canonical(value) else read_value(value) for name, value in raw.items()}


def is_canonical(raw: object) -> TypeGuard[AttributeValue]:
    """Whether a value is valid as it is, and of a type for which this is quickly known, as most values are."""
    if type(raw) is not dict or len(raw) != 1:
        return False
    ((name, member),) = raw.items()
    if name == "S":
        return type(member) is str
    if name == "N":
        return type(member) is str and CANONICAL.fullmatch(member) is not None
    return name == "BOOL" and type(member) is bool


def read_value(raw: object, level: int = 1) -> AttributeValue:
    """Validate one attribute value from a request, and convert its numbers to their canonical form.

    Errors: ValidationException for no or several types, a bad number, an empty set, a repeated member of a
    set, a NULL that is not true, more than 32 levels.
    """
    if level > NESTING_LEVELS_MAX:
        raise invalid(_TOO_DEEP)
    members: dict[str, object] = raw if isinstance(raw, dict) else {}
    if len(members) == 1:
        if is_canonical(raw):
            return raw
        ((name, member),) = members.items()
        return _read_member(name, member, level)
    read = [_read_member(name, members[name], level) for name in TYPES if members.get(name) is not None]
    if not read:
        raise invalid(_EMPTY)
    if len(read) > 1:
        raise invalid(_SEVERAL)
    return read[0]


def check_nesting(item: Item) -> None:
    """Refuse an item with values beyond level 32, which an update can produce. Errors: ValidationException."""
    level = list(item.values())
    for _ in range(NESTING_LEVELS_MAX):
        level = [child for value in level if "M" in value or "L" in value for child in _children(value)]
        if not level:
            return
    raise invalid(_TOO_DEEP)


def compare(left: AttributeValue, right: AttributeValue) -> int | None:
    """Order two values: negative, zero or positive; None if DynamoDB has no order for this pair.

    Only two S, two N or two B have an order: numbers by value, strings by their UTF-8 bytes, binary as unsigned
    bytes.
    """
    if "N" in left and "N" in right:
        first, second = Decimal(left["N"]), Decimal(right["N"])
        return _sign(first > second, first < second)
    if "S" in left and "S" in right:
        a, b = left["S"], right["S"]
        return _sign(a > b, a < b)  # Code points have the same order as their UTF-8 bytes.
    if "B" in left and "B" in right:
        x, y = left["B"], right["B"]
        return _sign(x > y, x < y)
    return None


def equal(left: AttributeValue, right: AttributeValue) -> bool:
    """Whether two values are equal: same type, numbers by value, sets in any order, documents in depth."""
    if left == right:
        return True
    if "S" in left:
        return False
    match left, right:
        case {"N": str(a)}, {"N": str(b)}:
            return Decimal(a) == Decimal(b)
        case {"NS": list(first)}, {"NS": list(second)}:
            return {Decimal(n) for n in first} == {Decimal(n) for n in second}
        case ({"SS": list(some)}, {"SS": list(others)}):
            return set(some) == set(others)
        case ({"BS": list(chunks)}, {"BS": list(more)}):
            return set(chunks) == set(more)
        case {"L": list(a_list)}, {"L": list(b_list)}:
            return len(a_list) == len(b_list) and all(map(equal, a_list, b_list))
        case {"M": dict(a_map)}, {"M": dict(b_map)}:
            return a_map.keys() == b_map.keys() and all(equal(a_map[name], b_map[name]) for name in a_map)
        case _:
            return False


def members_of(value: AttributeValue) -> Sequence[AttributeValue]:
    """The members of a set or a list, each as a value of its own; nothing for other types."""
    match value:
        case {"SS": list(texts)}:
            return [{"S": text} for text in texts]
        case {"NS": list(numbers)}:
            return [{"N": number} for number in numbers]
        case {"BS": list(chunks)}:
            return [{"B": chunk} for chunk in chunks]
        case {"L": list(elements)}:
            return elements
        case _:
            return []


def utf8(text: str) -> bytes:
    """The bytes by which strings are ordered and measured; a lone surrogate, possible in JSON, keeps its place."""
    return text.encode("utf-8", "surrogatepass")


def utf8_length(text: str) -> int:
    """The length of `utf8`'s result."""
    return len(text) if text.isascii() else len(utf8(text))


def described(value: AttributeValue) -> str:
    """A scalar value as AWS's error messages show it: `{S:abc}`, binary in base64."""
    match value:
        case {"S": text} | {"N": text}:
            shown = text
        case {"B": data}:
            shown = base64.b64encode(data).decode("ascii")
        case _:
            shown = str(next(iter(value.values())))
    return f"{{{type_of(value)}:{shown}}}"


def _sign(greater: bool, less: bool) -> int:
    return int(greater) - int(less)


def _children(value: AttributeValue) -> Iterable[AttributeValue]:
    return value["M"].values() if "M" in value else value["L"]


def _read_member(name: str, raw: object, level: int) -> AttributeValue:
    match name, raw:
        case "S", str(text):
            return {"S": text}
        case "N", str(text):
            return {"N": canonical(text)}
        case "B", bytes(data):
            return {"B": data}
        case "BOOL", bool(truth):
            return {"BOOL": truth}
        case "NULL", bool(truth):
            return _read_null(truth)
        case "SS", list(members):
            return {"SS": _read_strings(_all_of(str, members))}
        case "NS", list(members):
            return {"NS": _read_numbers(_all_of(str, members))}
        case "BS", list(members):
            return {"BS": _read_binaries(_all_of(bytes, members))}
        case "L", list(members):
            return {"L": [read_value(member, level + 1) for member in members]}
        case "M", dict(members):
            return {"M": {str(key): read_value(member, level + 1) for key, member in members.items()}}
        case _:
            raise invalid(_EMPTY)


def _all_of(kind: type[Kind], members: list[object]) -> list[Kind]:
    found = [member for member in members if isinstance(member, kind)]
    if len(found) != len(members):
        raise invalid(_EMPTY)
    return found


def _read_null(truth: bool) -> AttributeValue:
    if not truth:
        raise invalid_parameter("Null attribute value types must have the value of true")
    return {"NULL": True}


def _read_strings(members: list[str]) -> list[str]:
    if not members:
        raise invalid_parameter("An string set  may not be empty")
    if len(set(members)) != len(members):
        raise invalid_parameter(f"Input collection [{', '.join(members)}] contains duplicates.")
    return members


def _read_numbers(members: list[str]) -> list[str]:
    if not members:
        raise invalid_parameter("An number set  may not be empty")
    numbers = [canonical(member) for member in members]
    if len(set(numbers)) != len(numbers):
        raise invalid("Input collection contains duplicates")
    return numbers


def _read_binaries(members: list[bytes]) -> list[bytes]:
    if not members:
        raise invalid_parameter("Binary sets should not be empty")
    if len(set(members)) != len(members):
        shown = ", ".join(base64.b64encode(member).decode("ascii") for member in members)
        raise invalid_parameter(f"Input collection [{shown}]of type BS contains duplicates.")
    return members
