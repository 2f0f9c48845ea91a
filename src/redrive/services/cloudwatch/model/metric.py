"""Metrics: their identity, and CloudWatch's error messages. No transaction, no clock."""

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
    """The identity of a metric; `dimensions` are sorted by name."""

    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, namespace: str, name: str, dimensions: Sequence[Mapping[str, str]] | None) -> Metric:
        """Return the metric that a request names."""
        pairs = {dimension["Name"]: dimension["Value"] for dimension in dimensions or ()}
        return cls(namespace, name, tuple(sorted(pairs.items())))

    @classmethod
    def of_series(cls, series: Series) -> Metric:
        """Return the metric of a stored series."""
        return cls(series.watched.namespace, series.name, tuple(load_json(series.watched.dimensions).items()))

    def watched(self, scope: Scope) -> Watched:
        """Return the store's key for the thing that the metric describes."""
        return Watched(str(scope), self.namespace, dimensions_text(dict(self.dimensions)))

    def series(self, scope: Scope, unit: str) -> Series:
        """Return the store's key for the metric in one unit."""
        return Series(self.watched(scope), self.name, unit)

    @property
    def document(self) -> Document:
        """The metric in AWS's form."""
        shown = [{"Name": name, "Value": value} for name, value in self.dimensions]
        return {"Namespace": self.namespace, "MetricName": self.name, "Dimensions": shown}


class Problems:
    """The problems of a request. CloudWatch reports all problems of one kind together, one sentence per line."""

    def __init__(self) -> None:
        self._found: list[tuple[str, str]] = []

    def add(self, code: str, text: str) -> None:
        """Record a problem."""
        self._found.append((code, text))

    def refuse(self) -> None:
        """Raise an error if there are problems. Errors: ServiceError with the code of the first problem."""
        if self._found:
            code = self._found[0][0]
            raise ServiceError(code, "\n".join(text for found, text in self._found if found == code))


def validation_error(message: str) -> ServiceError:
    """Build the ValidationError of GetMetricData."""
    return ServiceError(VALIDATION, message)


def invalid_value(value: object, parameter: str) -> str:
    """Return the sentence about an invalid value of a parameter."""
    # AWS spells the numbers that are none as Java does.
    shown = _NO_NUMBERS.get(repr(value), value)
    return f"The value {shown} for parameter {parameter} is invalid."


_NO_NUMBERS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def too_many(collection: str, size_max: int) -> str:
    """Return the sentence about a list with too many items."""
    return f"The collection {collection} must not have a size greater than {size_max}."
