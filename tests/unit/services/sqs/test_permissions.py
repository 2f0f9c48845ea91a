"""AddPermission and RemovePermission: statements of a queue's policy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.core.limits import Limits
from tests.unit.services.sqs.conftest import refused

GRANT = {"Label": "alice", "AWSAccountIds": ["111111111111"], "Actions": ["SendMessage"]}


@pytest.fixture
def policy(call, queue):
    """The policy of the queue, None if it has none."""

    def policy() -> dict[str, Any] | None:
        shown = call("GetQueueAttributes", QueueUrl=queue, AttributeNames=["Policy"])
        return json.loads(shown["Attributes"]["Policy"]) if shown else None

    return policy


def test_permission_is_a_statement_of_the_policy(call, queue, policy):
    call("AddPermission", QueueUrl=queue, **GRANT)

    assert policy() == {
        "Version": "2008-10-17",
        "Id": "arn:aws:sqs:us-east-1:000000000000:orders/SQSDefaultPolicy",
        "Statement": [
            {
                "Sid": "alice",
                "Effect": "Allow",
                "Principal": {"AWS": "arn:aws:iam::111111111111:root"},
                "Action": "SQS:SendMessage",
                "Resource": "arn:aws:sqs:us-east-1:000000000000:orders",
            }
        ],
    }


def test_permission_joins_a_policy_that_is_there(call, queue, policy):
    statement = {"Sid": "own", "Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}
    call("SetQueueAttributes", QueueUrl=queue, Attributes={"Policy": json.dumps({"Statement": statement})})

    many = {"AWSAccountIds": ["111111111111", "222222222222"], "Actions": ["SendMessage", "ReceiveMessage"]}
    call("AddPermission", QueueUrl=queue, Label="many", **many)

    own, added = policy()["Statement"]
    assert own == statement
    assert added["Principal"]["AWS"] == ["arn:aws:iam::111111111111:root", "arn:aws:iam::222222222222:root"]
    assert added["Action"] == ["SQS:SendMessage", "SQS:ReceiveMessage"]


def test_removed_permission_leaves_the_others(call, queue, policy):
    call("AddPermission", QueueUrl=queue, **GRANT)
    call("AddPermission", QueueUrl=queue, **{**GRANT, "Label": "bob"})

    call("RemovePermission", QueueUrl=queue, Label="alice")
    assert [statement["Sid"] for statement in policy()["Statement"]] == ["bob"]
    call("RemovePermission", QueueUrl=queue, Label="bob")
    assert policy() is None


def test_label_in_use_is_refused(call, refusal, queue):
    call("AddPermission", QueueUrl=queue, **GRANT)

    assert refusal("AddPermission", QueueUrl=queue, **GRANT) == (
        "InvalidParameterValueException",
        "Value alice for parameter Label is invalid. Reason: Already exists.",
    )


def test_unknown_label_is_refused(refusal, queue):
    assert refusal("RemovePermission", QueueUrl=queue, Label="alice") == (
        "InvalidParameterValueException",
        "Value alice for parameter Label is invalid. Reason: can't find label on existing policy.",
    )


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"Label": "a b"}, "InvalidParameterValueException"),
        ({"Label": "a" * 81}, "InvalidParameterValueException"),
        ({"AWSAccountIds": ["alice"]}, "InvalidParameterValueException"),
        ({"AWSAccountIds": []}, "MissingRequiredParameterException"),
        ({"Actions": ["CreateQueue"]}, "InvalidParameterValueException"),
        ({"Actions": ["Fly"]}, "InvalidParameterValueException"),
        ({"Actions": []}, "MissingRequiredParameterException"),
    ],
)
def test_permission_that_cannot_be_given_is_refused(refusal, queue, policy, change, code):
    assert refusal("AddPermission", QueueUrl=queue, **{**GRANT, **change})[0] == code
    assert policy() is None


@pytest.mark.parametrize(("limits", "code"), [(Limits.STRICT, "OverLimit"), (Limits.RELAXED, None)])
def test_policy_has_at_most_20_statements_of_7_actions(call_under, limits, code):
    call = call_under(limits)
    call("CreateQueue", QueueName="orders")
    actions = ["SendMessage", "ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes",
               "GetQueueUrl", "PurgeQueue", "ListDeadLetterSourceQueues"]  # fmt: skip

    assert refused(call, "AddPermission", QueueUrl="orders", **{**GRANT, "Actions": actions}) == code
    for number in range(19 if limits is Limits.RELAXED else 20):
        call("AddPermission", QueueUrl="orders", **{**GRANT, "Label": str(number)})
    assert refused(call, "AddPermission", QueueUrl="orders", **{**GRANT, "Label": "more"}) == code
