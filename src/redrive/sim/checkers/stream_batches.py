"""What is known of the records of streams, of the batches that functions get, and of the batches that were given up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from redrive.core.documents import Document, load_json

RETRIES = "RetryAttemptsExhausted"
AGE = "RecordAgeExceeded"


@dataclass(frozen=True, slots=True)
class StreamReader:
    """A function that is mapped to a stream. None as a maximum: there is none.

    `isolates`: a batch that fails is split until it has one record, and is never answered in part. `spill` is the queue
    that gets the records of batches that were given up.
    """

    function: str
    stream: str
    retries_max: int | None = None
    age_s_max: int | None = None
    isolates: bool = False
    spill: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """The records of one attempt, by sequence number, in their order."""

    records: Mapping[int, str]

    def between(self, first: int, last: int) -> list[str]:
        """The records with these sequence numbers, both included."""
        return [record for number, record in self.records.items() if first <= number <= last]


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A failure record. The numbers are sequence numbers, both included."""

    request_id: str
    condition: str
    calls: int
    shard: str
    first: int
    last: int
    count: int
    waited_s: float
    """How old the last record was when the batch was given up."""


@dataclass(slots=True, eq=False)
class Reading:
    """What a mapping has done so far. `starts`: how many records of each key are older than its first."""

    reader: StreamReader
    starts: Mapping[str, int]
    done: set[str] = field(default_factory=set)
    owed: list[tuple[str, str]] = field(default_factory=list)
    """Records that a failure record must name, each with the later one that was begun."""
    given_up: set[str] = field(default_factory=set)
    is_deleted: bool = False


def parts_of(record: Document) -> tuple[str, str, int]:
    """The key of a record in a function's event, what identifies the record, and its sequence number."""
    if "kinesis" in record:
        told = record["kinesis"]
        return told["partitionKey"], told["sequenceNumber"], int(told["sequenceNumber"])
    change = record["dynamodb"]
    return (
        item_key(change["Keys"]),
        change_name(change.get("OldImage"), change.get("NewImage")),
        int(change["SequenceNumber"]),
    )


def item_key(item: Document) -> str:
    """The key of an item of the table that the simulation follows."""
    return f"{item['shelf']['S']}/{item['id']['S']}"


def change_name(old: Document | None, new: Document | None) -> str:
    """What identifies a change of an item: each write has a number of its own, and a deletion that of what it took."""
    if new is not None:
        return str(new["write"]["N"])
    return f"-{old['write']['N']}" if old is not None else ""


def given_up(body: str) -> GivenUp:
    """A failure record from the body of its message."""
    record = load_json(body)
    of = record.get("KinesisBatchInfo") or record["DDBStreamBatchInfo"]
    told_at, arrived_at = record["timestamp"], of["approximateArrivalOfLastRecord"]
    waited = datetime.fromisoformat(told_at) - datetime.fromisoformat(arrived_at)
    context = record["requestContext"]
    return GivenUp(
        context["requestId"], context["condition"], context["approximateInvokeCount"], of["shardId"],
        int(of["startSequenceNumber"]), int(of["endSequenceNumber"]), of["batchSize"], waited.total_seconds(),
    )  # fmt: skip


def is_too_soon(one: GivenUp, reader: StreamReader, runs: Sequence[Batch], records: Sequence[str]) -> str:
    """Why a batch should not have been given up yet, or so late; empty if it was right.

    `runs`: the batches of this mapping for which its function has run. `records`: those that were given up. A run that
    nobody heard of is no failure, so there may be more runs than failures.
    """
    if one.condition == AGE:
        if reader.age_s_max is None or one.waited_s + 1 < reader.age_s_max:
            return f"its last record was {one.waited_s:.0f} s old, of {reader.age_s_max}"
        return ""
    if reader.retries_max is None or one.calls != reader.retries_max + 1:
        return f"after {one.calls} calls, with {reader.retries_max} retries"
    wanted = set(records)
    if reader.isolates:
        failed = [run for run in runs if set(run.records.values()) == wanted]
    else:
        failed = [run for run in runs if wanted.issubset(run.records.values())]
    return "" if len(failed) >= one.calls else f"after {one.calls} calls, but the function ran {len(failed)} times"
