"""The functions of metric math.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html#metric-math-syntax
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

from redrive.core.clock import SECOND_MS, Instant
from redrive.services.cloudwatch.model.math import Malformed
from redrive.services.cloudwatch.model.values import Array, TimeSeries, Value, kind

Function = Callable[[Sequence[Value]], Value]
_Reduce = Callable[[Sequence[float]], float]

FILL = "FILL"
"""The function that adds missing values."""
REPEAT, LINEAR = "REPEAT", "LINEAR"
WORDS = frozenset({REPEAT, LINEAR, "ASC", "DESC", "AVG", "MIN", "MAX", "SUM"})
"""Words that are valid as arguments without quotes."""


def call(function: str, arguments: Sequence[Value]) -> Value:
    """Call a function of metric math. Errors: Malformed (no such function, or wrong arguments)."""
    found = _FUNCTIONS.get(function)
    if found is None:
        raise Malformed(f"Unsupported function {function}")
    try:
        return found(arguments)
    except _Unfit:
        given = ", ".join(kind(argument) for argument in arguments)
        raise Malformed(f"{function} does not take ({given})") from None


class _Unfit(Exception):
    """An argument has a type that the function does not accept."""


def _each(function: Callable[[TimeSeries], TimeSeries]) -> Function:
    """Lift a function of one series to arrays, which it maps series by series."""

    def apply(arguments: Sequence[Value]) -> Value:
        match arguments:
            case [TimeSeries() as series]:
                return function(series)
            case [tuple() as array]:
                return tuple(function(series) for series in array)
            case _:
                raise _Unfit

    return apply


def _mapped(compute: Callable[[float], float | None]) -> Function:
    """Make a function of metric math from a function of one value; it accepts numbers, series and arrays."""
    apply_each = _each(lambda series: series.map(lambda _, value: compute(value)))

    def apply(arguments: Sequence[Value]) -> Value:
        match arguments:
            case [float() as number]:
                result = compute(number)
                if result is None:
                    raise _Unfit
                return float(result)
            case _:
                return apply_each(arguments)

    return apply


def _reduced(reduce: _Reduce) -> Function:
    """Make a function that reduces a series to a number, and an array to one series, instant by instant.

    A series without values gives 0, so that an expression can use the sum of an empty series.
    """

    def apply(arguments: Sequence[Value]) -> Value:
        match arguments:
            case [TimeSeries() as series]:
                return float(reduce(list(series.values.values()))) if series.values else 0.0
            case [tuple() as array] if array:
                return _by_instant(array, reduce)
            case [float() as number]:
                return number
            case _:
                raise _Unfit

    return apply


def _by_instant(array: Array, reduce: _Reduce) -> TimeSeries:
    rows: dict[Instant, list[float]] = {}
    for series in array:
        for at, value in series.values.items():
            rows.setdefault(at, []).append(value)
    return replace(array[0].having({at: float(reduce(row)) for at, row in rows.items()}), label="")


def _fill(arguments: Sequence[Value]) -> Value:
    """Fill the periods that have no value."""
    match arguments:
        case [tuple() as array, filler]:
            return tuple(_filled(series, filler) for series in array)
        case [TimeSeries() as series, filler]:
            return _filled(series, filler)
        case _:
            raise _Unfit


def _filled(series: TimeSeries, filler: Value) -> TimeSeries:
    missing = [at for at in series.window.periods if at not in series.values]
    match filler:
        case float():
            found: dict[Instant, float | None] = dict.fromkeys(missing, filler)
        case TimeSeries():
            found = {at: filler.values.get(at) for at in missing}
        case "REPEAT" | "LINEAR":
            instants = list(series.values)
            found = {at: _guess(series, instants, at, filler) for at in missing}
        case _:
            raise _Unfit
    return series.having({**series.values, **found})


def _guess(series: TimeSeries, instants: Sequence[Instant], at: Instant, how: str) -> float | None:
    """Return the previous value, or the value by linear interpolation between the neighbours."""
    index = bisect(instants, at)
    if index == 0:
        return None
    start = instants[index - 1]
    low = series.values[start]
    if how == REPEAT:
        return low
    if index == len(instants):
        return None
    end = instants[index]
    return low + (series.values[end] - low) * (at - start) / (end - start)


def _if(arguments: Sequence[Value]) -> Value:
    """Choose between two values by a condition; without the second, a false condition gives no value."""
    match arguments:
        case [float() as condition, yes, no]:
            return yes if condition else no
        case [TimeSeries() as condition, yes]:
            return condition.map(lambda at, value: _at(yes, at) if value else None)
        case [TimeSeries() as condition, yes, no]:
            return condition.map(lambda at, value: _at(yes if value else no, at))
        case [tuple() as array, *others]:
            chosen = [_if([condition, *others]) for condition in array]
            return tuple(
                replace(one, label=condition.label)
                for one, condition in zip(chosen, array, strict=True)
                if isinstance(one, TimeSeries)
            )
        case _:
            raise _Unfit


def _at(value: Value, at: Instant) -> float | None:
    match value:
        case float():
            return value
        case TimeSeries():
            return value.values.get(at)
        case _:
            raise _Unfit


def _steps(compute: Callable[[float, float], float]) -> Callable[[TimeSeries], TimeSeries]:
    """Make a function of each value and the value before it: `compute(difference, seconds)`."""

    def apply(series: TimeSeries) -> TimeSeries:
        pairs = pairwise(series.values.items())
        return series.having(
            {at: compute(value - old, (at - before) / SECOND_MS) for (before, old), (at, value) in pairs}
        )

    return apply


def _running_sum(series: TimeSeries) -> TimeSeries:
    total = 0.0
    sums: dict[Instant, float | None] = {}
    for at, value in series.values.items():
        total += value
        sums[at] = total
    return series.having(sums)


def _calendar(read: Callable[[datetime], float]) -> Function:
    """Make a function that returns a part of each value's time, in UTC."""
    return _each(lambda series: series.map(lambda at, _: float(read(datetime.fromtimestamp(at // 1000, UTC)))))


def _period(arguments: Sequence[Value]) -> Value:
    match arguments:
        case [TimeSeries(window=window)]:
            return float(window.period_s)
        case _:
            raise _Unfit


def _array(arguments: Sequence[Value]) -> Array:
    match arguments:
        case [tuple() as array, *_]:
            return array
        case _:
            raise _Unfit


def _end_of(index: int) -> Function:
    def apply(arguments: Sequence[Value]) -> Value:
        array = _array(arguments)
        if not array or len(arguments) != 1:
            raise _Unfit
        return array[index]

    return apply


def _remove_empty(arguments: Sequence[Value]) -> Value:
    return tuple(series for series in _array(arguments) if series.values)


def _slice(arguments: Sequence[Value]) -> Value:
    array = _array(arguments)
    match arguments[1:]:
        case [float() as start]:
            return array[_whole(start) :]
        case [float() as start, float() as end]:
            return array[_whole(start) : _whole(end)]
        case _:
            raise _Unfit


def _whole(number: float) -> int:
    if not math.isfinite(number):
        raise _Unfit
    return int(number)


def _sort(arguments: Sequence[Value]) -> Value:
    """Sort an array by the average, minimum, maximum or sum of each series; series without values come last."""
    array = _array(arguments)
    match arguments[1:]:
        case [("AVG" | "MIN" | "MAX" | "SUM") as by, ("ASC" | "DESC") as order, *rest]:
            sign = 1 if order == "ASC" else -1
            reduce = _REDUCTIONS[by]
        case _:
            raise _Unfit
    ordered = sorted(
        array, key=lambda one: (not one.values, sign * reduce(list(one.values.values())) if one.values else 0.0)
    )
    match rest:
        case []:
            return tuple(ordered)
        case [float() as count]:
            return tuple(ordered[: _whole(count)])
        case _:
            raise _Unfit


_REDUCTIONS: Mapping[str, _Reduce] = {
    "AVG": lambda values: sum(values) / len(values),
    "DATAPOINT_COUNT": len,
    "MAX": max,
    "MIN": min,
    "STDDEV": statistics.pstdev,
    "SUM": sum,
}
_FUNCTIONS: Mapping[str, Function] = {
    **{name: _reduced(reduce) for name, reduce in _REDUCTIONS.items()},
    "ABS": _mapped(abs),
    "CEIL": _mapped(lambda value: math.ceil(value) if math.isfinite(value) else None),
    "DATE": _calendar(lambda moment: moment.day),
    "DAY": _calendar(lambda moment: moment.isoweekday()),
    "DIFF": _each(_steps(lambda difference, _: difference)),
    "DIFF_TIME": _each(_steps(lambda _, seconds: seconds)),
    "EPOCH": _calendar(lambda moment: moment.timestamp()),
    "FILL": _fill,
    "FIRST": _end_of(0),
    "FLOOR": _mapped(lambda value: math.floor(value) if math.isfinite(value) else None),
    "HOUR": _calendar(lambda moment: moment.hour),
    "IF": _if,
    "LAST": _end_of(-1),
    "LOG": _mapped(lambda value: math.log(value) if value > 0 else None),
    "LOG10": _mapped(lambda value: math.log10(value) if value > 0 else None),
    "MINUTE": _calendar(lambda moment: moment.minute),
    "MONTH": _calendar(lambda moment: moment.month),
    "PERIOD": _period,
    "RATE": _each(_steps(lambda difference, seconds: difference / seconds)),
    "REMOVE_EMPTY": _remove_empty,
    "RUNNING_SUM": _each(_running_sum),
    "SLICE": _slice,
    "SORT": _sort,
    "YEAR": _calendar(lambda moment: moment.year),
}
