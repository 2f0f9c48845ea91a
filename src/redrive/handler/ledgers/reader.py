"""Reads from a ledger's table which executions are in trouble, and measures them. It never writes to the table.

A function on a schedule tells CloudWatch each minute what no metric of AWS says:

    reader = LedgerReader(os.environ["EXECUTIONS_TABLE"])
    handler = ledger_metrics(reader)      # StuckExecutions and FailingExecutions, in the namespace Executions

The table needs a global secondary index with `status` as partition key and `updated_at` (a number) as sort key, which
holds `lease_ends_at` and `attempts` as well. Only what runs and what failed lately is read, however large the table is.
Requests cost as much as the items that they read, so that an hour without failures costs almost nothing.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from redrive.handler.clock import Clock, Instant, now_ms
from redrive.handler.ledger import Status
from redrive.handler.ledgers.dynamodb_items import Item, from_item, to_item
from redrive.handler.metrics import Metrics

if TYPE_CHECKING:
    from redrive.handler.signatures import DynamoDBQueryingClient

INDEX_NAME = "by-status"
FAILED_WITHIN_S = 900
ATTEMPTS_MIN = 2
PAGES_MAX = 10_000


class ExecutionState(NamedTuple):
    """What the index holds of an execution. `attempts` counts all runs; instants are in milliseconds.

    `lease_ends_at` is None if another tool has written the record.
    """

    key: str
    status: Status
    attempts: int
    updated_at: Instant
    lease_ends_at: Instant | None


class LedgerReader:
    """Finds executions in the table of a DynamoDBLedger, by the index. `client` is a boto3 client.

    The function's role needs `dynamodb:Query` on the index: `<table ARN>/index/<index name>`.
    """

    def __init__(
        self,
        table_name: str,
        *,
        index_name: str = INDEX_NAME,
        client: DynamoDBQueryingClient | None = None,
        clock: Clock = now_ms,
    ) -> None:
        self.table_name = table_name
        self._index_name = index_name
        self._given_client = client
        self._clock = clock

    def stuck(self) -> Iterator[ExecutionState]:
        """Executions that are RUNNING although their lease has ended: their run died, or takes too long."""
        now = self._clock()
        for state in self._having(Status.RUNNING, 0):
            if state.lease_ends_at is not None and state.lease_ends_at <= now:
                yield state

    def failing(
        self, *, attempts_min: int = ATTEMPTS_MIN, within_s: float = FAILED_WITHIN_S
    ) -> Iterator[ExecutionState]:
        """Executions that are FAILED after so many runs or more, and failed last within this time.

        Without the time an execution that nobody runs again would count until its record expires, and hide the next.
        """
        for state in self._having(Status.FAILED, self._clock() - round(within_s * 1000)):
            if state.attempts >= attempts_min:
                yield state

    def _having(self, status: Status, since: Instant) -> Iterator[ExecutionState]:
        """The executions in a status that have changed since an instant, oldest first."""
        request = {
            "TableName": self.table_name,
            "IndexName": self._index_name,
            "KeyConditionExpression": "#status = :status AND updated_at >= :since",
            "ExpressionAttributeNames": {"#status": "status"},
            "ExpressionAttributeValues": to_item({":status": str(status), ":since": since}),
        }
        start: dict[str, object] = {}
        for _ in range(PAGES_MAX):
            page = self._client.query(**request, **start)
            for item in cast("list[Item]", page.get("Items", [])):
                yield _state_of(item)
            if "LastEvaluatedKey" not in page:
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
        raise RuntimeError(f"{self.table_name} has more than {PAGES_MAX} pages of executions that are {status}")

    @property
    def _client(self) -> DynamoDBQueryingClient:
        if self._given_client is None:
            import boto3

            self._given_client = cast("DynamoDBQueryingClient", boto3.client("dynamodb"))
        return self._given_client


def ledger_metrics(
    reader: LedgerReader,
    *,
    namespace: str = "Executions",
    attempts_min: int = ATTEMPTS_MIN,
    failed_within_s: float = FAILED_WITHIN_S,
) -> Callable[[object, object], dict[str, list[str]]]:
    """A Lambda handler, for a schedule of each minute, that measures a ledger.

    `StuckExecutions` and `FailingExecutions` have the dimension `Table`, and are written to the log in the Embedded
    Metric Format: a zero, too, so that a minute without a value says that the function itself did not run. The handler
    returns the keys of the executions that it counted.
    """

    def handler(_event: object, _context: object) -> dict[str, list[str]]:
        found = {
            "StuckExecutions": [state.key for state in reader.stuck()],
            "FailingExecutions": [
                state.key for state in reader.failing(attempts_min=attempts_min, within_s=failed_within_s)
            ],
        }
        metrics = Metrics(namespace, {"Table": reader.table_name})
        for name, keys in found.items():
            metrics.add(name, len(keys))
        metrics.write()
        return found

    return handler


def _state_of(item: Item) -> ExecutionState:
    values = cast("Mapping[str, int | str | None]", from_item(item))
    lease_ends_at = values.get("lease_ends_at")
    return ExecutionState(
        key=str(values["execution_id"]),
        status=Status(str(values["status"])),
        attempts=int(values.get("attempts") or 0),
        updated_at=int(values["updated_at"] or 0),
        lease_ends_at=None if lease_ends_at is None else int(lease_ends_at),
    )
