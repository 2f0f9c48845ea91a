"""Answers of batch handlers name exactly the records that have to come again."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from redrive.handler import (
    BatchFailed,
    MemoryLedger,
    SqsRecord,
    dynamodb_batch,
    idempotent,
    kinesis_batch,
    path,
    sqs_batch,
)
from tests.unit.handler.conftest import START, FakeContext, HandClock

STANDARD = "arn:aws:sqs:us-east-1:000000000000:jobs"


def message(id: str, body: object = "ok", group: str | None = None) -> dict[str, object]:
    attributes = {"ApproximateReceiveCount": "1"} | ({"MessageGroupId": group} if group else {})
    arn = STANDARD + ".fifo" if group else STANDARD
    return {"messageId": id, "body": json.dumps(body), "attributes": attributes, "eventSourceARN": arn}


def failures(*ids: str) -> dict[str, list[dict[str, str]]]:
    return {"batchItemFailures": [{"itemIdentifier": id_} for id_ in ids]}


class Work:
    """Fails for the bodies "bad", and remembers what it was asked to do."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def __call__(self, record: SqsRecord) -> None:
        self.done.append(record["messageId"])
        if json.loads(record["body"]) == "bad":
            raise ValueError("bad body")

    async def run_async(self, record: SqsRecord) -> None:
        await asyncio.sleep(0)
        self(record)


def test_whole_success_answers_an_empty_list() -> None:
    assert sqs_batch(Work())({"Records": [message("1"), message("2")]}, None) == failures()


def test_message_that_fails_comes_again_and_the_others_do_not() -> None:
    work = Work()

    answer = sqs_batch(work)({"Records": [message("1"), message("2", "bad"), message("3")]}, None)

    assert answer == failures("2")
    assert work.done == ["1", "2", "3"]


@pytest.mark.parametrize("is_async", [False, True])
def test_fifo_group_is_handed_back_from_its_first_failure_on(is_async: bool) -> None:
    """The rest of the group comes again unprocessed; other groups go on."""
    work = Work()
    records = [
        message("1", group="a"),
        message("2", "bad", group="a"),
        message("3", group="b"),
        message("4", group="a"),
        message("5", group="b"),
    ]

    answer = sqs_batch(work.run_async if is_async else work)({"Records": records}, None)

    assert answer == failures("2", "4")
    assert sorted(work.done) == ["1", "2", "3", "5"]


def test_groups_of_standard_queues_keep_no_order() -> None:
    """Standard queues take group ids too, for fairness."""
    records = [message("1", "bad"), message("2")]
    for record in records:
        record["attributes"] = {"MessageGroupId": "tenant"}
    work = Work()

    assert sqs_batch(work)({"Records": records}, None) == failures("1")
    assert work.done == ["1", "2"]


def test_async_messages_run_side_by_side_within_the_bound() -> None:
    running, most = 0, 0

    async def work(record: SqsRecord) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        running -= 1
        if record["messageId"] == "7":
            raise ValueError

    answer = sqs_batch(work, concurrency=3)({"Records": [message(str(n)) for n in range(10)]}, None)

    assert answer == failures("7")
    assert most == 3


def test_messages_of_one_group_never_run_side_by_side() -> None:
    order: list[str] = []

    async def work(record: SqsRecord) -> None:
        order.append(f"begin {record['messageId']}")
        await asyncio.sleep(0)
        order.append(f"end {record['messageId']}")

    sqs_batch(work)({"Records": [message("1", group="a"), message("2", group="a")]}, None)

    assert order == ["begin 1", "end 1", "begin 2", "end 2"]


@pytest.mark.parametrize("is_async", [False, True])
def test_messages_that_there_is_no_time_for_come_again(clock: HandClock, is_async: bool) -> None:
    def work(record: SqsRecord) -> None:
        clock.advance(2)

    async def work_async(record: SqsRecord) -> None:
        work(record)

    context = FakeContext(START + 4_500, clock)

    answer = sqs_batch(work_async if is_async else work)({"Records": [message(str(n)) for n in range(4)]}, context)

    assert answer == failures("2", "3")


def test_duplicate_of_a_running_execution_is_deferred_and_not_taken_for_done(clock: HandClock) -> None:
    ledger = MemoryLedger(clock=clock)
    ledger.begin("a")
    run = idempotent(key=path("body.id"), ledger=ledger)(lambda _: None)

    assert sqs_batch(run)({"Records": [message("1", {"id": "a"}), message("2", {"id": "b"})]}, None) == failures("1")


def test_leases_in_a_batch_are_as_long_as_the_invocation(clock: HandClock) -> None:
    ledger = MemoryLedger(clock=clock)
    leases: list[int | None] = []

    @idempotent(key=path("body.id"), ledger=ledger)
    def run(record: SqsRecord) -> None:
        known = ledger.read("a")
        assert known is not None
        leases.append(known.lease_ends_at)

    sqs_batch(run)({"Records": [message("1", {"id": "a"})]}, FakeContext(START + 30_000, clock))

    assert leases == [START + 31_000]


def test_duplicates_within_one_batch_run_once(clock: HandClock) -> None:
    ledger, runs = MemoryLedger(clock=clock), []

    @idempotent(key=path("body.id"), ledger=ledger)
    def run(record: SqsRecord) -> None:
        runs.append(record["messageId"])

    assert sqs_batch(run)({"Records": [message("1", {"id": "a"}), message("2", {"id": "a"})]}, None) == failures()
    assert runs == ["1"]


def test_failure_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "redrive.handler"):
        sqs_batch(Work())({"Records": [message("1", "bad")]}, None)

    assert "record 1 has to come again: bad body" in caplog.text
    assert "Traceback" in caplog.text


def test_report_that_fails_fails_no_other_record_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def report(identifier: str, error: Exception) -> None:
        raise RuntimeError("the reporter is down")

    handler = sqs_batch(Work(), on_failure=report)

    assert handler({"Records": [message("1", "bad"), message("2")]}, None) == failures("1")
    assert "bad body" in caplog.text
    assert "the reporter is down" in caplog.text
    assert "on_failure raised this when it was given record 1" in caplog.text


def test_async_report_is_logged_because_nobody_would_await_it(caplog: pytest.LogCaptureFixture) -> None:
    async def report(identifier: str, error: Exception) -> None: ...

    assert sqs_batch(Work(), on_failure=report)({"Records": [message("1", "bad")]}, None) == failures("1")
    assert "bad body" in caplog.text
    assert "returned a coroutine" in caplog.text


def test_batch_that_failed_whole_is_raised_for_mappings_that_read_no_answers() -> None:
    handler = sqs_batch(Work(), on_total_failure="raise", on_failure=lambda *_: None)

    with pytest.raises(BatchFailed):
        handler({"Records": [message("1", "bad")]}, None)

    assert handler({"Records": [message("1", "bad"), message("2")]}, None) == failures("1")
    assert handler({"Records": []}, None) == failures()


def test_process_that_is_killed_is_no_failed_record() -> None:
    def work(record: SqsRecord) -> None:
        raise SystemExit

    with pytest.raises(SystemExit):
        sqs_batch(work)({"Records": [message("1")]}, None)


@pytest.mark.parametrize("event", [{}, {"Records": None}, {"Records": [{"kinesis": {}}]}, {"Records": [1]}])
def test_event_that_is_no_batch_of_a_queue_is_refused(event: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="messageId"):
        sqs_batch(Work())(event, None)


def kinesis(number: int, body: str = "ok", key: str = "k") -> dict[str, object]:
    data = {"sequenceNumber": str(number), "partitionKey": key, "data": body}
    return {"kinesis": data, "eventID": f"shardId-0:{number}", "eventSourceARN": "arn:k"}


def change(number: int, item: str = "a", body: str = "ok") -> dict[str, object]:
    values = {"SequenceNumber": str(number), "Keys": {"id": {"S": item}}, "NewImage": {"body": {"S": body}}}
    return {"dynamodb": values, "eventName": "INSERT", "eventSourceARN": "arn:d"}


def test_stream_stops_at_the_first_failure_and_names_it() -> None:
    done: list[str] = []

    def work(record) -> None:
        done.append(record["kinesis"]["sequenceNumber"])
        if record["kinesis"]["data"] == "bad":
            raise ValueError

    records = [kinesis(10, key="a"), kinesis(11, "bad", "b"), kinesis(12, key="c"), kinesis(13, "bad", "d")]

    assert kinesis_batch(work)({"Records": records}, None) == failures("11")
    assert done == ["10", "11"]


def test_async_stream_names_the_lowest_failed_number_whichever_failed_first() -> None:
    async def work(record) -> None:
        for _ in range(5 if record["kinesis"]["partitionKey"] == "slow" else 0):
            await asyncio.sleep(0)
        if record["kinesis"]["data"] == "bad":
            raise ValueError

    records = [kinesis(10, key="x"), kinesis(11, "bad", "slow"), kinesis(12, "bad", "fast"), kinesis(13, key="fast")]

    assert kinesis_batch(work)({"Records": records}, None) == failures("11")


def test_async_stream_keeps_the_order_of_each_item() -> None:
    order: list[str] = []

    async def work(record) -> None:
        await asyncio.sleep(0)
        order.append(record["dynamodb"]["SequenceNumber"])

    records = [change(1), change(2), change(3, "b"), change(4)]

    assert dynamodb_batch(work)({"Records": records}, None) == failures()
    assert [number for number in order if number != "3"] == ["1", "2", "4"]


def test_dynamodb_stream_names_the_lowest_failed_number() -> None:
    def work(record) -> None:
        if record["dynamodb"]["NewImage"]["body"]["S"] == "bad":
            raise ValueError

    assert dynamodb_batch(work)({"Records": [change(1), change(2, body="bad"), change(3)]}, None) == failures("2")


def test_concurrency_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="concurrency"):
        sqs_batch(Work(), concurrency=0)
