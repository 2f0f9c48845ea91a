"""Requests that give or take tags show them to conditions: `aws:RequestTag/…` and `aws:TagKeys`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope

WORKER = Caller(Scope("000000000000", "us-east-1"), "request-1", "arn:aws:iam::000000000000:role/worker", "run-1")
GROUP = "arn:aws:scheduler:us-east-1:000000000000:schedule-group/g"
TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/tab"
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:f"
KEYS = {
    "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
RED = [{"Key": "team", "Value": "red"}]

# Those about what is not there are refused after they were authorized, in other words.
GIVING: list[tuple[str, str, dict[str, Any]]] = [
    ("scheduler", "CreateScheduleGroup", {"Name": "g", "Tags": RED}),
    ("scheduler", "TagResource", {"ResourceArn": GROUP, "Tags": RED}),
    ("dynamodb", "CreateTable", {"TableName": "tab", **KEYS, "Tags": RED}),
    ("dynamodb", "TagResource", {"ResourceArn": TABLE, "Tags": RED}),
    ("lambda", "CreateFunction", {"FunctionName": "f", "Role": WORKER.role_arn, "Code": {}, "Tags": {"team": "red"}}),
    ("lambda", "TagResource", {"Resource": FUNCTION, "Tags": {"team": "red"}}),
    ("sqs", "CreateQueue", {"QueueName": "q", "tags": {"team": "red"}}),
    ("sqs", "TagQueue", {"QueueUrl": "q", "Tags": {"team": "red"}}),
]
TAKING: list[tuple[str, str, dict[str, Any]]] = [
    ("scheduler", "UntagResource", {"ResourceArn": GROUP, "TagKeys": ["team"]}),
    ("dynamodb", "UntagResource", {"ResourceArn": TABLE, "TagKeys": ["team"]}),
    ("lambda", "UntagResource", {"Resource": FUNCTION, "TagKeys": ["team"]}),
    ("sqs", "UntagQueue", {"QueueUrl": "q", "TagKeys": ["team"]}),
]


@pytest.fixture
def allows(world: Any, iam: Any, role: Any) -> Any:
    """Whether the role may do something if its policy allows everything under a condition."""

    def allows(condition: dict[str, Any], service: str, operation: str, params: dict[str, Any]) -> bool:
        statement = {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": condition}
        document = json.dumps({"Version": "2012-10-17", "Statement": statement})
        iam.put_role_policy(RoleName="worker", PolicyName="own", PolicyDocument=document)
        try:
            world.engine.call(WORKER, service, operation, params)
        except ServiceError as error:
            return "is not authorized to perform" not in error.message
        return True

    return allows


@pytest.mark.parametrize(("service", "operation", "params"), GIVING)
def test_request_that_gives_tags_is_allowed_or_not_by_them(allows, service, operation, params):
    assert allows({"StringEquals": {"aws:RequestTag/team": "red"}}, service, operation, params)
    assert not allows({"StringEquals": {"aws:RequestTag/team": "blue"}}, service, operation, params)


@pytest.mark.parametrize(("service", "operation", "params"), GIVING + TAKING)
def test_request_about_tags_is_allowed_or_not_by_their_keys(allows, service, operation, params):
    assert allows({"ForAnyValue:StringEquals": {"aws:TagKeys": "team"}}, service, operation, params)
    assert not allows({"ForAnyValue:StringEquals": {"aws:TagKeys": "stage"}}, service, operation, params)
