"""What metric math computes with: numbers (S), time series (TS), and arrays of these (TS[])."""

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
    """Values by the first instants of their periods, in order. `label` says what it shows."""

    window: Window
    values: Mapping[Instant, float]
    label: str = ""

    def map(self, function: Callable[[Instant, float], float | None]) -> TimeSeries:
        """The series with other values; those that are None, or no finite numbers, are left out."""
        return self.having({at: function(at, value) for at, value in self.values.items()})

    def having(self, values: Mapping[Instant, float | None]) -> TimeSeries:
        """A series like this one with these values, less those that are none."""
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
    """Apply an operator. Of two series, the instants count at which both have a value. Errors: Malformed."""
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
    """A value's type, as messages name it."""
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
