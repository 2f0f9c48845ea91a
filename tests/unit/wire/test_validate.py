"""Constraints of the models, in AWS's words."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.wire.model.files import Models
from redrive.wire.model.validate import Validator

ARCHITECTURES = "satisfy enum value set: [x86_64, arm64]"
GOOD_SCHEDULE = {
    "Name": "nightly",
    "ScheduleExpression": "rate(1 day)",
    "FlexibleTimeWindow": {"Mode": "OFF"},
    "Target": {"Arn": "arn", "RoleArn": "arn:aws:iam::123456789012:role/r"},
}


def problem(value: str, path: str, constraint: str) -> str:
    return f"Value {value} at '{path}' failed to satisfy constraint: Member must {constraint}"


@pytest.mark.parametrize(
    ("service", "operation", "params", "problems"),
    [
        ("scheduler", "CreateSchedule", GOOD_SCHEDULE, []),
        (
            "scheduler",
            "GetSchedule",
            {"Name": "x" * 65},
            [problem(f"'{'x' * 65}'", "name", "have length less than or equal to 64")],
        ),
        (
            "scheduler",
            "GetSchedule",
            {"Name": "a b"},
            [problem("'a b'", "name", "satisfy regular expression pattern: [0-9a-zA-Z-_.]+")],
        ),
        ("scheduler", "GetSchedule", {}, [problem("null", "name", "not be null")]),
        (
            "scheduler",
            "ListSchedules",
            {"MaxResults": 0, "State": "ON"},
            [
                problem("'ON'", "state", "satisfy enum value set: [ENABLED, DISABLED]"),
                problem("'0'", "maxResults", "have value greater than or equal to 1"),
            ],
        ),
        (
            "scheduler",
            "CreateSchedule",
            GOOD_SCHEDULE | {"Target": {"Arn": "arn", "RetryPolicy": {"MaximumRetryAttempts": 186}}},
            [
                problem("null", "target.roleArn", "not be null"),
                problem("'186'", "target.retryPolicy.maximumRetryAttempts", "have value less than or equal to 185"),
            ],
        ),
        (
            "scheduler",
            "TagResource",
            {
                "ResourceArn": "arn:aws:scheduler:eu-west-1:123456789012:schedule-group/g",
                "Tags": [{"Key": "", "Value": ""}],
            },
            [
                problem("''", "tags.1.member.key", "have length greater than or equal to 1"),
                problem("''", "tags.1.member.value", "have length greater than or equal to 1"),
            ],
        ),
        (
            "dynamodb",
            "BatchWriteItem",
            {"RequestItems": {"t" * 3: [{"PutRequest": {}}]}},
            [problem("null", "requestItems.ttt.member.1.member.putRequest.item", "not be null")],
        ),
        (
            "dynamodb",
            "CreateTable",
            {"AttributeDefinitions": [], "TableName": "t", "KeySchema": []},
            [problem("'[]'", "keySchema", "have length greater than or equal to 1")],
        ),
        (
            "lambda",
            "UpdateFunctionCode",
            {"FunctionName": "f", "Architectures": ["m68k"]},
            [
                problem(
                    "'[m68k]'",
                    "architectures",
                    f"satisfy constraint: [Member must {ARCHITECTURES}, Member must not be null]",
                )
            ],
        ),
    ],
)
def test_each_constraint_has_its_sentence(
    models: Models, service: str, operation: str, params: dict[str, Any], problems: list[str]
) -> None:
    """Paths are in lower camel case, elements of lists are numbered from 1."""
    assert Validator().validate(models.service(service).operations[operation], params) == problems


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "1 validation error detected: Value null at 'name' failed to satisfy constraint: Member must not be null"),
        (
            {"Name": ""},
            "; ".join(
                [
                    "2 validation errors detected: "
                    + problem("''", "name", "satisfy regular expression pattern: [0-9a-zA-Z-_.]+"),
                    problem("''", "name", "have length greater than or equal to 1"),
                ]
            ),
        ),
    ],
)
def test_problems_are_counted_and_joined(models: Models, params: dict[str, Any], message: str) -> None:
    """One ValidationException says them all."""
    with pytest.raises(ServiceError) as caught:
        Validator().check(models.service("scheduler").operations["GetSchedule"], params)

    assert (caught.value.code, caught.value.message) == ("ValidationException", message)


def test_structure_is_repeated_as_java_prints_it(models: Models) -> None:
    """Members that are absent are null."""
    tags = [{"Key": "k"}] * 201

    problems = Validator().validate(
        models.service("scheduler").operations["CreateScheduleGroup"], {"Name": "g", "Tags": tags}
    )

    assert problems[0].startswith("Value '[Tag(key=k, value=null), Tag(key=k, value=null), ")
    assert problems[0].endswith(
        "at 'tags' failed to satisfy constraint: Member must have length less than or equal to 200"
    )


def test_service_that_checks_for_itself_is_exempt(models: Models) -> None:
    """SQS words its own refusals."""
    Validator().check(models.service("sqs").operations["SendMessage"], {})


def test_shape_that_contains_itself_is_checked_at_every_depth(models: Models) -> None:
    """DynamoDB's values nest."""
    operation = models.service("dynamodb").operations["PutItem"]
    deep = {"L": [{"M": {"a": {"L": [{"S": "x"}]}}}]}

    assert Validator().validate(operation, {"TableName": "tab", "Item": {"k": deep}}) == []
