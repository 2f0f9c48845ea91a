"""The values of metric math: numbers (S), time series (TS), and arrays of time series (TS[])."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from redrive.core.clock import Instant
from redrive.services.cloudwatch.model.math import Malformed
from redrive.services.cloudwatch.model.time import Window


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """Values by the start of their periods, in order. `label` names the series."""

    window: Window
    values: Mapping[Instant, float]
    label: str = ""

    def map(self, function: Callable[[Instant, float], float | None]) -> TimeSeries:
        """Apply a function to each value; results that are None or not finite are left out."""
        return self.having({at: function(at, value) for at, value in self.values.items()})

    def having(self, values: Mapping[Instant, float | None]) -> TimeSeries:
        """Return the series with these values; those that are None are left out."""
        kept = {at: value for at, value in sorted(values.items()) if value is not None and math.isfinite(value)}
        return replace(self, values=kept)


Array = tuple[TimeSeries, ...]
Value = float | TimeSeries | Array | str

_Binary = Callable[[float, float], float | None]


def _divide(left: float, right: float) -> float | None:
    return left / right if right else None


def _power(left: float, right: float) -> float | None:
    try:
        result = left**right
    except (OverflowError, ZeroDivisionError):
        return None
    return None if isinstance(result, complex) else result


OPERATORS: Mapping[str, _Binary] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "^": _power,
    "==": lambda left, right: float(left == right),
    "!=": lambda left, right: float(left != right),
    "<": lambda left, right: float(left < right),
    ">": lambda left, right: float(left > right),
    "<=": lambda left, right: float(left <= right),
    ">=": lambda left, right: float(left >= right),
    "&&": lambda left, right: float(bool(left) and bool(right)),
    "||": lambda left, right: float(bool(left) or bool(right)),
}


def combine(sign: str, left: Value, right: Value) -> Value:
    """Apply an operator. Two series combine at the instants where both have a value. Errors: Malformed."""
    compute = OPERATORS[sign]
    match left, right:
        case float(), float():
            result = compute(left, right)
            if result is None or not math.isfinite(result):
                raise Malformed(f"{left:g} {sign} {right:g} is no number")
            return result
        case TimeSeries(), float():
            return left.map(lambda _, value: compute(value, right))
        case float(), TimeSeries():
            return right.map(lambda _, value: compute(left, value))
        case TimeSeries(), TimeSeries():
            both = left.values.keys() & right.values.keys()
            return left.having({at: compute(left.values[at], right.values[at]) for at in both})
        case tuple(), float() | TimeSeries():
            return tuple(replace(_series(combine(sign, one, right)), label=one.label) for one in left)
        case float() | TimeSeries(), tuple():
            return tuple(replace(_series(combine(sign, left, one)), label=one.label) for one in right)
        case _:
            raise Malformed(f"Unsupported operand type(s) for {sign}: '{kind(left)}' and '{kind(right)}'")


def kind(value: Value) -> str:
    """Return the name of a value's type for messages."""
    match value:
        case float():
            return "Scalar"
        case TimeSeries():
            return "TimeSeries"
        case str():
            return "String"
        case _:
            return "[TimeSeries]"


def _series(value: Value) -> TimeSeries:
    assert isinstance(value, TimeSeries)
    return value
