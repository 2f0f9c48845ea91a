"""Batches: makes a handler of a batch from a function of one record; the answer names the records to deliver again.

The event source mapping must have `FunctionResponseTypes: [ReportBatchItemFailures]`: without it Lambda
ignores the answer and counts every record as done. To process each record once, decorate the function with
`idempotent`.

    standard queue   each record is independent
    FIFO queue       in order within a group; after a failure the rest of the group is returned unprocessed
    streams          in order; after a failure later results do not count, because Lambda retries from the failed record
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Generic, Literal, NamedTuple, TypeVar, cast

from redrive.handler.errors import HandlerError
from redrive.handler.functions import is_async, refuse_unrun
from redrive.handler.lambda_context import invocation, remaining_ms
from redrive.handler.records import BatchResponse, DynamoDBRecord, KinesisRecord, SqsRecord

Record = TypeVar("Record")
BatchHandler = Callable[[Mapping[str, object], object], BatchResponse]
OnFailure = Callable[[str, Exception], object]

CONCURRENCY_DEFAULT = 10
RESERVE_S_DEFAULT = 1.0


class BatchFailed(HandlerError):
    """Every record of a batch failed, and the handler was told to raise in that case."""


def log_failure(identifier: str, error: Exception) -> None:
    """Log a failed record as a warning, with its traceback, under the logger `redrive.handler`."""
    import logging

    logging.getLogger("redrive.handler").warning("record %s has to come again: %s", identifier, error, exc_info=error)


def sqs_batch(
    record_handler: Callable[[SqsRecord], object],
    *,
    concurrency: int = CONCURRENCY_DEFAULT,
    reserve_s: float = RESERVE_S_DEFAULT,
    on_failure: OnFailure = log_failure,
    on_total_failure: Literal["report", "raise"] = "report",
) -> BatchHandler:
    """Make a handler for a queue's batches from a function of one message, plain or async.

    Async functions run up to `concurrency` at a time, but never two messages of one FIFO group. When less than
    `reserve_s` remains of the invocation, no further message is begun; the rest is returned unprocessed.
    on_total_failure "raise" raises BatchFailed if no message succeeded: for mappings that do not read answers, with
    batches of one.

    Errors (of the handler): ValueError for an event that is not a batch of a queue. An exception of the function is
    passed to `on_failure`, and its message comes again. So does the message of a plain function that returns a
    coroutine: nothing ran.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
    """
    if on_total_failure not in {"report", "raise"}:
        raise ValueError(f'on_total_failure is "report" or "raise", not {on_total_failure!r}')
    run = _Run(record_handler, concurrency, reserve_s, on_failure, stops_at_failure=False)

    def handler(event: Mapping[str, object], context: object) -> BatchResponse:
        items = [_sqs_item(place, record) for place, record in enumerate(_records(event, "messageId"))]
        failed = run(items, context)
        if items and len(failed) == len(items) and on_total_failure == "raise":
            raise BatchFailed(f"all {len(items)} messages of the batch failed")
        return _response(items[place].identifier for place in failed)

    return handler


def kinesis_batch(
    record_handler: Callable[[KinesisRecord], object],
    *,
    concurrency: int = CONCURRENCY_DEFAULT,
    reserve_s: float = RESERVE_S_DEFAULT,
    on_failure: OnFailure = log_failure,
) -> BatchHandler:
    """Make a handler for a Kinesis stream's batches from a function of one record, plain or async.

    Plain functions run in order and stop at the first failure. Async functions run up to `concurrency` partition keys
    at a time, each in order; records after the failed one come again even if they succeeded, so make them idempotent.
    The answer names the lowest failed sequence number. Everything else is as in `sqs_batch`.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/services-kinesis-batchfailurereporting.html
    """
    run = _Run(record_handler, concurrency, reserve_s, on_failure, stops_at_failure=True)

    def handler(event: Mapping[str, object], context: object) -> BatchResponse:
        return _checkpoint(run, [_kinesis_item(record) for record in _records(event, "kinesis")], context)

    return handler


def dynamodb_batch(
    record_handler: Callable[[DynamoDBRecord], object],
    *,
    concurrency: int = CONCURRENCY_DEFAULT,
    reserve_s: float = RESERVE_S_DEFAULT,
    on_failure: OnFailure = log_failure,
) -> BatchHandler:
    """Make a handler for a DynamoDB stream's batches, as `kinesis_batch`, with the item's key as the partition key.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
    """
    run = _Run(record_handler, concurrency, reserve_s, on_failure, stops_at_failure=True)

    def handler(event: Mapping[str, object], context: object) -> BatchResponse:
        return _checkpoint(run, [_dynamodb_item(record) for record in _records(event, "dynamodb")], context)

    return handler


class _Item(NamedTuple, Generic[Record]):
    """A record, its identifier in the answer, and the lane within which it keeps its order."""

    record: Record
    identifier: str
    lane: str


def _sqs_item(place: int, record: Mapping[str, object]) -> _Item[SqsRecord]:
    message = cast("SqsRecord", record)
    is_fifo = message.get("eventSourceARN", "").endswith(".fifo")  # Standard queues have groups too, and no order.
    lane = message["attributes"].get("MessageGroupId", "") if is_fifo else str(place)
    return _Item(message, message["messageId"], lane)


def _kinesis_item(record: Mapping[str, object]) -> _Item[KinesisRecord]:
    kinesis = cast("KinesisRecord", record)
    return _Item(kinesis, kinesis["kinesis"]["sequenceNumber"], kinesis["kinesis"]["partitionKey"])


def _dynamodb_item(record: Mapping[str, object]) -> _Item[DynamoDBRecord]:
    change = cast("DynamoDBRecord", record)
    return _Item(change, change["dynamodb"]["SequenceNumber"], json.dumps(change["dynamodb"]["Keys"], sort_keys=True))


class _Run(Generic[Record]):
    """Runs the records of a batch and returns the places of those to deliver again, in order."""

    def __init__(
        self,
        record_handler: Callable[[Record], object],
        concurrency: int,
        reserve_s: float,
        on_failure: OnFailure,
        *,
        stops_at_failure: bool,
    ) -> None:
        if concurrency < 1:
            raise ValueError(f"a concurrency of {concurrency} runs nothing: at least 1")
        self._record_handler = record_handler
        self._concurrency = concurrency
        self._reserve_ms = reserve_s * 1000
        self._on_failure = on_failure
        self._stops_at_failure = stops_at_failure
        self._is_async = is_async(record_handler)

    def __call__(self, items: list[_Item[Record]], context: object) -> list[int]:
        progress = _Progress(self._stops_at_failure)
        with invocation(context):
            if self._is_async:
                import asyncio

                asyncio.run(self._all_async(items, progress))
            else:
                self._all(items, progress)
        return sorted(progress.failed)

    def _all(self, items: list[_Item[Record]], progress: _Progress) -> None:
        for place, item in enumerate(items):
            if progress.must_skip(place, item.lane) or self._is_late():
                progress.add(place, item.lane)
                continue
            try:
                refuse_unrun(self._record_handler(item.record), self._record_handler)
            except Exception as error:  # noqa: BLE001 - One record's failure is not the batch's: this is its supervisor.
                progress.add(place, item.lane)
                self._report(item.identifier, error)

    async def _all_async(self, items: list[_Item[Record]], progress: _Progress) -> None:
        import asyncio

        room = asyncio.Semaphore(self._concurrency)
        lanes: dict[str, list[int]] = {}
        for place, item in enumerate(items):
            lanes.setdefault(item.lane, []).append(place)

        async def run_lane(places: list[int]) -> None:
            for place in places:
                async with room:
                    await self._one_async(place, items[place], progress)

        await asyncio.gather(*(run_lane(places) for places in lanes.values()))

    async def _one_async(self, place: int, item: _Item[Record], progress: _Progress) -> None:
        if progress.must_skip(place, item.lane) or self._is_late():
            progress.add(place, item.lane)
            return
        try:
            result = await cast("Awaitable[object]", self._record_handler(item.record))
            refuse_unrun(result, self._record_handler)
        except Exception as error:  # noqa: BLE001 - As in _all.
            progress.add(place, item.lane)
            self._report(item.identifier, error)

    def _report(self, identifier: str, error: Exception) -> None:
        try:
            refuse_unrun(self._on_failure(identifier, error), self._on_failure)
        except Exception as trouble:  # noqa: BLE001 - It would make the records that succeeded come again as well.
            trouble.add_note(f"on_failure raised this when it was given record {identifier}")
            log_failure(identifier, error)
            log_failure(identifier, trouble)

    def _is_late(self) -> bool:
        remaining = remaining_ms()
        return remaining is not None and remaining < self._reserve_ms


class _Progress:
    """Which records have failed, and which records therefore need not be begun."""

    def __init__(self, stops_at_failure: bool) -> None:
        self.failed: set[int] = set()
        self._broken_lanes: set[str] = set()
        self._stops_at_failure = stops_at_failure
        self._first_failed: int | None = None

    def must_skip(self, place: int, lane: str) -> bool:
        """Whether an earlier failure makes this record come again in any case."""
        comes_again = self._stops_at_failure and self._first_failed is not None and place > self._first_failed
        return comes_again or lane in self._broken_lanes

    def add(self, place: int, lane: str) -> None:
        self.failed.add(place)
        self._broken_lanes.add(lane)
        self._first_failed = place if self._first_failed is None else min(place, self._first_failed)


def _checkpoint(run: _Run[Record], items: list[_Item[Record]], context: object) -> BatchResponse:
    """Lambda retries from the lowest sequence number in the answer; others would add nothing."""
    failed = run(items, context)
    return _response([items[failed[0]].identifier] if failed else [])


def _records(event: Mapping[str, object], member: str) -> list[Mapping[str, object]]:
    match event:
        case {"Records": list(records)} if all(isinstance(record, Mapping) and member in record for record in records):
            return records
        case _:
            raise ValueError(f"this handler takes batches: an event with Records, each with a {member}")


def _response(identifiers: Iterable[str]) -> BatchResponse:
    return {"batchItemFailures": [{"itemIdentifier": identifier} for identifier in identifiers]}
