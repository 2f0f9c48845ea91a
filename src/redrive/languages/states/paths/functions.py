"""The functions at the end of a path: `$.orders.length()`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from redrive.languages.states.paths.path import NothingFound

Function = Callable[[object, Sequence[object]], object]


def _length(value: object, _: Sequence[object]) -> object:
    if isinstance(value, (list, dict, str)):
        return len(value)
    raise NothingFound("length() takes an array, an object or a text")


def _keys(value: object, _: Sequence[object]) -> object:
    if isinstance(value, dict):
        return list(value)
    raise NothingFound("keys() takes an object")


def _numbers(value: object, arguments: Sequence[object]) -> list[float]:
    values = [*(value if isinstance(value, list) else ()), *arguments]
    numbers = [number for number in values if isinstance(number, (int, float)) and not isinstance(number, bool)]
    if not numbers:
        raise NothingFound("Aggregation function attempted to calculate value using empty array")
    return numbers


def _average(value: object, arguments: Sequence[object]) -> object:
    numbers = _numbers(value, arguments)
    return float(sum(numbers) / len(numbers))


def _deviation(value: object, arguments: Sequence[object]) -> object:
    numbers = _numbers(value, arguments)
    mean = sum(numbers) / len(numbers)
    return math.sqrt(max(0.0, sum(number * number for number in numbers) / len(numbers) - mean * mean))


def _index(value: object, arguments: Sequence[object]) -> object:
    at = arguments[0] if arguments else None
    if not isinstance(value, list) or not isinstance(at, int) or not -len(value) <= at < len(value):
        raise NothingFound("index() takes an array and the position of one of its elements")
    return value[at]


def _concat(value: object, arguments: Sequence[object]) -> object:
    values = [*(value if isinstance(value, list) else ()), *arguments]
    return "".join(text for text in values if isinstance(text, str))


def _append(value: object, arguments: Sequence[object]) -> object:
    if isinstance(value, list):
        return [*value, *arguments]
    raise NothingFound("append() takes an array")


FUNCTIONS: Final[dict[str, Function]] = {
    "append": _append,
    "avg": _average,
    "concat": _concat,
    "first": lambda value, _: _index(value, (0,)),
    "index": _index,
    "keys": _keys,
    "last": lambda value, _: _index(value, (-1,)),
    "length": _length,
    "max": lambda value, arguments: float(max(_numbers(value, arguments))),
    "min": lambda value, arguments: float(min(_numbers(value, arguments))),
    "size": _length,
    "stddev": _deviation,
    "sum": lambda value, arguments: float(sum(_numbers(value, arguments))),
}
