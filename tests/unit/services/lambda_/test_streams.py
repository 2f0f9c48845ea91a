"""Mappings from streams: order, retries, checkpoints, and what becomes of records that cannot be processed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from redrive.delivery.outside.invocation import Invocation, InvocationResult
from redrive.delivery.worker import FreeSlots
from redrive.store.api import Transaction
from redrive.store.tables.attempts import AttemptRecord
from tests.unit.services.lambda_.functions import ARN, BROKEN, QUEUE_ARN, START, THROTTLED, Rig, answered, raised
from tests.unit.services.lambda_.shards import FIRST, STREAM

ON_FAILURE = {"OnFailure": {"Destination": f"{QUEUE_ARN}failed"}}
REPORTS = ["ReportBatchItemFailures"]


def map_stream(rig: Rig, **params: object) -> str:
    """A stream that is mapped to a new function, from the first record on; answers the mapping's UUID."""
    rig.create_function()
    rig.create_queue("failed")
    given = {"EventSourceArn": STREAM, "FunctionName": "worker", "StartingPosition": "TRIM_HORIZON", **params}
    return str(rig.call("CreateEventSourceMapping", **given)["UUID"])


def put(rig: Rig, *records: tuple[str, object] | str, shard: str = FIRST) -> list[str]:
    """Put records; a name is both the partition key and the data of one."""
    pairs = [(one, one) if isinstance(one, str) else one for one in records]
    return rig.store.run(lambda tx: rig.around.stream.put(tx, *pairs, shard=shard))


def keys(event: Any) -> list[str]:
    """The partition keys in an event."""
    return [record["kinesis"]["partitionKey"] for record in event["Records"]]


def calls(rig: Rig) -> list[list[str]]:
    """The partition keys in the events of all runs."""
    return [keys(event) for event in rig.invoker.events]


def fail_on(*bad: str) -> Callable[[Invocation], InvocationResult]:
    """A function that raises if its event has one of these records."""
    return lambda ran: raised("poison") if set(keys(json.loads(ran.payload))) & set(bad) else answered(None)


def report(*bad: str) -> Callable[[Invocation], InvocationResult]:
    """A function that reports these records as failed."""

    def answer(ran: Invocation) -> InvocationResult:
        records = json.loads(ran.payload)["Records"]
        numbers = [one["kinesis"]["sequenceNumber"] for one in records if one["kinesis"]["partitionKey"] in bad]
        return answered({"batchItemFailures": [{"itemIdentifier": number} for number in numbers]})

    return answer


def failures(rig: Rig) -> list[dict[str, Any]]:
    """The records in the on-failure destination."""
    return [json.loads(message["Body"]) for message in rig.messages("failed")]


def attempts(rig: Rig) -> list[AttemptRecord]:
    return rig.store.run(lambda tx: tx.attempts.of_source(STREAM))


def test_records_reach_the_function_in_order_and_once(rig: Rig) -> None:
    map_stream(rig, BatchSize=2)
    put(rig, "a", "b", "c")

    rig.advance(0)
    put(rig, "d")
    rig.advance(100_000)

    assert calls(rig) == [["a", "b"], ["c"], ["d"]]


def test_function_sees_records_as_kinesis_gives_them(rig: Rig) -> None:
    map_stream(rig)
    (number,) = put(rig, ("key", {"n": 1}))

    rig.advance(0)

    (event,) = rig.invoker.events
    assert event == {
        "Records": [
            {
                "kinesis": {
                    "kinesisSchemaVersion": "1.0",
                    "partitionKey": "key",
                    "sequenceNumber": number,
                    "data": "eyJuIjogMX0=",
                    "approximateArrivalTimestamp": START / 1000,
                },
                "eventSource": "aws:kinesis",
                "eventVersion": "1.0",
                "eventID": f"{FIRST}:{number}",
                "eventName": "aws:kinesis:record",
                "awsRegion": "us-east-1",
                "eventSourceARN": STREAM,
            }
        ]
    }


def test_latest_begins_after_the_records_that_were_there_when_the_mapping_was_made(rig: Rig) -> None:
    put(rig, "old")
    map_stream(rig, StartingPosition="LATEST")
    put(rig, "new")

    rig.advance(0)

    assert calls(rig) == [["new"]]


def test_timestamp_begins_with_the_first_record_at_or_after_it(rig: Rig) -> None:
    put(rig, "old")
    rig.advance(10)
    put(rig, "new")
    map_stream(rig, StartingPosition="AT_TIMESTAMP", StartingPositionTimestamp=START + 10_000)

    rig.advance(0)

    assert calls(rig) == [["new"]]


def test_mapping_made_disabled_begins_when_it_is_enabled(rig: Rig) -> None:
    uuid = map_stream(rig, StartingPosition="LATEST", Enabled=False)
    put(rig, "old")
    rig.advance(10)
    rig.call("UpdateEventSourceMapping", UUID=uuid, Enabled=True)
    put(rig, "new")

    rig.advance(0)

    assert calls(rig) == [["new"]]


def test_disabled_mapping_goes_on_where_it_was(rig: Rig) -> None:
    uuid = map_stream(rig)
    put(rig, "a")
    rig.advance(0)
    rig.call("UpdateEventSourceMapping", UUID=uuid, Enabled=False)
    put(rig, "b")
    rig.advance(10)
    assert calls(rig) == [["a"]]

    rig.call("UpdateEventSourceMapping", UUID=uuid, Enabled=True)
    rig.advance(0)

    assert calls(rig) == [["a"], ["b"]]


def test_function_error_blocks_the_shard_until_success(rig: Rig) -> None:
    map_stream(rig, BatchSize=1)
    put(rig, "a", "b")
    rig.invoker.answer = fail_on("a")
    rig.advance(10)
    assert {tuple(call) for call in calls(rig)} == {("a",)}

    rig.invoker.answer = lambda _: answered(None)
    rig.advance(60)

    assert calls(rig)[-2:] == [["a"], ["b"]]


def test_waits_between_retries_double_from_a_quarter_second_to_a_minute(rig: Rig) -> None:
    map_stream(rig)
    put(rig, "a")
    seen: list[int] = []

    def answer(_: Invocation) -> InvocationResult:
        seen.append(rig.clock.now() - START)
        return raised("poison")

    rig.invoker.answer = answer

    rig.advance(240)

    assert seen == [0, 250, 750, 1_750, 3_750, 7_750, 15_750, 31_750, 63_750, 123_750, 183_750]


def test_record_of_a_batch_whose_retries_are_exhausted_is_that_of_aws(rig: Rig) -> None:
    map_stream(rig, MaximumRetryAttempts=1, DestinationConfig=ON_FAILURE)
    first, last = put(rig, "a", "b")
    rig.invoker.answer = fail_on("a")
    rig.advance(60)

    (record,) = failures(rig)

    assert len(rig.invoker.events) == 2
    assert list(record) == ["requestContext", "responseContext", "version", "timestamp", "KinesisBatchInfo"]
    assert record == {
        "requestContext": {
            "requestId": rig.invoker.invocations[-1].request_id,
            "functionArn": f"{ARN}worker",
            "condition": "RetryAttemptsExhausted",
            "approximateInvokeCount": 2,
        },
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "version": "1.0",
        "timestamp": "2025-01-01T00:00:00.250Z",
        "KinesisBatchInfo": {
            "shardId": FIRST,
            "startSequenceNumber": first,
            "endSequenceNumber": last,
            "approximateArrivalOfFirstRecord": "2025-01-01T00:00:00.000Z",
            "approximateArrivalOfLastRecord": "2025-01-01T00:00:00.000Z",
            "batchSize": 2,
            "streamArn": STREAM,
        },
    }


def test_shard_goes_on_behind_a_batch_that_was_given_up(rig: Rig) -> None:
    map_stream(rig, BatchSize=1, MaximumRetryAttempts=0)
    put(rig, "a", "b")
    rig.invoker.answer = fail_on("a")

    rig.advance(0)

    assert calls(rig) == [["a"], ["b"]]


def test_throttles_and_service_errors_use_up_no_retry(rig: Rig) -> None:
    map_stream(rig, MaximumRetryAttempts=0, DestinationConfig=ON_FAILURE)
    put(rig, "a")
    results = iter([THROTTLED, BROKEN, THROTTLED, answered(None)])
    rig.invoker.answer = lambda _: next(results)

    rig.advance(60)

    assert len(rig.invoker.events) == 4
    assert failures(rig) == []


def test_record_that_grows_too_old_is_given_up_at_that_instant(rig: Rig) -> None:
    map_stream(rig, MaximumRecordAgeInSeconds=60, DestinationConfig=ON_FAILURE)
    put(rig, "a")
    rig.invoker.answer = fail_on("a")
    rig.advance(59.9)
    assert failures(rig) == []

    rig.advance(0.1)

    (record,) = failures(rig)
    assert record["requestContext"]["condition"] == "RecordAgeExceeded"
    assert record["requestContext"]["approximateInvokeCount"] == 8
    assert "responseContext" not in record
    assert record["timestamp"] == "2025-01-01T00:01:00.000Z"


def test_record_that_is_too_old_before_any_call_counts_one(rig: Rig) -> None:
    put(rig, "old")
    rig.advance(100)
    put(rig, "new")
    map_stream(rig, MaximumRecordAgeInSeconds=60, DestinationConfig=ON_FAILURE)

    rig.advance(0)

    (record,) = failures(rig)
    assert calls(rig) == [["new"]]
    assert record["requestContext"]["approximateInvokeCount"] == 1
    assert record["KinesisBatchInfo"]["batchSize"] == 1


def test_younger_records_of_a_batch_outlive_those_that_grow_too_old(rig: Rig) -> None:
    put(rig, "old")
    rig.advance(30)
    put(rig, "young")
    map_stream(rig, MaximumRecordAgeInSeconds=60, DestinationConfig=ON_FAILURE)
    rig.invoker.answer = fail_on("old")

    rig.advance(60)

    assert calls(rig)[0] == ["old", "young"]
    assert calls(rig)[-1] == ["young"]
    assert [record["KinesisBatchInfo"]["batchSize"] for record in failures(rig)] == [1]


def test_bisected_batch_isolates_the_record_that_fails(rig: Rig) -> None:
    map_stream(rig, BisectBatchOnFunctionError=True, MaximumRetryAttempts=1, DestinationConfig=ON_FAILURE)
    numbers = put(rig, "a", "b", "c", "d", "e")
    rig.invoker.answer = fail_on("d")

    rig.advance(60)

    assert calls(rig) == [list("abcde"), list("abc"), list("de"), ["d"], ["d"], ["e"]]
    (record,) = failures(rig)
    assert record["KinesisBatchInfo"]["startSequenceNumber"] == numbers[3]
    assert record["KinesisBatchInfo"]["endSequenceNumber"] == numbers[3]
    assert record["requestContext"]["approximateInvokeCount"] == 2


def test_lowest_reported_sequence_number_is_the_checkpoint(rig: Rig) -> None:
    map_stream(rig, FunctionResponseTypes=REPORTS)
    put(rig, "a", "b", "c", "d")
    rig.invoker.answer = report("d", "b")
    rig.advance(0)
    rig.invoker.answer = lambda _: answered({"batchItemFailures": []})

    rig.advance(10)

    assert calls(rig) == [list("abcd"), list("bcd")]


def test_rest_behind_a_reported_record_is_given_up_with_it(rig: Rig) -> None:
    map_stream(rig, FunctionResponseTypes=REPORTS, MaximumRetryAttempts=1, DestinationConfig=ON_FAILURE)
    numbers = put(rig, "a", "b", "c")
    rig.invoker.answer = report("b")

    rig.advance(60)

    assert calls(rig) == [list("abc"), list("bc")]
    (record,) = failures(rig)
    assert record["KinesisBatchInfo"]["startSequenceNumber"] == numbers[1]
    assert record["KinesisBatchInfo"]["batchSize"] == 2
    assert record["responseContext"] == {"statusCode": 200, "executedVersion": "$LATEST", "functionError": None}
    assert record["requestContext"]["approximateInvokeCount"] == 2


def test_reported_rest_is_given_up_at_once_without_retries(rig: Rig) -> None:
    map_stream(rig, FunctionResponseTypes=REPORTS, MaximumRetryAttempts=0, DestinationConfig=ON_FAILURE)
    numbers = put(rig, "a", "b", "c")
    rig.invoker.answer = report("b")

    rig.advance(60)

    assert calls(rig) == [list("abc")]
    (record,) = failures(rig)
    assert record["KinesisBatchInfo"]["startSequenceNumber"] == numbers[1]
    assert record["KinesisBatchInfo"]["endSequenceNumber"] == numbers[2]


@pytest.mark.parametrize(
    "value",
    [
        {"batchItemFailures": [{"itemIdentifier": ""}]},
        {"batchItemFailures": [{"itemIdentifier": None}]},
        {"batchItemFailures": [{"foo": "1"}]},
        {"batchItemFailures": [{"itemIdentifier": "unknown"}]},
        {"batchItemFailures": "no list"},
        [1],
    ],
)
def test_answer_that_is_none_fails_the_whole_batch(rig: Rig, value: object) -> None:
    map_stream(rig, FunctionResponseTypes=REPORTS, MaximumRetryAttempts=1, DestinationConfig=ON_FAILURE)
    put(rig, "a", "b")
    rig.invoker.answer = lambda _: answered(value)

    rig.advance(60)

    assert calls(rig) == [list("ab"), list("ab")]
    assert len(failures(rig)) == 1


@pytest.mark.parametrize("value", [{"batchItemFailures": []}, {"batchItemFailures": None}, {}, None, ""])
def test_answer_without_failures_is_success(rig: Rig, value: object) -> None:
    map_stream(rig, FunctionResponseTypes=REPORTS)
    put(rig, "a", "b")
    rig.invoker.answer = lambda _: answered(value)

    rig.advance(60)

    assert calls(rig) == [list("ab")]


def test_batching_window_waits_for_more_records_or_a_full_batch(rig: Rig) -> None:
    map_stream(rig, BatchSize=3, MaximumBatchingWindowInSeconds=10)
    put(rig, "a")
    rig.advance(9)
    assert calls(rig) == []
    put(rig, "b")
    rig.advance(1)
    assert calls(rig) == [list("ab")]

    put(rig, "c", "d", "e")
    rig.advance(0)

    assert calls(rig) == [list("ab"), list("cde")]


def test_records_of_a_child_wait_for_those_of_its_parent(rig: Rig) -> None:
    map_stream(rig)
    put(rig, "a")
    rig.invoker.answer = fail_on("a")
    rig.advance(0)
    rig.store.run(lambda tx: rig.around.stream.split(tx, FIRST, "left", "right"))
    put(rig, "b", shard="left")
    put(rig, "c", shard="right")
    rig.advance(1)
    assert {tuple(call) for call in calls(rig)} == {("a",)}

    rig.invoker.answer = lambda _: answered(None)
    rig.advance(60)

    assert calls(rig)[-3] == ["a"]
    assert sorted(calls(rig)[-2:]) == [["b"], ["c"]]


def test_shard_that_comes_long_after_its_parent_is_done_is_read(rig: Rig) -> None:
    map_stream(rig)
    put(rig, "a")
    rig.store.run(lambda tx: rig.around.stream.split(tx, FIRST))
    rig.advance(100)

    rig.store.run(lambda tx: rig.around.stream.split(tx, FIRST, "late"))
    put(rig, "b", shard="late")
    rig.advance(0)

    assert calls(rig) == [["a"], ["b"]]


def test_shards_do_not_wait_for_each_other(rig: Rig) -> None:
    rig.around.stream.open["second"] = rig.around.stream.open[FIRST].__class__("second")
    map_stream(rig)
    put(rig, "a")
    put(rig, "b", shard="second")
    rig.invoker.answer = fail_on("a")

    rig.advance(10)

    assert ["b"] in calls(rig)


def start_all(rig: Rig, slots: int = 50) -> list[Any]:
    """The batches that begin now if there are slots for all of them, with half of the slots for one function."""
    return list(rig.store.run(lambda tx: rig.streams.claim(tx, free=FreeSlots(slots))))


def settle(rig: Rig, attempt: Any, result: InvocationResult) -> None:
    rig.store.run(lambda tx: rig.streams.settle(tx, attempt, result))


def test_parallel_batches_of_a_shard_share_no_partition_key_and_keep_its_order(rig: Rig) -> None:
    map_stream(rig, ParallelizationFactor=3, BatchSize=2)
    put(rig, *((str(number % 10), number) for number in range(40)))

    done: dict[str, list[str]] = {}
    for _ in range(40):
        begun = start_all(rig)
        under_way = [set(keys(json.loads(one.invocation.payload))) for one in begun]
        assert sum(map(len, under_way)) == len(set().union(*under_way)) if under_way else True
        for one in begun:
            for record in json.loads(one.invocation.payload)["Records"]:
                kinesis = record["kinesis"]
                done.setdefault(kinesis["partitionKey"], []).append(kinesis["sequenceNumber"])
            settle(rig, one, answered(None))

    assert sum(map(len, done.values())) == 40
    assert all(numbers == sorted(numbers) for numbers in done.values())


def test_factor_is_changed_without_doing_a_record_twice(rig: Rig) -> None:
    uuid = map_stream(rig, ParallelizationFactor=4, BatchSize=1)
    put(rig, *map(str, range(20)))
    first, *others = start_all(rig)
    for one in others:
        settle(rig, one, answered(None))
    rig.call("UpdateEventSourceMapping", UUID=uuid, ParallelizationFactor=2)
    rig.advance(0)
    settle(rig, first, answered(None))

    rig.advance(10)

    begun = [keys(json.loads(one.invocation.payload)) for one in (first, *others)]
    assert sorted(key for (key,) in (*begun, *calls(rig))) == sorted(map(str, range(20)))


def test_batch_that_never_answers_comes_again_when_its_lease_ends(rig: Rig) -> None:
    map_stream(rig, MaximumRetryAttempts=0)
    put(rig, "a")
    (lost,) = start_all(rig)

    rig.advance(62)
    assert calls(rig) == []
    rig.advance(1)

    assert calls(rig) == [["a"]]
    settle(rig, lost, raised("too late"))
    rig.advance(100)
    assert calls(rig) == [["a"]]


def test_restart_takes_a_batch_up_again_at_once(rig: Rig) -> None:
    """As after kill -9: the server that starts is alone on the store, and ends the leases of the one before."""
    map_stream(rig, BatchSize=1)
    put(rig, "a", "b")
    start_all(rig)

    rig.store.run(lambda tx: tx.deliveries.end_leases(tx.now))
    rig.advance(0)

    assert calls(rig) == [["a"], ["b"]]


def test_position_moves_with_the_settlement_only(rig: Rig) -> None:
    map_stream(rig, BatchSize=1)
    put(rig, "a", "b")
    (attempt,) = start_all(rig)
    assert start_all(rig) == []

    settle(rig, attempt, answered(None))

    (following,) = start_all(rig)
    assert keys(json.loads(following.invocation.payload)) == ["b"]


def test_filters_leave_records_out_and_the_shard_goes_on(rig: Rig) -> None:
    pattern = json.dumps({"data": {"n": [{"numeric": [">", 1]}]}})
    map_stream(rig, FilterCriteria={"Filters": [{"Pattern": pattern}]})
    put(rig, ("a", {"n": 1}), ("b", {"n": 2}), ("c", b"no JSON"), ("d", {"n": 3}), ("e", {"n": 0}))

    rig.advance(0)
    put(rig, ("f", {"n": 9}))
    rig.advance(0)

    assert calls(rig) == [["b", "d"], ["f"]]


def windows(rig: Rig) -> list[tuple[list[str], object, bool, bool]]:
    """Of each call: the keys, the state, whether it is the window's last, and whether the window ended early."""
    return [
        (keys(event), event["state"], event["isFinalInvokeForWindow"], event["isWindowTerminatedEarly"])
        for event in rig.invoker.events
    ]


def counting(ran: Invocation) -> InvocationResult:
    """A function that counts the records of a window."""
    event = json.loads(ran.payload)
    return answered({"state": {"n": event["state"].get("n", 0) + len(event["Records"])}})


def test_tumbling_window_keeps_state_from_call_to_call_and_ends_with_a_last_call(rig: Rig) -> None:
    map_stream(rig, TumblingWindowInSeconds=30, BatchSize=2)
    rig.invoker.answer = counting
    put(rig, "a", "b", "c")
    rig.advance(30)

    put(rig, "d")
    rig.advance(0)

    assert windows(rig) == [
        (["a", "b"], {}, False, False),
        (["c"], {"n": 2}, False, False),
        ([], {"n": 3}, True, False),
        (["d"], {}, False, False),
    ]
    assert rig.invoker.events[0]["window"] == {"start": "2025-01-01T00:00:00Z", "end": "2025-01-01T00:00:30Z"}
    assert rig.invoker.events[0]["shardId"] == FIRST
    assert rig.invoker.events[0]["eventSourceARN"] == STREAM


def test_window_without_new_records_ends_two_minutes_after_its_end(rig: Rig) -> None:
    map_stream(rig, TumblingWindowInSeconds=30)
    rig.invoker.answer = counting
    put(rig, "a")
    rig.advance(149.9)
    assert len(rig.invoker.events) == 1

    rig.advance(0.1)

    assert windows(rig)[1:] == [([], {"n": 1}, True, False)]


def test_answer_without_a_state_fails_in_a_window(rig: Rig) -> None:
    map_stream(rig, TumblingWindowInSeconds=30, MaximumRetryAttempts=1, DestinationConfig=ON_FAILURE)
    rig.invoker.answer = lambda _: answered({"no": "state"})
    put(rig, "a")

    rig.advance(10)

    assert len(rig.invoker.events) == 2
    assert len(failures(rig)) == 1


def test_window_whose_state_is_too_large_ends_early_and_goes_on_empty(rig: Rig) -> None:
    map_stream(rig, TumblingWindowInSeconds=30, BatchSize=1)
    sizes = iter([1_100_000, 1, 1, 1])
    rig.invoker.answer = lambda _: answered({"state": {"x": "y" * next(sizes)}})
    put(rig, "a", "b")

    rig.advance(0)

    found = [(keys, final, early) for keys, _, final, early in windows(rig)]
    assert found == [(["a"], False, False), ([], True, True), (["b"], False, False)]
    assert windows(rig)[2][1] == {}


def test_window_of_a_shard_that_ends_is_closed_before_its_children_are_read(rig: Rig) -> None:
    map_stream(rig, TumblingWindowInSeconds=30)
    rig.invoker.answer = counting
    put(rig, "a")
    rig.advance(1)
    rig.store.run(lambda tx: rig.around.stream.split(tx, FIRST, "left"))
    put(rig, "b", shard="left")

    rig.advance(0)

    assert windows(rig) == [
        (["a"], {}, False, False),
        ([], {"n": 1}, True, False),
        (["b"], {}, False, False),
    ]


def test_stream_that_is_gone_is_asked_again_a_minute_later(rig: Rig) -> None:
    uuid = map_stream(rig)
    put(rig, "a")
    rig.around.stream.is_gone = True
    rig.advance(0)
    assert rig.call("GetEventSourceMapping", UUID=uuid)["LastProcessingResult"] == (
        f"PROBLEM: Stream {STREAM} not found."
    )

    rig.around.stream.is_gone = False
    rig.advance(60)

    assert calls(rig) == [["a"]]


def test_mapping_of_a_function_made_again_goes_on(rig: Rig) -> None:
    map_stream(rig)
    rig.call("DeleteFunction", FunctionName="worker")
    put(rig, "a")
    rig.advance(10)
    assert calls(rig) == []

    rig.create_function()
    rig.advance(0)

    assert calls(rig) == [["a"]]


def test_deleted_mapping_leaves_nothing_behind(rig: Rig) -> None:
    uuid = map_stream(rig)
    put(rig, "a")
    (attempt,) = start_all(rig)

    rig.call("DeleteEventSourceMapping", UUID=uuid)
    settle(rig, attempt, answered(None))

    def kinds(tx: Transaction) -> list[Any]:
        rows = tx.resources._database.all("SELECT kind FROM resources WHERE kind LIKE 'lambda.shard%'", {})  # noqa: SLF001
        return list(rows)

    assert rig.store.run(kinds) == []


def test_records_that_expire_in_the_stream_free_the_shard(rig: Rig) -> None:
    map_stream(rig)
    put(rig, "a")
    rig.invoker.answer = fail_on("a")
    rig.advance(24 * 3_600 + 61)
    before = len(rig.invoker.events)
    put(rig, "b")

    rig.advance(120)

    assert calls(rig)[before:] == [["b"]]


def test_history_has_one_run_for_a_batch_with_all_its_attempts(rig: Rig) -> None:
    map_stream(rig, MaximumRetryAttempts=1, DestinationConfig=ON_FAILURE)
    (number,) = put(rig, "a")
    rig.invoker.answer = fail_on("a")

    rig.advance(60)

    first, second = attempts(rig)
    assert (first.attempt, first.state.value, first.code, first.message) == (1, "retrying", "Unhandled", "poison")
    assert (second.attempt, second.state.value, second.letter_arn) == (2, "dead-lettered", f"{QUEUE_ARN}failed")
    assert second.led_to == rig.messages("failed")[0]["MessageId"]
    run = rig.store.run(lambda tx: tx.attempts.run(second.delivery_id))
    assert run is not None
    assert run.execution_id == f"{FIRST}:{number}"


def test_destination_that_is_gone_loses_the_record_and_the_shard_goes_on(rig: Rig) -> None:
    map_stream(rig, MaximumRetryAttempts=0, BatchSize=1, DestinationConfig=ON_FAILURE)
    rig.sqs("DeleteQueue", QueueUrl="failed")
    put(rig, "a", "b")
    rig.invoker.answer = fail_on("a")

    rig.advance(0)

    assert calls(rig) == [["a"], ["b"]]
    (lost,) = [one for one in attempts(rig) if one.state.value == "dropped"]
    assert lost.why.startswith(f"the record to {QUEUE_ARN}failed failed with ")
