"""Whatever fails, each record is processed in order or stands in a record of a failure; none is skipped, none lost.

And what that costs: statements for an idle mapping, and for a batch.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as some

from redrive.delivery.outside.invocation import InvocationResult
from redrive.delivery.worker import ONE, FreeSlots
from tests.unit.services.lambda_.functions import THROTTLED, Rig, answered, raised
from tests.unit.services.lambda_.shards import FIRST, NUMBER, STREAM

FRAME = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK")

PLANS = some.fixed_dictionaries(
    {
        "BatchSize": some.integers(1, 5),
        "ParallelizationFactor": some.integers(1, 3),
        "MaximumRetryAttempts": some.integers(0, 2),
        "BisectBatchOnFunctionError": some.booleans(),
        "FunctionResponseTypes": some.sampled_from([[], ["ReportBatchItemFailures"]]),
        "TumblingWindowInSeconds": some.sampled_from([0, 0, 5]),
        "MaximumRecordAgeInSeconds": some.sampled_from([-1, 60]),
    }
)
ACTS = some.lists(
    some.tuples(
        some.sampled_from(["put", "put", "work", "work", "lose", "throttle", "wait", "split", "factor", "pause"]),
        some.integers(1, 8),
    ),
    min_size=6, max_size=25,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(plan=PLANS, acts=ACTS, poison=some.sets(some.integers(1, 12), max_size=3))
def test_each_record_is_processed_in_order_or_told_to_the_destination(
    plan: dict[str, object], acts: list[tuple[str, int]], poison: set[int]
) -> None:
    bench = Bench(plan, poison)
    for act, value in acts:
        bench.act(act, value)
    bench.finish()

    for shard, numbers in bench.written.items():
        assert bench.done[shard] | bench.failed(shard) == set(numbers)
    for places in bench.firsts.values():  # Also where a key's records lie in a shard and in its child.
        assert places == sorted(places)
    bench.rig.store.close()


class Bench:
    """A mapped stream, a function that fails on some records, and nodes that are lost."""

    def __init__(self, plan: dict[str, object], poison: set[int]) -> None:
        self.rig = rig = Rig()
        self.poison = poison
        self.reports = bool(plan["FunctionResponseTypes"])
        self.count = 0
        self.written: dict[str, list[int]] = {FIRST: []}
        self.done: dict[str, set[int]] = {FIRST: set()}
        self.firsts: dict[str, list[int]] = {}
        self.open = FIRST
        rig.create_function()
        queue = rig.create_queue("failed")
        self.uuid = rig.call(
            "CreateEventSourceMapping", EventSourceArn=STREAM, FunctionName="worker", StartingPosition="TRIM_HORIZON",
            DestinationConfig={"OnFailure": {"Destination": queue}}, **plan,
        )["UUID"]  # fmt: skip

    def act(self, name: str, value: int) -> None:
        """Do one thing."""
        match name:
            case "put":
                for _ in range(value):
                    self._put()
            case "work":
                self._work(value % 4 + 1, lambda attempt: self._settle(attempt, self._answer(attempt)))
            case "lose":
                self._work(2, lambda _: None)
            case "throttle":
                self._work(2, lambda attempt: self._settle(attempt, THROTTLED))
            case "wait":
                self.rig.clock.move_to(self.rig.clock.now() + value * 3_997)
            case "split":
                child = f"shard-{len(self.written)}"
                self.rig.store.run(lambda tx: self.rig.around.stream.split(tx, self.open, child))
                self.written[child], self.done[child], self.open = [], set(), child
            case "factor":
                self.rig.call("UpdateEventSourceMapping", UUID=self.uuid, ParallelizationFactor=value % 3 + 1)
            case "pause":
                for enabled in (False, True):
                    self.rig.call("UpdateEventSourceMapping", UUID=self.uuid, Enabled=enabled)

    def finish(self) -> None:
        """Let everything come to its end: all retries, all leases, all windows."""
        for _ in range(60):
            for _ in range(20):
                if not self._work(50, lambda attempt: self._settle(attempt, self._answer(attempt))):
                    break
            self.rig.clock.move_to(self.rig.clock.now() + 10_000)

    def failed(self, shard: str) -> set[int]:
        """The numbers of the records of a shard that the destination was told of."""
        return {
            number
            for start, end, one in self._letters()
            if one == shard
            for number in self.written[shard]
            if start <= number <= end and number not in self.done[shard]
        }

    def _put(self) -> None:
        key = str(self.count % 3)
        (number,) = self.rig.store.run(
            lambda tx: self.rig.around.stream.put(tx, (key, self.count), shard=self.open)
        )  # fmt: skip
        self.written[self.open].append(int(number) - NUMBER)
        self.count += 1

    def _work(self, room: int, then: Callable[[Any], None]) -> int:
        begun = self.rig.store.run(lambda tx: self.rig.streams.claim(tx, free=FreeSlots(room)))
        for attempt in begun:
            then(attempt)
        return len(begun)

    def _settle(self, attempt: Any, result: InvocationResult) -> None:
        self.rig.store.run(lambda tx: self.rig.streams.settle(tx, attempt, result))

    def _answer(self, attempt: Any) -> InvocationResult:
        event = json.loads(attempt.invocation.payload)
        records = event["Records"]
        numbers = [int(one["kinesis"]["sequenceNumber"]) - NUMBER for one in records]
        places = [place for place, number in enumerate(numbers) if number in self.poison]
        good = len(records) if not places else places[0] if self.reports else 0
        for record, number in zip(records[:good], numbers, strict=False):
            self._process(record, number)
        if not places:
            return answered({"state": {}})
        if self.reports:
            identifier = records[places[0]]["kinesis"]["sequenceNumber"]
            return answered({"state": {}, "batchItemFailures": [{"itemIdentifier": identifier}]})
        return raised("poison")

    def _process(self, record: Any, number: int) -> None:
        shard = record["eventID"].partition(":")[0]
        assert number not in self.done[shard], "a record whose batch was settled came again"
        self.done[shard].add(number)
        data = record["kinesis"]
        self.firsts.setdefault(data["partitionKey"], []).append(json.loads(base64.b64decode(data["data"])))

    def _letters(self) -> list[tuple[int, int, str]]:
        found = []
        while messages := self.rig.sqs("ReceiveMessage", QueueUrl="failed", MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                info = json.loads(message["Body"])["KinesisBatchInfo"]
                numbers = (int(info["startSequenceNumber"]) - NUMBER, int(info["endSequenceNumber"]) - NUMBER)
                found.append((*numbers, info["shardId"]))
                self.rig.sqs("DeleteMessage", QueueUrl="failed", ReceiptHandle=message["ReceiptHandle"])
        self.letters = [*getattr(self, "letters", []), *found]
        return list(self.letters)


def statements(rig: Rig, work: Callable[[], object]) -> list[str]:
    """What the database is asked meanwhile, without what frames transactions."""
    seen: list[str] = []
    rig.store.connection.set_trace_callback(seen.append)
    work()
    rig.store.connection.set_trace_callback(None)
    return [one for one in seen if not one.startswith(FRAME)]


def mapped(**params: object) -> Rig:
    """An engine with a mapping that has done two batches."""
    rig = Rig()
    rig.create_function()
    rig.call(
        "CreateEventSourceMapping", EventSourceArn=STREAM, FunctionName="worker", StartingPosition="TRIM_HORIZON",
        **params,
    )  # fmt: skip
    for _ in range(2):
        rig.store.run(lambda tx: rig.around.stream.put(tx, ("a", 1)))
        rig.advance(1)
    return rig


def test_look_at_an_idle_mapping_costs_no_statement() -> None:
    rig = mapped()
    free = FreeSlots(3)

    ran = statements(
        rig, lambda: rig.store.run(lambda tx: (rig.streams.next_due(tx, free=ONE), rig.streams.claim(tx, free=free)))
    )

    assert ran == []


def test_batch_costs_a_number_of_statements_that_its_size_does_not_change() -> None:
    """Begin: read, row, state, timers. End: row, state, timers, two of the history, one of the run's log lines."""
    costs = []
    for records in (1, 30):
        rig = mapped()
        rig.store.run(lambda tx, r=rig, n=records: r.around.stream.put(tx, *((str(one), 1) for one in range(n))))  # type: ignore[misc]
        begun: list[Any] = []
        begin = statements(rig, lambda r=rig, b=begun: b.extend(r.store.run(lambda tx: r.streams.claim(tx, free=ONE))))  # type: ignore[misc]
        (attempt,) = begun
        end = statements(rig, lambda r=rig, a=attempt: r.store.run(lambda tx: r.streams.settle(tx, a, answered(None))))  # type: ignore[misc]
        costs.append((len(begin), len(end)))

    assert costs[0] == costs[1]
    assert costs[0][0] <= 6
    assert costs[0][1] <= 9


def test_record_for_a_busy_shard_costs_no_more_than_one_that_nobody_reads() -> None:
    rig = mapped()
    rig.store.run(lambda tx: rig.around.stream.put(tx, ("a", 1)))
    rig.store.run(lambda tx: rig.streams.claim(tx, free=ONE))

    ran = statements(rig, lambda: rig.store.run(lambda tx: rig.around.stream.put(tx, ("a", 1))))

    assert len(ran) == 1
