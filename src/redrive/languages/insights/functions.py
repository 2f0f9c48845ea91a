"""The functions of expressions, beside those that need the row: name → how many arguments it takes, and what it does.

A function that gets a value it cannot work with gives none. Names are in lower case here; in queries case is free.
Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax-operations-functions.html
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from redrive.languages.insights.json_text import read_json, written_json
from redrive.languages.insights.values import Number, Value, number, order, text

MANY = 1_000
Apply = Callable[..., Value]
"""A function of values."""

TEXT_MAX = 1_048_576
"""The longest text that a function makes."""


class Function(NamedTuple):
    """How many arguments a function takes, at least and at most, and what it gives."""

    least: int
    most: int
    apply: Apply


def _numeric(apply: Callable[..., Number]) -> Apply:
    """A function of numbers; None for what is none, and where mathematics has no answer."""

    def applied(*values: Value) -> Value:
        numbers = [number(value) for value in values]
        if None in numbers:
            return None
        try:
            found = apply(*numbers)
        except (ValueError, OverflowError, ZeroDivisionError):
            return None
        return found if math.isfinite(found) else None

    return applied


def _of_texts(apply: Apply) -> Apply:
    """A function of texts; None if one is missing."""

    def applied(*values: Value) -> Value:
        return None if None in values else apply(*map(text, values))

    return applied


def _concat(*values: Value) -> Value:
    return "".join(map(text, values))[:TEXT_MAX]


def _substr(value: Value, start: Value, length: Value = MANY * MANY) -> Value:
    begin, count = number(start), number(length)
    if value is None or begin is None or count is None or begin < 0 or count < 0:
        return None
    return text(value)[int(begin) : int(begin) + int(count)]


def _replace(value: str, old: str, new: str) -> Value:
    if not old:
        return value
    size = len(value) + value.count(old) * (len(new) - len(old))
    return value.replace(old, new) if size <= TEXT_MAX else None


def _json_parse(value: str) -> Value:
    try:
        found = read_json(value)
    except ValueError:
        return None
    return found if isinstance(found, dict | list) else None


def _json_stringify(value: Value) -> Value:
    return None if value is None else written_json(value)


@lru_cache(maxsize=1024)
def _address(value: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(value)
    except ValueError:
        return None


@lru_cache(maxsize=1024)
def _network(value: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(value, strict=False)
    except ValueError:
        return None


def _is_address(*versions: int) -> Callable[[Value], Value]:
    def is_address(value: Value) -> Value:
        found = None if value is None else _address(text(value))
        return int(found is not None and found.version in versions)

    return is_address


def _is_in(*versions: int) -> Callable[[Value, Value], Value]:
    def is_in(value: Value, subnet: Value) -> Value:
        if value is None or subnet is None:
            return 0
        address, network = _address(text(value)), _network(text(subnet))
        if address is None or network is None or address.version not in versions:
            return 0
        return int(address.version == network.version and address in network)

    return is_in


def _first(*values: Value) -> Value:
    return next((value for value in values if value is not None), None)


def _greatest(*values: Value) -> Value:
    return max((value for value in values if value is not None), key=order, default=None)


def _least(*values: Value) -> Value:
    return min((value for value in values if value is not None), key=order, default=None)


FUNCTIONS: Mapping[str, Function] = {
    "abs": Function(1, 1, _numeric(abs)),
    "ceil": Function(1, 1, _numeric(math.ceil)),
    "floor": Function(1, 1, _numeric(math.floor)),
    "log": Function(1, 1, _numeric(math.log)),
    "sqrt": Function(1, 1, _numeric(math.sqrt)),
    "greatest": Function(1, MANY, _greatest),
    "least": Function(1, MANY, _least),
    "ispresent": Function(1, 1, lambda value: int(value is not None)),
    "coalesce": Function(1, MANY, _first),
    "isempty": Function(1, 1, lambda value: int(value is None or text(value) == "")),
    "isblank": Function(1, 1, lambda value: int(value is None or not text(value).strip())),
    "concat": Function(1, MANY, _concat),
    "ltrim": Function(1, 2, _of_texts(lambda value, characters=None: value.lstrip(characters))),
    "rtrim": Function(1, 2, _of_texts(lambda value, characters=None: value.rstrip(characters))),
    "trim": Function(1, 2, _of_texts(lambda value, characters=None: value.strip(characters))),
    "strlen": Function(1, 1, _of_texts(len)),
    "toupper": Function(1, 1, _of_texts(str.upper)),
    "tolower": Function(1, 1, _of_texts(str.lower)),
    "substr": Function(2, 3, _substr),
    "replace": Function(3, 3, _of_texts(_replace)),
    "strcontains": Function(2, 2, _of_texts(lambda value, part: int(part in value))),
    "tomillis": Function(1, 1, number),
    "frommillis": Function(1, 1, number),
    "jsonparse": Function(1, 1, _of_texts(_json_parse)),
    "jsonstringify": Function(1, 1, _json_stringify),
    "isvalidip": Function(1, 1, _is_address(4, 6)),
    "isvalidipv4": Function(1, 1, _is_address(4)),
    "isvalidipv6": Function(1, 1, _is_address(6)),
    "isipinsubnet": Function(2, 2, _is_in(4, 6)),
    "isipv4insubnet": Function(2, 2, _is_in(4)),
    "isipv6insubnet": Function(2, 2, _is_in(6)),
    "unmask": Function(1, 1, lambda value: value),  # Nothing is masked here.
}
