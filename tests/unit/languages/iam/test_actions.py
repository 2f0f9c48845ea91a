"""What a policy may allow somewhere: for operations of services that are not here, whose resources nobody knows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.languages.iam import (
    Allowed,
    Decision,
    ExplicitDeny,
    ImplicitDeny,
    PolicyKind,
    PolicySource,
    actions_of,
    denied_code,
    may_somewhere,
    parse_policy,
    prefix_of,
)

TOPIC = "arn:aws:sns:us-east-1:000000000000:news"


def statement(effect: str, actions: Any, resource: Any = "*", **more: Any) -> dict[str, Any]:
    return {"Effect": effect, "Action": actions, "Resource": resource, **more}


def decision(action: str, *statements: dict[str, Any], boundary: dict[str, Any] | None = None) -> Decision:
    def policy(*written: dict[str, Any]) -> Any:
        return parse_policy(json.dumps({"Version": "2012-10-17", "Statement": written}), PolicyKind.IDENTITY)

    return may_somewhere(action, [policy(*statements)], None if boundary is None else policy(boundary))


@pytest.mark.parametrize(
    ("action", "statements"),
    [
        ("sns:Publish", [statement("Allow", "sns:Publish", TOPIC)]),
        ("sns:Publish", [statement("Allow", "SNS:pub*")]),
        ("sns:Publish", [statement("Allow", "sns:*", Condition={"StringEquals": {"aws:RequestedRegion": "moon"}})]),
        ("sns:Publish", [statement("Allow", "*"), statement("Deny", "sns:*", TOPIC)]),
        ("sns:Publish", [statement("Allow", "*"), statement("Deny", "sns:*", Condition={"Bool": {"a": "true"}})]),
        ("s3:*", [statement("Allow", "s3:ListBucket", "arn:aws:s3:::reports")]),
        ("s3:*", [statement("Allow", "*"), statement("Deny", "s3:PutObject")]),
        ("s3:*", [{"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}]),
    ],
)
def test_what_a_statement_may_allow_on_some_resource_is_not_denied(action: str, statements: list[Any]) -> None:
    assert isinstance(decision(action, *statements), Allowed)


@pytest.mark.parametrize(
    ("action", "statements"),
    [
        ("sns:Publish", [statement("Allow", "sns:Subscribe")]),
        ("sns:Publish", [{"Effect": "Allow", "NotAction": "sns:*", "Resource": "*"}]),
        ("s3:*", [statement("Allow", ["sqs:*", "s3-outposts:*"])]),
        ("s3:*", [{"Effect": "Allow", "NotAction": "s3:*", "Resource": "*"}]),
    ],
)
def test_what_no_statement_allows_anywhere_is_denied(action: str, statements: list[Any]) -> None:
    assert decision(action, *statements) == ImplicitDeny(PolicySource.IDENTITY)


def test_what_is_denied_everywhere_is_denied_whatever_is_allowed() -> None:
    found = decision("sns:Publish", statement("Allow", "*"), statement("Deny", "sns:*"))

    assert isinstance(found, ExplicitDeny)
    assert found.source is PolicySource.IDENTITY


def test_boundary_has_to_allow_it_too() -> None:
    found = decision("sns:Publish", statement("Allow", "*"), boundary=statement("Allow", "sqs:*"))

    assert found == ImplicitDeny(PolicySource.BOUNDARY)


@pytest.mark.parametrize(
    ("service", "operation", "actions"),
    [
        ("sfn", "StartExecution", ("states:StartExecution",)),
        ("stepfunctions", "StartExecution", ("states:StartExecution",)),
        ("cloudwatchlogs", "PutMetricFilter", ("logs:PutMetricFilter",)),
        ("cognito-idp", "AdminDeleteUser", ("cognito-idp:AdminDeleteUser",)),
        ("cloudwatch", "PutMetricAlarm", ("cloudwatch:PutMetricAlarm",)),
        ("ec2", "StopInstances", ("ec2:StopInstances",)),
        ("lambda", "InvokeWithResponseStream", ("lambda:InvokeFunction",)),
        ("s3", "ListObjectsV2", ("s3:ListBucket",)),
        ("s3", "GetObjectLegalHold", ("s3:GetObjectLegalHold",)),
        ("s3control", "CreateJob", ("s3:*",)),
    ],
)
def test_action_of_an_operation_is_called_as_iam_calls_it(
    service: str, operation: str, actions: tuple[str, ...]
) -> None:
    assert actions_of(service, operation) == actions


def test_services_refuse_by_codes_of_their_own() -> None:
    assert [denied_code(service) for service in ("ec2", "sns", "sfn")] == [
        "UnauthorizedOperation", "AuthorizationError", "AccessDeniedException",
    ]  # fmt: skip
    assert prefix_of("secretsmanager") == "secretsmanager"
