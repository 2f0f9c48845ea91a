"""The AWS managed policies that come with the engine."""

from __future__ import annotations

import pytest

from redrive.languages.iam import (
    AccessRequest,
    Allowed,
    Context,
    PrincipalInfo,
    decide,
    is_unknown,
    managed_policies,
    passed_to,
    unknown_policy,
)

ROLE = PrincipalInfo.session("arn:aws:iam::123456789012:role/worker", "s1")
NO_CONTEXT: Context = {}
PREFIX = "arn:aws:iam::aws:policy/"
QUEUE = "arn:aws:sqs:us-east-1:123456789012:orders"


def allows(name: str, action: str, resource: str = "*", context: Context = NO_CONTEXT) -> bool:
    policy = managed_policies()[PREFIX + name].parsed()
    return isinstance(decide(AccessRequest(action, resource, ROLE, context), [policy]), Allowed)


@pytest.mark.parametrize("arn", managed_policies())
def test_every_managed_policy_is_a_valid_identity_policy(arn: str) -> None:
    policy = managed_policies()[arn]

    assert policy.parsed().version == "2012-10-17"
    assert arn == f"arn:aws:iam::aws:policy{policy.path}{policy.name}"
    assert policy.version_id.startswith("v")


@pytest.mark.parametrize(
    "name",
    [
        "AWSLambda_FullAccess",
        "AWSLambda_ReadOnlyAccess",
        "AWSXRayDaemonWriteAccess",
        "AdministratorAccess",
        "AmazonDynamoDBFullAccess",
        "AmazonDynamoDBReadOnlyAccess",
        "AmazonEventBridgeFullAccess",
        "AmazonEventBridgeSchedulerFullAccess",
        "AmazonEventBridgeSchedulerReadOnlyAccess",
        "AmazonS3FullAccess",
        "AmazonS3ReadOnlyAccess",
        "AmazonSQSFullAccess",
        "AmazonSQSReadOnlyAccess",
        "CloudWatchFullAccess",
        "CloudWatchLogsFullAccess",
        "PowerUserAccess",
        "ReadOnlyAccess",
        "service-role/AWSLambdaBasicExecutionRole",
        "service-role/AWSLambdaDynamoDBExecutionRole",
        "service-role/AWSLambdaKinesisExecutionRole",
        "service-role/AWSLambdaRole",
        "service-role/AWSLambdaSQSQueueExecutionRole",
        "service-role/AWSLambdaVPCAccessExecutionRole",
    ],
)
def test_policies_that_roles_of_these_services_use_are_there(name: str) -> None:
    assert PREFIX + name in managed_policies()


@pytest.mark.parametrize(
    ("name", "action", "resource"),
    [
        ("service-role/AWSLambdaSQSQueueExecutionRole", "sqs:DeleteMessage", QUEUE),
        ("service-role/AWSLambdaBasicExecutionRole", "logs:PutLogEvents", "*"),
        ("AmazonSQSReadOnlyAccess", "sqs:GetQueueUrl", QUEUE),
        ("PowerUserAccess", "sqs:SendMessage", QUEUE),
        ("PowerUserAccess", "iam:ListRoles", "*"),
        ("ReadOnlyAccess", "sqs:ReceiveMessage", QUEUE),
        ("AWSLambda_FullAccess", "logs:GetLogEvents", "arn:aws:logs:us-east-1:123456789012:log-group:/aws/lambda/f"),
    ],
)
def test_managed_policy_allows_what_its_name_promises(name: str, action: str, resource: str) -> None:
    assert allows(name, action, resource)


@pytest.mark.parametrize(
    ("name", "action", "resource"),
    [
        ("service-role/AWSLambdaSQSQueueExecutionRole", "sqs:SendMessage", QUEUE),
        ("service-role/AWSLambdaBasicExecutionRole", "sqs:ReceiveMessage", QUEUE),
        ("AmazonSQSReadOnlyAccess", "sqs:ReceiveMessage", QUEUE),
        ("PowerUserAccess", "iam:CreateRole", "*"),
        ("ReadOnlyAccess", "sqs:SendMessage", QUEUE),
        ("AWSLambda_FullAccess", "logs:GetLogEvents", "arn:aws:logs:us-east-1:123456789012:log-group:mine"),
    ],
)
def test_managed_policy_allows_no_more_than_its_name_promises(name: str, action: str, resource: str) -> None:
    assert not allows(name, action, resource)


def test_role_may_be_passed_only_to_the_service_of_the_policy() -> None:
    """That services tell to whom they pass a role is tested in tests/unit/services/iam/test_passing.py."""
    role = "arn:aws:iam::123456789012:role/target"
    name = "AmazonEventBridgeSchedulerFullAccess"

    assert allows(name, "iam:PassRole", role, passed_to("scheduler.amazonaws.com", "arn"))
    assert not allows(name, "iam:PassRole", role, passed_to("lambda.amazonaws.com", "arn"))
    assert not allows(name, "iam:PassRole", role)


def test_policies_of_templates_for_functions_are_there() -> None:
    assert allows("AWSXrayWriteOnlyAccess", "xray:PutTraceSegments")
    assert allows("AmazonSNSFullAccess", "sns:Publish")
    assert allows("service-role/AmazonAPIGatewayPushToCloudWatchLogs", "logs:PutLogEvents")
    assert not allows("AWSXrayReadOnlyAccess", "xray:PutTraceSegments")


def test_unknown_policy_allows_nothing_and_names_what_was_perhaps_meant() -> None:
    policy = unknown_policy(f"{PREFIX}service-role/AWSLambdaBasicExecutonRole")

    request = AccessRequest("logs:PutLogEvents", "*", ROLE, NO_CONTEXT)
    assert not isinstance(decide(request, [policy.parsed()]), Allowed)
    assert (policy.path, policy.name) == ("/service-role/", "AWSLambdaBasicExecutonRole")
    assert policy.description == (
        "redrive has no document of the AWS managed policy AWSLambdaBasicExecutonRole: it allows nothing here. "
        f"Did you mean {PREFIX}service-role/AWSLambdaBasicExecutionRole?"
    )


@pytest.mark.parametrize(
    "arn", [f"{PREFIX}AmazonSQSFullAccess", f"{PREFIX}with space", "arn:aws:iam::123456789012:policy/Mine", PREFIX]
)
def test_only_arns_of_policies_of_aws_are_unknown(arn: str) -> None:
    assert not is_unknown(arn)
