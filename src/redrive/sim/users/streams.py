"""The streams: one of Kinesis that is resharded, one of a table with indexes, and functions that are mapped to them."""

from __future__ import annotations

from collections.abc import Iterator

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document
from redrive.sim.checkers.happenings import Happening
from redrive.sim.checkers.stream_batches import StreamReader
from redrive.sim.checkers.streams import RecordsInOrder, StreamContents, WindowsWhole
from redrive.sim.checkers.tables import TablesFollowed
from redrive.sim.dice import Dice
from redrive.sim.users.item_writers import TABLE_KEYS, Comparer, IndexKeeper, ItemWriter, Shelves
from redrive.sim.users.mapping_keepers import (
    BATCH_SIZE_MAX,
    LANES_MAX,
    WINDOW_S_MAX,
    KeptMapping,
    MappingKeeper,
    create_mapping,
    stream_handler,
    window_handler,
)
from redrive.sim.users.resources import Resources, arn_of
from redrive.sim.users.stream_reading import read_changes, read_stream, read_table
from redrive.sim.users.stream_writers import SHARDS_MAX, RecordWriter, Resharder

RIVER, SHELF = "river", "shelf"
"""The stream of Kinesis, and the table."""
WINDOW_S = 60
RETRIES_MAX = 3
AGE_S_MIN, AGE_S_MAX = 60, 900


class Streams:
    """Everything around the two streams. Functions that fail at poison have a maximum of retries, or of age."""

    def __init__(self, resources: Resources, dice: Dice) -> None:
        self._resources = resources
        self._simulation = resources.simulation
        self._dice = dice
        self._readers: list[StreamReader] = []
        self._mappings: list[KeptMapping] = []
        self._arns: dict[str, str] = {}
        self._simulation.watch(StreamContents(), RecordsInOrder(self._readers), TablesFollowed(TABLE_KEYS))

    def open(self) -> None:
        """Create everything, and let the users begin."""
        self._stream()
        self._table()
        self._plain("follows", RIVER, may_be_deleted=True)
        kinds = (self._isolating, self._partial, self._aging, self._windowed)
        for kind in kinds:
            if self._dice.chance(0.6):
                kind(RIVER)
        self._plain("copies", SHELF, may_be_deleted=False)
        for kind in kinds[:3]:
            if self._dice.chance(0.4):
                kind(SHELF)
        self._users()

    def told(self) -> Iterator[Happening]:
        """What is read at the end: both streams, and the table with its indexes."""
        client = self._simulation.reliable
        yield read_stream(client, RIVER)
        yield read_table(client, SHELF)
        yield from read_changes(client, SHELF)

    def _stream(self) -> None:
        call = self._simulation.reliable.call
        call("kinesis", "CreateStream", StreamName=RIVER, ShardCount=self._dice.between(1, SHARDS_MAX - 1))
        self._arns[RIVER] = arn_of("kinesis", f"stream/{RIVER}")
        self._resources.undo("kinesis", "PutRecord", StreamName=RIVER, PartitionKey="undone", Data=b"{}")

    def _table(self) -> None:
        keys = {"shelf": "S", "id": "S", "owner": "S", "rank": "N"}
        by_rank = [_key("shelf", "HASH"), _key("rank", "RANGE")]
        by_owner = [_key("owner", "HASH"), _key("rank", "RANGE")]
        made = self._simulation.reliable.call(
            "dynamodb", "CreateTable", TableName=SHELF, BillingMode="PAY_PER_REQUEST",
            KeySchema=[_key("shelf", "HASH"), _key("id", "RANGE")],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": type_} for name, type_ in keys.items()],
            LocalSecondaryIndexes=[
                {"IndexName": "by-rank", "KeySchema": by_rank, "Projection": {"ProjectionType": "KEYS_ONLY"}}
            ],
            GlobalSecondaryIndexes=[
                {"IndexName": "by-owner", "KeySchema": by_owner,
                 "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["work"]}}
            ],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )  # fmt: skip
        self._arns[SHELF] = made["TableDescription"]["LatestStreamArn"]
        item = {name: {"S": "undone"} for name in (*TABLE_KEYS, "owner", "work")}
        undone = {**item, "rank": {"N": "1"}, "write": {"N": "0"}}
        self._resources.undo("dynamodb", "PutItem", TableName=SHELF, Item=undone)

    def _plain(self, name: str, stream: str, *, may_be_deleted: bool) -> None:
        """Does all records, and tries as often as it takes."""
        self._map(name, stream, fails_at_poison=False, may_be_deleted=may_be_deleted)

    def _isolating(self, stream: str) -> None:
        """Splits a batch that fails until a poison record is alone."""
        self._map("isolates", stream, retries_max=self._dice.between(0, RETRIES_MAX), isolates=True)

    def _partial(self, stream: str) -> None:
        """Reports the records that failed."""
        self._map("reports", stream, retries_max=self._dice.between(0, RETRIES_MAX), reports_failures=True)

    def _aging(self, stream: str) -> None:
        """Gives up what is too old."""
        self._map("ages", stream, age_s_max=self._dice.between(AGE_S_MIN, AGE_S_MAX))

    def _windowed(self, stream: str) -> None:
        """Adds up the records of each minute."""
        reader = StreamReader(f"counts-{stream}", stream)
        self._simulation.watch(WindowsWhole(reader.function, stream))
        self._resources.function(reader.function, window_handler(self._simulation))
        self._store(reader, {"TumblingWindowInSeconds": WINDOW_S}, may_be_deleted=False)

    def _map(
        self, name: str, stream: str, *, retries_max: int | None = None, age_s_max: int | None = None,
        isolates: bool = False, reports_failures: bool = False, fails_at_poison: bool = True,
        may_be_deleted: bool = False,
    ) -> None:  # fmt: skip
        """Create a function and its mapping. What has a maximum has a queue for what is given up."""
        function, dice = f"{name}-{stream}", self._dice
        params: Document = {
            "ParallelizationFactor": dice.between(1, LANES_MAX), "BisectBatchOnFunctionError": isolates,
            "MaximumBatchingWindowInSeconds": dice.between(0, WINDOW_S_MAX),
            "FunctionResponseTypes": ["ReportBatchItemFailures"] if reports_failures else [],
        }  # fmt: skip
        spill = ""
        if retries_max is not None or age_s_max is not None:
            spill = f"{function}-spill"
            self._resources.queue(spill)
            params["DestinationConfig"] = {"OnFailure": {"Destination": arn_of("sqs", spill)}}
            params["MaximumRetryAttempts"] = -1 if retries_max is None else retries_max
            params["MaximumRecordAgeInSeconds"] = -1 if age_s_max is None else age_s_max
        handler = stream_handler(self._simulation, reports_failures=reports_failures, fails_at_poison=fails_at_poison)
        self._resources.function(function, handler)
        reader = StreamReader(function, stream, retries_max, age_s_max, isolates, spill)
        self._store(reader, params, may_be_deleted=may_be_deleted)

    def _store(self, reader: StreamReader, params: Document, *, may_be_deleted: bool) -> None:
        self._readers.append(reader)
        given: Document = {
            "FunctionName": reader.function, "EventSourceArn": self._arns[reader.stream],
            "BatchSize": self._dice.between(1, BATCH_SIZE_MAX), **params,
        }  # fmt: skip
        one = KeptMapping(reader.function, given, may_be_deleted)
        create_mapping(self._simulation, self._simulation.reliable, one, is_from_start=True)
        self._mappings.append(one)
        self._resources.undo("lambda", "UpdateEventSourceMapping", UUID=one.uuid, Enabled=False)

    def _users(self) -> None:
        resources, simulation, until = self._resources, self._simulation, self._resources.until
        fork, client = resources.fork, simulation.client
        shelves = Shelves(simulation, SHELF)
        users = (
            RecordWriter(simulation, client("record writer"), RIVER, dice=fork("record writer"), until=until),
            Resharder(simulation, client("resharder"), RIVER, dice=fork("resharder"), until=until),
            ItemWriter(simulation, client("item writer"), shelves, dice=fork("item writer"), until=until),
            ItemWriter(simulation, client("second item writer"), shelves, dice=fork("second writer"), until=until),
            IndexKeeper(simulation, client("index keeper"), SHELF, dice=fork("index keeper"), until=until),
            Comparer(simulation, SHELF, dice=fork("comparer"), until=until),
            MappingKeeper(
                simulation, client("mapping keeper"), self._mappings, dice=fork("mapping keeper"), until=until
            ),
        )  # fmt: skip
        for user in users:
            simulation.add(user, at=simulation.now + SECOND_MS)


def _key(name: str, type_: str) -> Document:
    return {"AttributeName": name, "KeyType": type_}
