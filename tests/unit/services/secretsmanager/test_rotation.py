"""Rotation by a function, in virtual time."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from redrive.testing.world import World

CODE = """
import boto3

def handler(event, context):
    secrets = boto3.client("secretsmanager")
    id, token, step = event["SecretId"], event["ClientRequestToken"], event["Step"]
    described = secrets.describe_secret(SecretId=id)
    assert "AWSPENDING" in described["VersionIdsToStages"][token]
    if step == "createSecret":
        password = secrets.get_random_password(ExcludePunctuation=True)["RandomPassword"]
        secrets.put_secret_value(SecretId=id, ClientRequestToken=token, SecretString=password,
                                 VersionStages=["AWSPENDING"])
    elif step == "finishSecret":
        now = next(v for v, stages in described["VersionIdsToStages"].items() if "AWSCURRENT" in stages)
        secrets.update_secret_version_stage(SecretId=id, VersionStage="AWSCURRENT", MoveToVersionId=token,
                                            RemoveFromVersionId=now)
    print("step", step)

def failing(event, context):
    print("step", event["Step"])
    if event["Step"] == "testSecret":
        raise ValueError("the new password does not work")
"""
TRUST = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"},"Action":"sts:AssumeRole"}]}'  # noqa: E501
ALLOW = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}'
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:rotate"


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    world.client("secretsmanager").create_secret(Name="s", SecretString="old")
    yield world
    world.close()


def make_function(world: World, handler: str = "index.handler", *, allowed: bool = True) -> None:
    iam, functions = world.client("iam"), world.client("lambda")
    role = iam.create_role(RoleName="r", AssumeRolePolicyDocument=TRUST)["Role"]["Arn"]
    iam.put_role_policy(RoleName="r", PolicyName="p", PolicyDocument=ALLOW)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("index.py", CODE)
    functions.create_function(
        FunctionName="rotate", Runtime="python3.12", Handler=handler, Role=role, Code={"ZipFile": content.getvalue()}
    )
    if allowed:
        functions.add_permission(
            FunctionName="rotate", StatementId="s", Action="lambda:InvokeFunction",
            Principal="secretsmanager.amazonaws.com",
        )  # fmt: skip


def steps_seen(world: World) -> list[str]:
    events = world.client("logs").filter_log_events(logGroupName="/aws/lambda/rotate", filterPattern="step")["events"]
    return [event["message"].split()[-1] for event in events if event["message"].startswith("step ")]


def value(world: World, **more: str) -> str:
    return str(world.client("secretsmanager").get_secret_value(SecretId="s", **more)["SecretString"])


def test_function_is_called_for_four_steps_and_the_value_is_new(world: World) -> None:
    make_function(world)
    secrets = world.client("secretsmanager")

    answer = secrets.rotate_secret(
        SecretId="s", RotationLambdaARN=FUNCTION, RotationRules={"AutomaticallyAfterDays": 30}
    )
    world.settle()

    described = secrets.describe_secret(SecretId="s")
    assert steps_seen(world) == ["createSecret", "setSecret", "testSecret", "finishSecret"]
    assert "AWSCURRENT" in described["VersionIdsToStages"][answer["VersionId"]]
    assert value(world) != "old"
    assert value(world, VersionStage="AWSPREVIOUS") == "old"
    assert described["RotationEnabled"] is True
    assert described["LastRotatedDate"] < described["NextRotationDate"]


@pytest.mark.parametrize("rules", [{"AutomaticallyAfterDays": 10}, {"ScheduleExpression": "rate(10 days)"}])
def test_secret_is_rotated_by_its_schedule(world: World, rules: dict[str, object]) -> None:
    make_function(world)
    world.client("secretsmanager").rotate_secret(SecretId="s", RotationLambdaARN=FUNCTION, RotationRules=rules)
    world.settle()
    first = value(world)

    world.advance(days=35)

    assert len(steps_seen(world)) == 4 * 4
    assert value(world) != first


def test_cancelled_rotation_comes_no_more(world: World) -> None:
    make_function(world)
    secrets = world.client("secretsmanager")
    secrets.rotate_secret(SecretId="s", RotationLambdaARN=FUNCTION, RotationRules={"AutomaticallyAfterDays": 1})
    world.settle()
    secrets.cancel_rotate_secret(SecretId="s")
    world.advance(days=10)

    assert len(steps_seen(world)) == 4
    assert "RotationEnabled" not in secrets.describe_secret(SecretId="s")


def test_failed_step_is_called_three_times_and_leaves_the_version_pending(world: World) -> None:
    make_function(world, "index.failing")
    secrets = world.client("secretsmanager")
    rules = {"AutomaticallyAfterDays": 30}
    pending = secrets.rotate_secret(SecretId="s", RotationLambdaARN=FUNCTION, RotationRules=rules)["VersionId"]
    world.advance(hours=1)

    with pytest.raises(ClientError) as failed:
        secrets.rotate_secret(SecretId="s")

    described = secrets.describe_secret(SecretId="s")
    assert steps_seen(world) == ["createSecret", "setSecret", "testSecret", "testSecret", "testSecret"]
    assert described["VersionIdsToStages"][pending] == ["AWSPENDING"]
    assert "LastRotatedDate" not in described
    assert value(world) == "old"
    assert failed.value.response["Error"]["Code"] == "InvalidRequestException"


def test_function_that_may_not_be_called_changes_nothing(world: World) -> None:
    make_function(world, allowed=False)
    secrets = world.client("secretsmanager")

    with pytest.raises(ClientError) as failed:
        secrets.rotate_secret(SecretId="s", RotationLambdaARN=FUNCTION, RotationRules={"AutomaticallyAfterDays": 1})

    assert failed.value.response["Error"]["Code"] == "AccessDeniedException"
    assert "RotationLambdaARN" not in secrets.describe_secret(SecretId="s")


def test_rotation_needs_a_function(world: World) -> None:
    with pytest.raises(ClientError) as failed:
        world.client("secretsmanager").rotate_secret(SecretId="s")

    message = "No Lambda rotation function ARN is associated with this secret."
    assert failed.value.response["Error"]["Message"] == message


def test_rotation_that_is_not_immediate_only_tests_the_function(world: World) -> None:
    make_function(world)
    secrets = world.client("secretsmanager")
    rules = {"ScheduleExpression": "cron(0 4 ? * MON *)"}
    secrets.rotate_secret(SecretId="s", RotationLambdaARN=FUNCTION, RotationRules=rules, RotateImmediately=False)
    world.settle()

    described = secrets.describe_secret(SecretId="s")
    assert steps_seen(world) == ["testSecret"]
    assert list(described["VersionIdsToStages"].values()) == [["AWSCURRENT"]]
    assert described["NextRotationDate"].hour == 4


@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"AutomaticallyAfterDays": 1, "ScheduleExpression": "rate(1 day)"},
        {"ScheduleExpression": "rate(3 hours)"},
        {"ScheduleExpression": "rate(10 minutes)"},
        {"ScheduleExpression": "cron(5 4 ? * MON *)"},
        {"ScheduleExpression": "nonsense"},
    ],
)
def test_bad_rules_are_refused(world: World, rules: dict[str, object]) -> None:
    make_function(world)

    with pytest.raises(ClientError) as failed:
        world.client("secretsmanager").rotate_secret(SecretId="s", RotationLambdaARN=FUNCTION, RotationRules=rules)

    assert failed.value.response["Error"]["Code"] == "InvalidParameterException"
