"""Types of what users pass in: functions of any signature, boto3 clients, database connections.

Only this module uses `Any`: boto3 has no types, and a key source takes the arguments of any function.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ParamSpec, Protocol, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")


class Function(Protocol):
    """A function of any parameters."""

    def __call__(self, *args: Any, **kwargs: Any) -> object: ...


class KeySource(Protocol):
    """Finds an execution's key; called with the arguments of the function, in the order of its signature."""

    def __call__(self, *args: Any, **kwargs: Any) -> str: ...


class PayloadSource(Protocol):
    """Selects what must stay the same under one key; called like a KeySource."""

    def __call__(self, *args: Any, **kwargs: Any) -> object: ...


class Decorator(Protocol):
    """Returns a function with the same parameters and result."""

    def __call__(self, function: Callable[P, R], /) -> Callable[P, R]: ...


class SkippingDecorator(Protocol):
    """Returns a function with the same parameters that may also return None, if it did not run."""

    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> Callable[P, Coroutine[Any, Any, R | None]]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Callable[P, R | None]: ...


class Lookup(Protocol):
    """Asks a downstream whether an effect happened: takes the effect's arguments, returns its result, or None."""

    def __call__(self, *args: Any, **kwargs: Any) -> object: ...


class Operation(Protocol):
    """An operation of a boto3 client."""

    def __call__(self, *args: Any, **kwargs: Any) -> Mapping[str, object]: ...


class DynamoDBClient(Protocol):
    """The part of boto3's client for DynamoDB that the library uses."""

    @property
    def get_item(self) -> Operation: ...
    @property
    def update_item(self) -> Operation: ...


class DynamoDBReadingClient(Protocol):
    """The part of boto3's client for DynamoDB that a reader uses."""

    @property
    def get_item(self) -> Operation: ...
    @property
    def scan(self) -> Operation: ...


class DynamoDBQueryingClient(Protocol):
    """The part of boto3's client for DynamoDB that a reader of an index uses."""

    @property
    def query(self) -> Operation: ...


class LambdaClient(Protocol):
    """The part of boto3's client for Lambda that the library uses."""

    @property
    def invoke(self) -> Operation: ...


class EventsClient(Protocol):
    """The part of boto3's client for EventBridge that the library uses."""

    @property
    def put_events(self) -> Operation: ...


class CloudWatchClient(Protocol):
    """The part of boto3's client for CloudWatch that the library uses."""

    @property
    def put_metric_data(self) -> Operation: ...


class PostgresCursor(Protocol):
    """The part of psycopg's cursor that the library uses."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Sequence[Any] | None: ...


class PostgresConnection(Protocol):
    """The part of psycopg's connection that the library uses."""

    @property
    def closed(self) -> bool: ...
    def execute(self, query: Any, params: Any = None) -> PostgresCursor: ...
    def transaction(self) -> AbstractContextManager[object]: ...
    def close(self) -> None: ...


class PostgresConnect(Protocol):
    """Opens a connection to PostgreSQL, in autocommit mode."""

    def __call__(self) -> PostgresConnection: ...
