"""Metrics: how one is named, and how CloudWatch words what is wrong. No transaction, no clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redrive.core.documents import Document, load_json
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.store.tables.metrics import Series, Watched, dimensions_text

INVALID_VALUE = "InvalidParameterValueException"
INVALID_COMBINATION = "InvalidParameterCombinationException"
MISSING = "MissingRequiredParameterException"
VALIDATION = "ValidationException"
NO_UNIT = "None"


@dataclass(frozen=True, slots=True)
class Metric:
    """What identifies a metric; `dimensions` are in order of name."""

    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, namespace: str, name: str, dimensions: Sequence[Mapping[str, str]] | None) -> Metric:
        """A metric as requests name it."""
        pairs = {dimension["Name"]: dimension["Value"] for dimension in dimensions or ()}
        return cls(namespace, name, tuple(sorted(pairs.items())))

    @classmethod
    def of_series(cls, series: Series) -> Metric:
        """The metric that a stored series is of."""
        return cls(series.watched.namespace, series.name, tuple(load_json(series.watched.dimensions).items()))

    def watched(self, scope: Scope) -> Watched:
        """The thing that the metric is about, as the store knows it."""
        return Watched(str(scope), self.namespace, dimensions_text(dict(self.dimensions)))

    def series(self, scope: Scope, unit: str) -> Series:
        """The metric in one unit, as the store knows it."""
        return Series(self.watched(scope), self.name, unit)

    @property
    def document(self) -> Document:
        """The metric as answers show it."""
        shown = [{"Name": name, "Value": value} for name, value in self.dimensions]
        return {"Namespace": self.namespace, "MetricName": self.name, "Dimensions": shown}


class Problems:
    """What is wrong with a request: CloudWatch tells all of one kind at once, one sentence to a line."""

    def __init__(self) -> None:
        self._found: list[tuple[str, str]] = []

    def add(self, code: str, text: str) -> None:
        """Note a problem."""
        self._found.append((code, text))

    def refuse(self) -> None:
        """Errors: ServiceError with the code of the first problem, if there is any."""
        if self._found:
            code = self._found[0][0]
            raise ServiceError(code, "\n".join(text for found, text in self._found if found == code))


def validation_error(message: str) -> ServiceError:
    """ValidationError, as GetMetricData says it."""
    return ServiceError(VALIDATION, message)


def invalid_value(value: object, parameter: str) -> str:
    """The sentence about a value that a parameter may not have."""
    # AWS spells the numbers that are none as Java does.
    shown = _NO_NUMBERS.get(repr(value), value)
    return f"The value {shown} for parameter {parameter} is invalid."


_NO_NUMBERS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def too_many(collection: str, size_max: int) -> str:
    """The sentence about a list that is too long."""
    return f"The collection {collection} must not have a size greater than {size_max}."
