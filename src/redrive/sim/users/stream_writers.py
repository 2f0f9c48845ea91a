"""Users of a stream of Kinesis: one writes records, one splits and merges the shards."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import MINUTE_MS, Instant
from redrive.core.documents import Document, dump_json
from redrive.core.errors import Conflict, ServiceError
from redrive.sim.checkers.happenings import Streamed
from redrive.sim.dice import Dice
from redrive.sim.fleet.clients import Client
from redrive.sim.users.acts import POISON
from redrive.sim.weather import AnswerLost
from redrive.sim.world import Simulation

KEYS = tuple(f"key-{number}" for number in range(8))
RECORDS_MAX = 5
SHARDS_MAX = 4

_WRITE_GAP_MS_MAX = 8 * MINUTE_MS
_RESHARD_GAP_MS_MAX = 40 * MINUTE_MS


class RecordWriter:
    """Puts some records at a time. Those without an answer are left to their fate: the checkers know of the commit."""

    def __init__(self, simulation: Simulation, client: Client, stream: str, *, dice: Dice, until: Instant) -> None:
        self.name = f"writer to {stream}"
        self._simulation = simulation
        self._client = client
        self._stream = stream
        self._dice = dice
        self._until = until
        self._count = 0

    def act(self) -> Instant | None:
        """Put records, in one call or each in its own."""
        simulation, dice = self._simulation, self._dice
        if simulation.now >= self._until:
            return None
        records = [self._record() for _ in range(dice.between(1, RECORDS_MAX))]

        def seen(answer: Document) -> None:
            for record, result in zip(records, answer.get("Records", [answer]), strict=True):
                simulation.observe(Streamed(self._stream, record["PartitionKey"], result["SequenceNumber"]))

        try:
            if len(records) == 1:
                self._client.call_seen(seen, "kinesis", "PutRecord", StreamName=self._stream, **records[0])
            else:
                self._client.call_seen(seen, "kinesis", "PutRecords", StreamName=self._stream, Records=records)
            simulation.trace.write(simulation.now, "records written", count=len(records))
        except (Conflict, AnswerLost) as error:
            simulation.trace.write(simulation.now, "records in doubt", error=type(error).__name__)
        return simulation.now + dice.between(1, _WRITE_GAP_MS_MAX)

    def _record(self) -> Document:
        self._count += 1
        kind = f"{POISON}-" if self._dice.chance(0.1) else ""
        key = KEYS[self._dice.between(0, len(KEYS) - 1)]
        return {"PartitionKey": key, "Data": dump_json({"work": f"{kind}{self._count}"}).encode()}


class Resharder:
    """Splits and merges shards, and scales the stream, while mappings read it."""

    def __init__(self, simulation: Simulation, client: Client, stream: str, *, dice: Dice, until: Instant) -> None:
        self.name = f"resharder of {stream}"
        self._simulation = simulation
        self._client = client
        self._stream = stream
        self._dice = dice
        self._until = until

    def act(self) -> Instant | None:
        """Change the shards."""
        simulation, dice = self._simulation, self._dice
        if simulation.now >= self._until:
            return None
        try:
            listed = self._client.call("kinesis", "ListShards", StreamName=self._stream)["Shards"]
            is_open = [one for one in listed if "EndingSequenceNumber" not in one["SequenceNumberRange"]]
            by_hash = sorted(is_open, key=lambda one: int(one["HashKeyRange"]["StartingHashKey"]))
            what, params = self._drawn(by_hash)
            self._client.call("kinesis", what, StreamName=self._stream, **params)
            simulation.trace.write(simulation.now, "resharded", by=what, shards=len(by_hash))
        except (Conflict, AnswerLost, ServiceError) as error:
            simulation.trace.write(simulation.now, "not resharded", error=type(error).__name__)
        return simulation.now + dice.between(1, _RESHARD_GAP_MS_MAX)

    def _drawn(self, shards: Sequence[Document]) -> tuple[str, Document]:
        """An operation, and its parameters; `shards` are the open ones, in the order of their hash keys."""
        dice, place = self._dice, self._dice.between(0, len(shards) - 1)
        if dice.chance(0.2):
            count = dice.between(1, SHARDS_MAX)
            return "UpdateShardCount", {"TargetShardCount": count, "ScalingType": "UNIFORM_SCALING"}
        if len(shards) == SHARDS_MAX or (place > 0 and dice.chance(0.5)):
            pair = shards[max(place, 1) - 1 : max(place, 1) + 1]
            first, second = (one["ShardId"] for one in pair)
            return "MergeShards", {"ShardToMerge": first, "AdjacentShardToMerge": second}
        range_ = shards[place]["HashKeyRange"]
        middle = (int(range_["StartingHashKey"]) + int(range_["EndingHashKey"])) // 2
        return "SplitShard", {"ShardToSplit": shards[place]["ShardId"], "NewStartingHashKey": str(middle)}
