"""The clients of the streams: each writes one key, number after number, and repeats a write until it is answered."""

from __future__ import annotations

import base64
import itertools
import json
import random
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from benchmarks.kill.client import Done, Doubt, Nodes, Outcome, Refused
from redrive.core.documents import Document

KINESIS, DYNAMODB, STREAMS = "Kinesis_20131202", "DynamoDB_20120810", "DynamoDBStreams_20120810"
RIVER, ITEMS, BY_OWNER = "river", "items", "by-owner"
KEYS = 8
OWNERS = 3
SHARDS_MAX = 5
PAUSE_S = 0.3
RESHARD_S = 8
DELETE_EVERY = 7

Loop = Callable[[Iterator[int]], None]


@dataclass(slots=True)
class StreamLoad:
    """What the clients do, and what they know: `written` are the numbers of each key that the store must have."""

    nodes: Nodes
    seed: int
    pace_s: float = 0.05
    over: threading.Event = field(default_factory=threading.Event)
    records: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    changes: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    items: dict[str, Document] = field(default_factory=dict)
    doubts: Counter[str] = field(default_factory=Counter)
    resharded: int = 0
    defects: list[str] = field(default_factory=list)

    def start(self) -> list[threading.Thread]:
        """Run each client in a thread until `over` is set."""
        loops = [self._writing(f"key-{number}") for number in range(KEYS)]
        loops += [self._changing(f"item-{number}") for number in range(KEYS)]
        threads = [threading.Thread(target=self._guarded, args=(loop,), daemon=True) for loop in loops]
        threads.append(threading.Thread(target=self._guarded, args=(self._resharding,), daemon=True))
        for thread in threads:
            thread.start()
        return threads

    def all_of(self, target: str, member: str, asked: Document) -> Iterator[Document]:
        """All pages of a Scan. Errors: RuntimeError."""
        while True:
            page = self.done(target, asked)
            yield from page[member]
            if "LastEvaluatedKey" not in page:
                return
            asked = {**asked, "ExclusiveStartKey": page["LastEvaluatedKey"]}

    def done(self, target: str, asked: Document) -> Document:
        """Ask until it is done, and return the answer. Errors: RuntimeError if it is refused for good."""
        while not isinstance(outcome := self.nodes.aws(target, asked), Done):
            if isinstance(outcome, Refused) and 400 <= outcome.status < 500:
                raise RuntimeError(f"{target} was refused: {outcome}")
            self.doubts[target.partition(".")[2]] += isinstance(outcome, Doubt)
            time.sleep(PAUSE_S)
        return outcome.document

    def _guarded(self, loop: Loop) -> None:
        try:
            loop(self._turns())
        except Exception:  # noqa: BLE001 - a client that ends early would leave its checks without anything to check.
            self.defects.append(traceback.format_exc())

    def _turns(self) -> Iterator[int]:
        for number in itertools.count():
            if self.over.wait(self.pace_s):
                return
            yield number

    def _writing(self, key: str) -> Loop:
        """Puts records into the stream. One whose answer was lost may be there twice."""

        def run(turns: Iterator[int]) -> None:
            for number in turns:
                data = base64.b64encode(json.dumps({"key": key, "n": number}).encode()).decode()
                self.done(f"{KINESIS}.PutRecord", {"StreamName": RIVER, "PartitionKey": key, "Data": data})
                self.records[key].append(number)

        return run

    def _changing(self, id: str) -> Loop:
        """Changes an item of the table, and sometimes deletes it. To repeat either changes nothing."""

        def run(turns: Iterator[int]) -> None:
            for number in turns:
                key = {"id": {"S": id}}
                if number % DELETE_EVERY == DELETE_EVERY - 1:
                    self.done(f"{DYNAMODB}.DeleteItem", {"TableName": ITEMS, "Key": key})
                    self.changes[id].append(-self.changes[id][-1])
                    self.items.pop(id, None)
                    continue
                item = {**key, "n": {"N": str(number + 1)}, "text": {"S": f"{id} as of {number}"}}
                if number % 2:
                    item["owner"] = {"S": f"owner-{number % OWNERS}"}
                self.done(f"{DYNAMODB}.PutItem", {"TableName": ITEMS, "Item": item})
                self.changes[id].append(number + 1)
                self.items[id] = item

        return run

    def _resharding(self, turns: Iterator[int]) -> None:
        """Splits and merges shards every few seconds."""
        dice = random.Random(self.seed)  # noqa: S311 - which shard is next is no secret.
        while not self.over.wait(RESHARD_S):
            shards = self.done(f"{KINESIS}.ListShards", {"StreamName": RIVER})["Shards"]
            live = [one for one in shards if "EndingSequenceNumber" not in one["SequenceNumberRange"]]
            live.sort(key=lambda one: int(one["HashKeyRange"]["StartingHashKey"]))
            place = dice.randrange(len(live))
            if len(live) >= SHARDS_MAX or (place and dice.random() < 0.5):
                place = max(1, place)
                what = "MergeShards"
                asked = {"ShardToMerge": live[place - 1]["ShardId"], "AdjacentShardToMerge": live[place]["ShardId"]}
            else:
                first, last = (int(live[place]["HashKeyRange"][f"{end}HashKey"]) for end in ("Starting", "Ending"))
                what = "SplitShard"
                asked = {"ShardToSplit": live[place]["ShardId"], "NewStartingHashKey": str((first + last) // 2)}
            # Repeated, it would be another one: what is in doubt is left as it is.
            outcome: Outcome = self.nodes.aws(f"{KINESIS}.{what}", {"StreamName": RIVER, **asked})
            self.resharded += isinstance(outcome, Done)
