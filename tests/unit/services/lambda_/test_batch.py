"""Batches, without a store: the event that a function sees, and what its answer leaves in the queue."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.delivery.outside.invocation import InvocationResult, InvocationStatus
from redrive.services.lambda_.model.batch import batches, messages_left, sqs_record
from redrive.services.lambda_.model.mapping import effective_visibility_s
from tests.unit.services.lambda_.functions import BROKEN, QUEUE_ARN, THROTTLED, raised

IDS = ["a", "b", "c"]

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(IDS)
documents = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["batchItemFailures", "itemIdentifier", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def ended(payload: bytes) -> InvocationResult:
    return InvocationResult(InvocationStatus.OK, payload=payload)


@pytest.mark.parametrize(
    "payload",
    ["", "null", '""', "{}", '{"batchItemFailures": null}', '{"batchItemFailures": []}', '{"statusCode": 200}'],
)
def test_answer_that_reports_nothing_leaves_nothing(payload: str) -> None:
    assert messages_left(ended(payload.encode()), IDS, reports_failures=True) == frozenset()


@pytest.mark.parametrize("left", [{"a"}, {"a", "c"}, {"a", "b", "c"}])
def test_reported_messages_stay_and_the_others_are_done(left: set[str]) -> None:
    failures = [{"itemIdentifier": message_id} for message_id in sorted(left)]
    payload = json.dumps({"batchItemFailures": failures}).encode()

    assert messages_left(ended(payload), IDS, reports_failures=True) == left


@pytest.mark.parametrize(
    "payload",
    [
        "no json",
        "7",
        '"done"',
        "[]",
        '{"batchItemFailures": "a"}',
        '{"batchItemFailures": ["a"]}',
        '{"batchItemFailures": [{"itemIdentifier": ""}]}',
        '{"batchItemFailures": [{"itemIdentifier": null}]}',
        '{"batchItemFailures": [{"foo": "a"}]}',
        '{"batchItemFailures": [{"itemIdentifier": "unknown"}]}',
        '{"batchItemFailures": [{"itemIdentifier": "a"}, {"itemIdentifier": "unknown"}]}',
    ],
)
def test_answer_that_cannot_be_understood_leaves_the_whole_batch(payload: str) -> None:
    assert messages_left(ended(payload.encode()), IDS, reports_failures=True) == frozenset(IDS)


@pytest.mark.parametrize("result", [raised("broken"), THROTTLED, BROKEN])
@pytest.mark.parametrize("reports", [False, True])
def test_run_that_did_not_succeed_leaves_the_whole_batch(result: InvocationResult, reports: bool) -> None:
    assert messages_left(result, IDS, reports_failures=reports) == frozenset(IDS)


def test_reports_count_only_for_mappings_that_ask_for_them() -> None:
    payload = b'{"batchItemFailures": [{"itemIdentifier": "a"}]}'

    assert messages_left(ended(payload), IDS, reports_failures=False) == frozenset()


@given(documents)
def test_what_stays_is_reported_by_id_or_is_everything(answer: Any) -> None:
    """Whatever a function answers, no message is left or done by accident."""
    left = messages_left(ended(json.dumps(answer).encode()), IDS, reports_failures=True)

    reported = _ids(answer)
    assert left == (frozenset(IDS) if reported is None else reported)


def _ids(answer: Any) -> frozenset[str] | None:
    """The table of AWS, read the other way round: None where all messages stay."""
    if answer in (None, "") or (isinstance(answer, dict) and answer.get("batchItemFailures") in (None, [])):
        return frozenset()
    try:
        found = {item["itemIdentifier"] for item in answer["batchItemFailures"]}
    except (KeyError, TypeError):
        return None
    return frozenset(found) if isinstance(answer["batchItemFailures"], list) and found <= set(IDS) else None


@given(st.lists(st.text(max_size=40), max_size=20), st.integers(min_value=100, max_value=1_000))
def test_batches_keep_all_records_in_order_and_within_the_bound(bodies: list[str], bytes_max: int) -> None:
    records = [{"messageId": str(n), "receiptHandle": f"r{n}", "body": body} for n, body in enumerate(bodies)]

    found = list(batches(records, bytes_max=bytes_max))

    events = [json.loads(batch.event)["Records"] for batch in found]
    assert [record for event in events for record in event] == records
    assert [list(batch.receipts) for batch in found] == [[record["messageId"] for record in event] for event in events]
    assert all(len(batch.event) <= bytes_max or len(batch.receipts) == 1 for batch in found)


def test_record_has_exactly_the_shape_of_aws() -> None:
    message = {
        "MessageId": "id",
        "ReceiptHandle": "handle",
        "MD5OfBody": "md5",
        "Body": "hello",
        "Attributes": {"ApproximateReceiveCount": "1"},
        "MD5OfMessageAttributes": "md5a",
        "MessageAttributes": {
            "text": {"DataType": "String", "StringValue": "v"},
            "bytes": {"DataType": "Binary", "BinaryValue": b"\x00\x01"},
        },
    }

    assert sqs_record(message, f"{QUEUE_ARN}orders") == {
        "messageId": "id",
        "receiptHandle": "handle",
        "body": "hello",
        "attributes": {"ApproximateReceiveCount": "1"},
        "messageAttributes": {
            "text": {"stringValue": "v", "stringListValues": [], "binaryListValues": [], "dataType": "String"},
            "bytes": {"binaryValue": "AAE=", "stringListValues": [], "binaryListValues": [], "dataType": "Binary"},
        },
        "md5OfBody": "md5",
        "md5OfMessageAttributes": "md5a",
        "eventSource": "aws:sqs",
        "eventSourceARN": f"{QUEUE_ARN}orders",
        "awsRegion": "us-east-1",
    }


@pytest.mark.parametrize(
    ("visibility_s", "window_s", "timeout_s", "effective"), [(30, 0, 30, None), (30, 1, 30, 61), (30, 20, 10, None)]
)
def test_visibility_that_is_too_short_is_lengthened(
    visibility_s: int, window_s: int, timeout_s: int, effective: int | None
) -> None:
    """Window + timeout + 30 s where window + timeout is longer than the queue's visibility timeout."""
    found = effective_visibility_s(visibility_s=visibility_s, window_s=window_s, timeout_s=timeout_s)

    assert found == effective
