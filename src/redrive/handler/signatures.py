"""The shapes of what users hand in: functions of their own signature, boto3 clients, database connections.

Only this module says `Any`: boto3 has no types, and a key is found in the arguments of any function whatever.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ParamSpec, Protocol, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")


class Function(Protocol):
    """A function of whatever parameters."""

    def __call__(self, *args: Any, **kwargs: Any) -> object: ...


class KeySource(Protocol):
    """Finds an execution's key; called with the arguments of the function, in the order of its signature."""

    def __call__(self, *args: Any, **kwargs: Any) -> str: ...


class PayloadSource(Protocol):
    """Picks what must stay the same under one key; called as a KeySource is."""

    def __call__(self, *args: Any, **kwargs: Any) -> object: ...


class Decorator(Protocol):
    """Makes of a function another that takes and answers the same."""

    def __call__(self, function: Callable[P, R], /) -> Callable[P, R]: ...


class SkippingDecorator(Protocol):
    """Makes of a function another that may answer None as well, because it did not run."""

    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> Callable[P, Coroutine[Any, Any, R | None]]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Callable[P, R | None]: ...


class Lookup(Protocol):
    """Asks a downstream whether an effect happened: takes what the effect takes, answers what it finds, or None."""

    def __call__(self, *args: Any, **kwargs: Any) -> object: ...


class Operation(Protocol):
    """An operation of a boto3 client."""

    def __call__(self, *args: Any, **kwargs: Any) -> Mapping[str, object]: ...


class DynamoDBClient(Protocol):
    """What the library uses of boto3's client for DynamoDB."""

    @property
    def get_item(self) -> Operation: ...
    @property
    def update_item(self) -> Operation: ...


class DynamoDBReadingClient(Protocol):
    """What a reader uses of boto3's client for DynamoDB."""

    @property
    def get_item(self) -> Operation: ...
    @property
    def scan(self) -> Operation: ...


class LambdaClient(Protocol):
    """What the library uses of boto3's client for Lambda."""

    @property
    def invoke(self) -> Operation: ...


class EventsClient(Protocol):
    """What the library uses of boto3's client for EventBridge."""

    @property
    def put_events(self) -> Operation: ...


class CloudWatchClient(Protocol):
    """What the library uses of boto3's client for CloudWatch."""

    @property
    def put_metric_data(self) -> Operation: ...


class PostgresCursor(Protocol):
    """What the library uses of psycopg's cursor."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Sequence[Any] | None: ...


class PostgresConnection(Protocol):
    """What the library uses of psycopg's connection."""

    @property
    def closed(self) -> bool: ...
    def execute(self, query: Any, params: Any = None) -> PostgresCursor: ...
    def transaction(self) -> AbstractContextManager[object]: ...
    def close(self) -> None: ...


class PostgresConnect(Protocol):
    """Makes a connection to PostgreSQL, in autocommit mode."""

    def __call__(self) -> PostgresConnection: ...
