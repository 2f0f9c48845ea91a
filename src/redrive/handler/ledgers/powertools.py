"""Reads the idempotency records of AWS Lambda Powertools, to inspect a table in use.

It only reads: a function that uses Powertools keeps using it.

Source: https://docs.aws.amazon.com/powertools/python/latest/utilities/idempotency/
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from redrive.handler.clock import Clock, Instant, now_ms
from redrive.handler.ledgers.dynamodb_items import from_item, to_item
from redrive.handler.signatures import DynamoDBReadingClient

PAGES_MAX = 10_000


class PowertoolsStatus(enum.StrEnum):
    """The status of a record. EXPIRED is never stored: it follows from `expiration`."""

    INPROGRESS = "INPROGRESS"
    COMPLETED = "COMPLETED"
    EXPIRED = "EXPIRED"


@dataclass(frozen=True, slots=True)
class PowertoolsRecord:
    """One record. `data` is the function's recorded response, as JSON text; instants are in milliseconds.

    `is_stuck`: a run is in progress, but its own expiry has passed. It died, and the next delivery runs again.
    """

    id: str
    status: PowertoolsStatus
    expires_at: Instant | None
    in_progress_until: Instant | None
    data: str | None
    validation: str | None
    is_stuck: bool

    @property
    def result(self) -> object:
        """The recorded response; None if there is none."""
        return None if self.data is None else json.loads(self.data)


@dataclass(frozen=True, slots=True)
class PowertoolsAttributes:
    """The names of the attributes; the defaults are those of Powertools. `sort_key` is empty if it is not used."""

    key: str = "id"
    sort_key: str | None = None
    status: str = "status"
    expiration: str = "expiration"
    in_progress_expiration: str = "in_progress_expiration"
    data: str = "data"
    validation: str = "validation"


class PowertoolsReader:
    """Reads a Powertools table. A record's id is `<function>#<hash of the payload's key>`, or that in the sort key."""

    def __init__(
        self,
        table_name: str,
        *,
        client: DynamoDBReadingClient | None = None,
        attributes: PowertoolsAttributes | None = None,
        static_key: str | None = None,
        clock: Clock = now_ms,
    ) -> None:
        """`static_key` is the partition key of tables with a sort key: `idempotency#<function>`."""
        self._table_name = table_name
        self._given_client = client
        self._attributes = attributes or PowertoolsAttributes()
        self._static_key = static_key
        self._clock = clock

    def read(self, id: str) -> PowertoolsRecord | None:
        """The record with this id. Errors: ValueError if the table has a sort key and no static key was given."""
        names = self._attributes
        key: dict[str, object] = {names.key: id}
        if names.sort_key is not None:
            if self._static_key is None:
                raise ValueError("a table with a sort key needs static_key: idempotency#<function name>")
            key = {names.key: self._static_key, names.sort_key: id}
        answer = self._client.get_item(TableName=self._table_name, Key=to_item(key), ConsistentRead=True)
        item = cast("Mapping[str, object] | None", answer.get("Item"))
        return None if item is None else self._record(item)

    def scan(self) -> Iterator[PowertoolsRecord]:
        """All records, page by page, in no order."""
        start: dict[str, object] = {}
        for _ in range(PAGES_MAX):
            page = self._client.scan(TableName=self._table_name, **start)
            for item in cast("list[Mapping[str, object]]", page.get("Items", [])):
                yield self._record(item)
            if "LastEvaluatedKey" not in page:
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
        raise RuntimeError(f"{self._table_name} has more than {PAGES_MAX} pages")

    def _record(self, item: Mapping[str, object]) -> PowertoolsRecord:
        values, names, now = from_item(item), self._attributes, self._clock()
        expires_s = cast("int | None", values.get(names.expiration))
        in_progress_until = cast("int | None", values.get(names.in_progress_expiration))
        written = PowertoolsStatus(str(values[names.status]))
        has_expired = expires_s is not None and expires_s * 1000 < now
        in_progress = written is PowertoolsStatus.INPROGRESS and not has_expired
        return PowertoolsRecord(
            id=str(values[names.sort_key or names.key]),
            status=PowertoolsStatus.EXPIRED if has_expired else written,
            expires_at=None if expires_s is None else int(expires_s * 1000),
            in_progress_until=in_progress_until,
            data=cast("str | None", values.get(names.data)),
            validation=cast("str | None", values.get(names.validation)),
            is_stuck=in_progress and in_progress_until is not None and in_progress_until < now,
        )

    @property
    def _client(self) -> DynamoDBReadingClient:
        if self._given_client is None:
            import boto3

            self._given_client = cast("DynamoDBReadingClient", boto3.client("dynamodb"))
        return self._given_client
