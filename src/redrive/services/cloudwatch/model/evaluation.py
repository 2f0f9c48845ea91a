"""Evaluate metric math. Queries may refer to each other in any order, but not in a circle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.services.cloudwatch.model.functions import FILL, WORDS, call
from redrive.services.cloudwatch.model.math import (
    Call,
    Expression,
    Listed,
    Malformed,
    Name,
    Negated,
    Number,
    Operation,
    Text,
)
from redrive.services.cloudwatch.model.queries import MetricStat, Query, in_expression
from redrive.services.cloudwatch.model.time import Window
from redrive.services.cloudwatch.model.values import TimeSeries, Value, combine


class Allowance:
    """How many more values the expressions of a request may compute."""

    def __init__(self, values_max: int) -> None:
        self._values_max = values_max
        self._left = values_max

    def spend(self, values: int) -> None:
        """Count computed values; call this before a function that may compute many. Errors: Malformed."""
        self._left -= values
        if self._left < 0:
            raise Malformed(
                f"The expressions of the request compute more than {self._values_max} values. "
                "You may reduce them by increasing Period, or decreasing the time range."
            )


class Evaluation:
    """The values of a request's queries, each computed once. `fetched` has the series of the metric queries.

    `window` applies to series that expressions create from a number. `allowance` is the request's.
    """

    def __init__(
        self, queries: Sequence[Query], fetched: Mapping[str, TimeSeries], window: Window, allowance: Allowance
    ) -> None:
        self._queries = {query.id: query for query in queries}
        self._values: dict[str, Value] = dict(fetched)
        self._metrics = {query.id: fetched[query.id] for query in queries if isinstance(query.content, MetricStat)}
        self._window = window
        self._allowance = allowance
        self._under_way: set[str] = set()

    def series(self, query: Query) -> list[TimeSeries]:
        """Return the series of a query. Errors: ValidationException if its value is not a series."""
        try:
            value = self._named(query.id)
            match value:
                case TimeSeries():
                    return [value]
                case tuple():
                    return list(value)
                case _:
                    raise Malformed("The result of the expression must be a time series or an array of time series")
        except Malformed as error:
            raise in_expression(query.id, str(error)) from None

    def _named(self, name: str) -> Value:
        if name in self._values:
            return self._values[name]
        query = self._queries.get(name)
        if query is None or isinstance(query.content, MetricStat):
            raise Malformed(f"Undefined variable {name}")
        if name in self._under_way:
            raise Malformed(f"{name} depends on itself")
        self._under_way.add(name)
        value = self._values[name] = self._value(query.content)
        return value

    def _value(self, expression: Expression) -> Value:
        match expression:
            case Number(value):
                return value
            case Text(value):
                return value
            case Name(name):
                return name if name in WORDS else self._named(name)
            case Negated(operand):
                return self._counted(combine("*", -1.0, self._value(operand)))
            case Operation(operator, left, right):
                return self._counted(combine(operator, self._value(left), self._value(right)))
            case Listed(items):
                return self._array([self._value(item) for item in items])
            case Call("METRICS", arguments):
                return self._all_metrics([self._value(argument) for argument in arguments])
            case Call("TIME_SERIES", arguments):
                return self._constant([self._value(argument) for argument in arguments])
            case Call(function, arguments):
                values = [self._value(argument) for argument in arguments]
                if function == FILL and values:
                    self._allowance.spend(sum(len(series.window.periods) for series in _all_series(values[0])))
                return self._counted(call(function, values))

    def _counted(self, value: Value) -> Value:
        self._allowance.spend(sum(len(series.values) for series in _all_series(value)))
        return value

    @staticmethod
    def _array(items: Sequence[Value]) -> Value:
        series: list[TimeSeries] = []
        for item in items:
            match item:
                case TimeSeries():
                    series.append(item)
                case tuple():
                    series += item
                case _:
                    raise Malformed("An array holds time series")
        return tuple(series)

    def _all_metrics(self, arguments: Sequence[Value]) -> Value:
        """Return all metrics of the request, or those whose ids contain a text."""
        match arguments:
            case []:
                part = ""
            case [str() as part]:
                pass
            case _:
                raise Malformed("METRICS takes a text, or nothing")
        return tuple(series for query_id, series in self._metrics.items() if part in query_id)

    def _constant(self, arguments: Sequence[Value]) -> Value:
        match arguments:
            case [float() as number]:
                self._allowance.spend(len(self._window.periods))
                return TimeSeries(self._window, dict.fromkeys(self._window.periods, number))
            case _:
                raise Malformed("TIME_SERIES takes a number")


def _all_series(value: Value) -> Sequence[TimeSeries]:
    """Return the series in a value; numbers and texts contain none."""
    match value:
        case TimeSeries():
            return [value]
        case tuple():
            return value
        case _:
            return []
