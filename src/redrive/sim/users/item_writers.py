"""Users of a table with a stream and indexes: one writes items, one creates and deletes an index, one compares."""

from __future__ import annotations

from collections.abc import Callable

from redrive.core.clock import MINUTE_MS, Instant
from redrive.core.documents import Document
from redrive.core.errors import Conflict, ServiceError
from redrive.sim.checkers.happenings import ItemWritten, Streamed
from redrive.sim.checkers.stream_batches import change_name, item_key
from redrive.sim.dice import Dice
from redrive.sim.fleet.clients import Client
from redrive.sim.users.acts import POISON
from redrive.sim.users.stream_reading import read_table
from redrive.sim.weather import AnswerLost
from redrive.sim.world import Simulation

TABLE_KEYS = ("shelf", "id")
SHELVES, IDS, OWNERS, RANK_MAX = 3, 4, 3, 5
LATE_INDEX = "late"
"""The index that comes and goes."""

_WRITE_GAP_MS_MAX = 6 * MINUTE_MS
_INDEX_GAP_MS_MAX = 60 * MINUTE_MS
_COMPARE_GAP_MS_MAX = 20 * MINUTE_MS

Write = tuple[str, Document, Callable[[], None]]
"""An operation, its parameters, and what to do at its commit."""


class Shelves:
    """The items of a table as they are by the commits so far. Reports each write, and its record in the stream."""

    def __init__(self, simulation: Simulation, table: str) -> None:
        self.table = table
        self.items: dict[str, Document] = {}
        self._simulation = simulation
        self._writes = 0

    def next_write(self) -> int:
        """A number that no other write has."""
        self._writes += 1
        return self._writes

    def become(self, key: Document, item: Document | None) -> None:
        """An item is this from now on; None if it is deleted. A write that changes nothing has no record."""
        name = item_key(key)
        old = self.items.get(name)
        if old == item:
            return
        if item is None:
            del self.items[name]
        else:
            self.items[name] = item
        self._simulation.observe(ItemWritten(self.table, name, item))
        self._simulation.observe(Streamed(self.table, name, change_name(old, item)))


class ItemWriter:
    """Writes items in all ways. Calls without an answer are left to their fate: the checkers know of the commit."""

    def __init__(self, simulation: Simulation, client: Client, shelves: Shelves, *, dice: Dice, until: Instant) -> None:
        self.name = f"writer to {shelves.table}"
        self._simulation = simulation
        self._client = client
        self._shelves = shelves
        self._dice = dice
        self._until = until

    def act(self) -> Instant | None:
        """Make one call."""
        simulation, dice = self._simulation, self._dice
        if simulation.now >= self._until:
            return None
        writes = (self._put, self._put, self._put_again, self._update, self._update, self._delete, self._transact,
                  self._batch)  # fmt: skip
        operation, params, commit = writes[dice.between(0, len(writes) - 1)]()
        try:
            self._client.call_seen(lambda _: commit(), "dynamodb", operation, **params)
            simulation.trace.write(simulation.now, "items written", by=operation)
        except (Conflict, AnswerLost, ServiceError) as error:
            simulation.trace.write(simulation.now, "items in doubt", error=type(error).__name__)
        return simulation.now + dice.between(1, _WRITE_GAP_MS_MAX)

    def _put(self) -> Write:
        return self._put_of(self._item())

    def _put_again(self) -> Write:
        """A put of what is there, which changes nothing. Refused if another write is committed before."""
        items = list(self._shelves.items.values())
        if not items:
            return self._put()
        item = items[self._dice.between(0, len(items) - 1)]
        operation, params, commit = self._put_of(item)
        condition: Document = {
            "ConditionExpression": "#write = :write", "ExpressionAttributeNames": {"#write": "write"},
            "ExpressionAttributeValues": {":write": item["write"]},
        }  # fmt: skip
        return operation, {**params, **condition}, commit

    def _put_of(self, item: Document) -> Write:
        return "PutItem", {"TableName": self._shelves.table, "Item": item}, lambda: self._shelves.become(item, item)

    def _update(self) -> Write:
        key, shelves = self._key(), self._shelves
        changed = {"rank": {"N": str(self._dice.between(0, RANK_MAX))}, **self._work()}

        def commit() -> None:
            item = {**shelves.items.get(item_key(key), key), **changed}
            item.pop("owner", None)
            shelves.become(key, item)

        params = {
            "TableName": shelves.table, "Key": key,
            "UpdateExpression": "SET #rank = :rank, #work = :work, #write = :write REMOVE #owner",
            "ExpressionAttributeNames": {f"#{name}": name for name in (*changed, "owner")},
            "ExpressionAttributeValues": {f":{name}": value for name, value in changed.items()},
        }  # fmt: skip
        return "UpdateItem", params, commit

    def _delete(self) -> Write:
        key = self._key()
        params = {"TableName": self._shelves.table, "Key": key}
        return "DeleteItem", params, lambda: self._shelves.become(key, None)

    def _transact(self) -> Write:
        item, key, table = self._item(), self._key(), self._shelves.table
        actions: list[Document] = [{"Put": {"TableName": table, "Item": item}}]
        if item_key(item) != item_key(key):
            actions.append({"Delete": {"TableName": table, "Key": key}})

        def commit() -> None:
            self._shelves.become(item, item)
            if len(actions) > 1:
                self._shelves.become(key, None)

        return "TransactWriteItems", {"TransactItems": actions}, commit

    def _batch(self) -> Write:
        items = {item_key(item): item for item in (self._item() for _ in range(3))}
        requests = [{"PutRequest": {"Item": item}} for item in items.values()]

        def commit() -> None:
            for item in items.values():
                self._shelves.become(item, item)

        return "BatchWriteItem", {"RequestItems": {self._shelves.table: requests}}, commit

    def _key(self) -> Document:
        dice = self._dice
        return {"shelf": {"S": f"shelf-{dice.between(1, SHELVES)}"}, "id": {"S": f"item-{dice.between(1, IDS)}"}}

    def _item(self) -> Document:
        """An item that is in some of the indexes."""
        item, dice = {**self._key(), **self._work()}, self._dice
        if dice.chance(0.7):
            item["owner"] = {"S": f"owner-{dice.between(1, OWNERS)}"}
        if dice.chance(0.7):
            item["rank"] = {"N": str(dice.between(0, RANK_MAX))}
        return item

    def _work(self) -> Document:
        number = self._shelves.next_write()
        kind = f"{POISON}-" if self._dice.chance(0.1) else ""
        return {"work": {"S": f"{kind}{number}"}, "write": {"N": str(number)}}


class IndexKeeper:
    """Creates an index of a table with items, and deletes it, over and over."""

    def __init__(self, simulation: Simulation, client: Client, table: str, *, dice: Dice, until: Instant) -> None:
        self.name = "keeper of the index"
        self._simulation = simulation
        self._client = client
        self._table = table
        self._dice = dice
        self._until = until

    def act(self) -> Instant | None:
        """Create the index, or delete it if it is there."""
        simulation = self._simulation
        if simulation.now >= self._until:
            return None
        try:
            table = self._client.call("dynamodb", "DescribeTable", TableName=self._table)["Table"]
            names = [index["IndexName"] for index in table["GlobalSecondaryIndexes"]]
            create = {
                "IndexName": LATE_INDEX, "KeySchema": [{"AttributeName": "work", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }  # fmt: skip
            change = {"Delete": {"IndexName": LATE_INDEX}} if LATE_INDEX in names else {"Create": create}
            self._client.call(
                "dynamodb", "UpdateTable", TableName=self._table, GlobalSecondaryIndexUpdates=[change],
                AttributeDefinitions=[{"AttributeName": "work", "AttributeType": "S"}],
            )  # fmt: skip
            simulation.trace.write(simulation.now, "index changed", had=len(names))
        except (Conflict, AnswerLost, ServiceError) as error:
            simulation.trace.write(simulation.now, "index not changed", error=type(error).__name__)
        return simulation.now + self._dice.between(1, _INDEX_GAP_MS_MAX)


class Comparer:
    """Compares a table with its indexes, without hazards."""

    def __init__(self, simulation: Simulation, table: str, *, dice: Dice, until: Instant) -> None:
        self.name = f"comparer of {table}"
        self._simulation = simulation
        self._table = table
        self._dice = dice
        self._until = until

    def act(self) -> Instant | None:
        """Read the table and its indexes at one instant."""
        simulation = self._simulation
        simulation.observe(read_table(simulation.reliable, self._table))
        return None if simulation.now >= self._until else simulation.now + self._dice.between(1, _COMPARE_GAP_MS_MAX)
