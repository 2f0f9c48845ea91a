"""Quotas hold in an engine with strict limits, and do not in one with relaxed limits."""

from __future__ import annotations

import pytest

from redrive.core.limits import Limits
from redrive.services.sqs import limits as quotas
from tests.unit.services.sqs.conftest import refused

SENT = 1_000


@pytest.mark.parametrize(
    ("limits", "name", "codes", "is_all_given"),
    [
        (Limits.STRICT, "orders", {None, "OverLimit"}, False),
        (Limits.STRICT, "orders.fifo", {None}, False),
        (Limits.RELAXED, "orders", {None}, True),
        (Limits.RELAXED, "orders.fifo", {None}, True),
    ],
)
def test_too_many_messages_in_flight(monkeypatch, call_under, limits, name, codes, is_all_given):
    """A standard queue refuses, a FIFO queue gives nothing more, and without quotas both give all they have."""
    monkeypatch.setattr(quotas, "IN_FLIGHT_MAX", 50)
    call = call_under(limits)
    call("CreateQueue", QueueName=name, Attributes={"FifoQueue": "true"} if name.endswith(".fifo") else {})
    for number in range(SENT):
        ids = {"MessageGroupId": str(number), "MessageDeduplicationId": str(number)} if name.endswith(".fifo") else {}
        call("SendMessage", QueueUrl=name, MessageBody="1", **ids)

    answered = {refused(call, "ReceiveMessage", QueueUrl=name, MaxNumberOfMessages=10) for _ in range(SENT // 10)}

    shown = call("GetQueueAttributes", QueueUrl=name, AttributeNames=["ApproximateNumberOfMessagesNotVisible"])
    in_flight = int(shown["Attributes"]["ApproximateNumberOfMessagesNotVisible"])
    assert answered == codes
    assert (in_flight == SENT) is is_all_given


@pytest.mark.parametrize(("limits", "code"), [(Limits.STRICT, "PurgeQueueInProgress"), (Limits.RELAXED, None)])
def test_second_purge_within_a_minute(call_under, limits, code):
    """It is refused where quotas hold."""
    call = call_under(limits)
    call("CreateQueue", QueueName="orders")
    call("PurgeQueue", QueueUrl="orders")

    assert refused(call, "PurgeQueue", QueueUrl="orders") == code


@pytest.mark.parametrize("limits", Limits)
def test_shapes_hold_whatever_the_limits(call_under, limits):
    call = call_under(limits)
    call("CreateQueue", QueueName="orders")

    assert refused(call, "CreateQueue", QueueName="a b") == "InvalidParameterValueException"
    assert refused(call, "SendMessage", QueueUrl="orders", MessageBody="") == "MissingRequiredParameterException"
    entries = [{"Id": str(number), "MessageBody": "1"} for number in range(11)]
    assert refused(call, "SendMessageBatch", QueueUrl="orders", Entries=entries) == "TooManyEntriesInBatchRequest"
