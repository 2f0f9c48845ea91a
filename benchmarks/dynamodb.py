"""DynamoDB from outside: writes with a condition, reads, transactions and batches, in a small table and in a large one.

Each request names another item, as those of a program do: a server that caches one item gains nothing.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from benchmarks.dialects import request_of
from benchmarks.load import Load, run
from benchmarks.processes import ServerProcess
from benchmarks.report import Row
from benchmarks.sqs import Once

PEERS_WITH_TABLES = ("dynalite", "ministack")
CONNECTIONS = 64
FILLING_CONNECTIONS = 16
BATCH = 25
LINES = 10
"""How many items each hash key has; a query returns all of them."""
ITEMS = 10_000
LARGE_ITEMS = 1_000_000
FILL_S_MAX = 120

_NUMBER = "7" * 12
"""In place of the number of an order, in a request that is made once. All numbers have as many digits."""
_STRIDE = 7_919
"""Prime: so known orders are asked for in an order that is not that of their creation."""

_CONDITION = {
    "ConditionExpression": "attribute_not_exists(#id) OR #expiry < :now",
    "ExpressionAttributeNames": {"#id": "id", "#expiry": "expiration"},
    "ExpressionAttributeValues": {":now": {"N": "1763500000"}},
}
"""The condition by which ledgers of idempotent functions claim a key."""

Numbers = Iterator[int]


class Numbered:
    """One request again and again, each time with other numbers."""

    def __init__(self, request: bytes, numbers: Numbers) -> None:
        self._pieces = request.split(_NUMBER.encode())
        self._numbers = numbers

    def next(self, answer: bytes | None) -> bytes | None:
        """See Script: None when there are no more numbers."""
        first, *others = self._pieces
        made = [first]
        for piece in others:
            number = next(self._numbers, None)
            if number is None:
                return None
            made += (b"%012d" % number, piece)
        return b"".join(made)


class Measured:
    """One server under load."""

    def __init__(self, server: ServerProcess, *, runs: int) -> None:
        self._server = server
        self._host = f"127.0.0.1:{server.port}"
        self._runs = runs
        self._new = itertools.count(LARGE_ITEMS)

    def rows(self, seconds: float, *, backlog: bool) -> Iterator[Row]:
        """All loads on a small table, and writes to one with an index; with `backlog`, also all on 1,000,000 items."""
        yield from self._on("bench", ITEMS, "", seconds)
        self._create("indexed", has_index=True)
        for load in (self._put, self._batch):
            yield replace(row := load("indexed", ITEMS, seconds), what=f"{row.what}, one index")
        if backlog:
            yield from self._on("large", LARGE_ITEMS, f", {LARGE_ITEMS:,} items", seconds)

    def _on(self, table: str, items: int, suffix: str, seconds: float) -> Iterator[Row]:
        """All loads on a new table that has so many items."""
        self._create(table)
        filled = self._fill(table, items)
        for load in (self._put, self._refused, self._get, self._query, self._transact, self._batch):
            row = load(table, filled, seconds)
            yield replace(row, what=row.what + suffix, note="" if filled >= items else f"only {filled:,}")

    def _put(self, table: str, _: int, seconds: float) -> Row:
        request = self._request("PutItem", {"TableName": table, "Item": _item(0), **_CONDITION})
        return self._median("conditional PutItem", lambda: Numbered(request, self._new), seconds)

    def _refused(self, table: str, items: int, seconds: float) -> Row:
        request = self._request("PutItem", {"TableName": table, "Item": _item(0), **_CONDITION})
        what = "conditional PutItem, refused"
        return self._median(what, lambda: Numbered(request, _known(items)), seconds, expects_error=True)

    def _get(self, table: str, items: int, seconds: float) -> Row:
        request = self._request("GetItem", {"TableName": table, "Key": _key(3)})
        return self._median("GetItem", lambda: Numbered(request, _known(items)), seconds)

    def _query(self, table: str, items: int, seconds: float) -> Row:
        condition = {
            "KeyConditionExpression": "id = :id", "ExpressionAttributeValues": {":id": {"S": f"order-{_NUMBER}"}},
        }  # fmt: skip
        request = self._request("Query", {"TableName": table, **condition})
        return self._median(f"Query of {LINES} items", lambda: Numbered(request, _known(items)), seconds)

    def _transact(self, table: str, _: int, seconds: float) -> Row:
        put = {"Put": {"TableName": table, "Item": _item(0), "ConditionExpression": "attribute_not_exists(id)"}}
        request = self._request("TransactWriteItems", {"TransactItems": [put, put]})
        return self._median("TransactWriteItems of 2 items", lambda: Numbered(request, self._new), seconds)

    def _batch(self, table: str, _: int, seconds: float) -> Row:
        request = self._request("BatchWriteItem", {"RequestItems": {table: [_put_of(0)] * BATCH}})
        what = f"BatchWriteItem of {BATCH}, items"
        return self._median(what, lambda: Numbered(request, self._new), seconds, each=BATCH)

    def _median(
        self, what: str, script: Callable[[], Numbered], seconds: float, *, each: int = 1, expects_error: bool = False
    ) -> Row:
        """The run with the median cost per request; wall rates of a shared machine are worth less."""
        loads = [run(self._server, script(), connections=CONNECTIONS, seconds=seconds) for _ in range(self._runs)]
        load = sorted(loads, key=lambda load: load.server_us)[len(loads) // 2]
        row = _row(what, load, each)
        if expects_error:
            return replace(row, errors=load.requests - load.errors)
        # Some servers lack some operations: refusing everything is no rate.
        return replace(row, per_s=0, per_core_s=0) if load.errors == load.requests else row

    def _create(self, table: str, *, has_index: bool = False) -> None:
        attributes = {"id": "S", "line": "N"} | ({"customer": "S"} if has_index else {})
        document: dict[str, object] = {
            "TableName": table, "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [
                {"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "line", "KeyType": "RANGE"},
            ],
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": type_name} for name, type_name in attributes.items()
            ],
        }  # fmt: skip
        if has_index:
            keys = [{"AttributeName": "customer", "KeyType": "HASH"}]
            index = {"IndexName": "by-customer", "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}
            document["GlobalSecondaryIndexes"] = [index]
        self._once("CreateTable", document)
        while b'"ACTIVE"' not in self._once("DescribeTable", {"TableName": table}):
            pass

    def _fill(self, table: str, items: int) -> int:
        """Write so many items. Returns how many were written in time."""
        orders = BATCH // LINES
        puts = [_put_of(line) for _ in range(orders) for line in range(LINES)]
        numbers = (number for number in range(items // LINES) for _ in range(LINES * _NUMBERS_OF_ITEM))
        script = Numbered(self._request("BatchWriteItem", {"RequestItems": {table: puts}}), numbers)
        load = run(self._server, script, connections=FILLING_CONNECTIONS, seconds=FILL_S_MAX)
        return load.requests * len(puts)

    def _once(self, operation: str, members: Mapping[str, object]) -> bytes:
        once = Once(self._request(operation, members))
        run(self._server, once, connections=1, seconds=30)
        return once.answer

    def _request(self, operation: str, members: Mapping[str, object]) -> bytes:
        headers = f"X-Amz-Target: DynamoDB_20120810.{operation}\r\nContent-Type: application/x-amz-json-1.0"
        return request_of(self._host, "/", headers, json.dumps(members).encode(), service="dynamodb")


def _key(line: int) -> dict[str, object]:
    return {"id": {"S": f"order-{_NUMBER}"}, "line": {"N": str(line)}}


def _item(line: int) -> dict[str, object]:
    """An item of 250 bytes or so, with each of the usual types."""
    return {
        **_key(line), "customer": {"S": f"customer-{_NUMBER}"}, "status": {"S": "IN_PROGRESS"},
        "expiration": {"N": "1763600000"}, "amount": {"N": "129.95"}, "paid": {"BOOL": False}, "note": {"S": "x" * 120},
    }  # fmt: skip


_NUMBERS_OF_ITEM = json.dumps(_item(0)).count(_NUMBER)


def _put_of(line: int) -> dict[str, object]:
    return {"PutRequest": {"Item": _item(line)}}


def _known(items: int) -> Numbers:
    """The numbers of orders that a filled table has. An item takes several numbers, of which the first is its key's."""
    orders = items // LINES
    return (place * _STRIDE % orders for place in itertools.count())


def _row(what: str, load: Load, each: int) -> Row:
    return Row(
        what=what, per_s=each * load.requests / load.seconds,
        per_core_s=each * load.requests / max(load.server_cpu_s, 1e-9),
        request_us=load.server_us, p50_ms=load.latency_ms(0.5), p99_ms=load.latency_ms(0.99), errors=load.errors,
    )  # fmt: skip
