"""ImportExistingResources: stacks take over named resources that exist already.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/import-resources-automatically.html
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Stacks, queue, trust_for

KEPT = {"DeletionPolicy": "Retain"}
BUCKET = {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "assets"}}
TRUST = json.dumps(trust_for("lambda.amazonaws.com"))
KEY = {
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST",
}  # fmt: skip


def proposed(
    stacks: Stacks, resources: dict[str, Any], *, kind: str = "CREATE", sections: dict[str, Any] | None = None,
    name: str = "shop",
) -> list[tuple[str, str, str]]:  # fmt: skip
    """Propose the resources for a stack; answers (action, logical id, physical id) of each change."""
    body = json.dumps({"Resources": resources, **(sections or {})})
    stacks.client.create_change_set(
        StackName=name, ChangeSetName="next", TemplateBody=body, ChangeSetType=kind, ImportExistingResources=True,
        Capabilities=["CAPABILITY_NAMED_IAM"],
    )  # fmt: skip
    described = stacks.client.describe_change_set(StackName=name, ChangeSetName="next")
    assert described["ImportExistingResources"] is True
    changes = [one["ResourceChange"] for one in described["Changes"]]
    return [(one["Action"], one["LogicalResourceId"], one.get("PhysicalResourceId", "")) for one in changes]


def executed(stacks: Stacks, name: str = "shop") -> str:
    """Execute the proposed change set; answers the status of the stack afterwards."""
    stacks.client.execute_change_set(StackName=name, ChangeSetName="next")
    stacks.world.settle()
    return stacks.status(name)


def test_existing_bucket_is_imported_with_its_objects(stacks: Stacks, world: World) -> None:
    s3 = world.client("s3")
    s3.create_bucket(Bucket="assets")
    s3.put_object(Bucket="assets", Key="app.zip", Body=b"code")

    changes = proposed(stacks, {"B": BUCKET | KEPT, "Q": queue()})

    assert changes == [("Import", "B", "assets"), ("Add", "Q", "")]
    assert executed(stacks) == "CREATE_COMPLETE"
    assert stacks.physical_id("shop", "B") == "assets"
    assert [event[1:] for event in stacks.events("shop") if event[0] == "B"] == [
        ("IMPORT_IN_PROGRESS", "Resource import started."), ("IMPORT_COMPLETE", "Resource import completed."),
    ]  # fmt: skip
    assert s3.get_object(Bucket="assets", Key="app.zip")["Body"].read() == b"code"


def test_stack_that_was_deleted_finds_the_bucket_that_it_has_left(stacks: Stacks) -> None:
    """As the CDK's bootstrap stack does, whose bucket has a name made of parameters, behind a condition."""
    name = {"Fn::If": ["Own", {"Ref": "Name"}, {"Fn::Sub": "assets-${AWS::AccountId}-${AWS::Region}"}]}
    resources = {"B": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": name}, **KEPT}}
    sections = {
        "Parameters": {"Name": {"Type": "String", "Default": ""}},
        "Conditions": {"Own": {"Fn::Not": [{"Fn::Equals": ["", {"Ref": "Name"}]}]}},
    }
    proposed(stacks, resources, sections=sections)
    executed(stacks)
    stacks.delete("shop")

    changes = proposed(stacks, resources, sections=sections)

    assert changes == [("Import", "B", "assets-000000000000-us-east-1")]
    assert executed(stacks) == "CREATE_COMPLETE"


def test_imported_resource_has_its_attributes_and_is_changed_by_later_updates(stacks: Stacks, world: World) -> None:
    world.client("logs").create_log_group(logGroupName="/app")
    group: dict[str, Any] = {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/app"}, **KEPT}
    outputs = {"Outputs": {"Arn": {"Value": {"Fn::GetAtt": ["G", "Arn"]}}}}
    proposed(stacks, {"G": group}, sections=outputs)
    executed(stacks)

    assert stacks.outputs("shop") == {"Arn": "arn:aws:logs:us-east-1:000000000000:log-group:/app:*"}

    group["Properties"]["RetentionInDays"] = 7
    stacks.update("shop", {"G": group})

    assert world.client("logs").describe_log_groups()["logGroups"][0]["retentionInDays"] == 7


def test_update_imports_what_it_names(stacks: Stacks, world: World) -> None:
    world.client("s3").create_bucket(Bucket="assets")
    stacks.create("shop", {"Q": queue()})

    changes = proposed(stacks, {"Q": queue(), "B": BUCKET | KEPT}, kind="UPDATE")

    assert changes == [("Import", "B", "assets")]
    assert executed(stacks) == "UPDATE_COMPLETE"


@pytest.mark.parametrize("policy", [{}, {"DeletionPolicy": "Delete"}])
def test_resource_without_a_retaining_policy_is_not_imported(
    stacks: Stacks, world: World, policy: dict[str, str]
) -> None:
    world.client("s3").create_bucket(Bucket="assets")

    assert proposed(stacks, {"B": BUCKET | policy}) == [("Add", "B", "")]
    assert executed(stacks) == "ROLLBACK_COMPLETE"
    assert "already exists" in stacks.reason("shop", "B", "CREATE_FAILED")


def test_resource_of_another_stack_is_not_imported(stacks: Stacks) -> None:
    stacks.create("owner", {"Mine": BUCKET})

    assert proposed(stacks, {"B": BUCKET | KEPT}) == [("Add", "B", "")]


def test_without_the_setting_nothing_is_imported(stacks: Stacks, world: World) -> None:
    world.client("s3").create_bucket(Bucket="assets")

    stacks.create("shop", {"B": BUCKET | KEPT})

    assert stacks.status("shop") == "ROLLBACK_COMPLETE"


def broken() -> dict[str, Any]:
    """A queue that AWS refuses, after the bucket."""
    return queue(VisibilityTimeout=99_999_999) | {"DependsOn": "B"}


def test_rollback_lets_go_what_was_imported(stacks: Stacks, world: World) -> None:
    world.client("s3").create_bucket(Bucket="assets")
    kept = BUCKET | {"DeletionPolicy": "RetainExceptOnCreate"}
    proposed(stacks, {"B": kept, "Q": broken()})

    assert executed(stacks) == "ROLLBACK_COMPLETE"

    stacks.delete("shop")
    world.client("s3").head_bucket(Bucket="assets")
    assert proposed(stacks, {"B": kept}, name="next-shop") == [("Import", "B", "assets")]


def test_failed_update_lets_go_what_it_imported(stacks: Stacks, world: World) -> None:
    world.client("s3").create_bucket(Bucket="assets")
    stacks.create("shop", {"A": queue()})
    proposed(stacks, {"A": queue(), "B": BUCKET | KEPT, "Q": broken()}, kind="UPDATE")

    assert executed(stacks) == "UPDATE_ROLLBACK_COMPLETE"

    resources = stacks.client.describe_stack_resources(StackName="shop")["StackResources"]
    assert [one["LogicalResourceId"] for one in resources] == ["A"]
    world.client("s3").head_bucket(Bucket="assets")


def test_resource_that_is_gone_before_the_execution_fails_the_import(stacks: Stacks, world: World) -> None:
    world.client("s3").create_bucket(Bucket="assets")
    proposed(stacks, {"B": BUCKET | KEPT})
    world.client("s3").delete_bucket(Bucket="assets")

    assert executed(stacks) == "ROLLBACK_COMPLETE"
    assert "can no longer be imported" in stacks.reason("shop", "B", "IMPORT_FAILED")


def test_types_whose_identity_is_their_name_are_imported(stacks: Stacks, world: World) -> None:
    world.client("iam").create_role(RoleName="worker", AssumeRolePolicyDocument=TRUST)
    world.client("dynamodb").create_table(TableName="orders", **KEY)
    world.client("ssm").put_parameter(Name="/app/mode", Value="fast", Type="String")
    world.client("ecr").create_repository(repositoryName="images")
    world.client("kinesis").create_stream(StreamName="clicks", ShardCount=1)
    world.settle()

    changes = proposed(
        stacks,
        {
            "R": {"Type": "AWS::IAM::Role", **KEPT,
                  "Properties": {"RoleName": "worker", "AssumeRolePolicyDocument": json.loads(TRUST)}},
            "T": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "orders", **KEY}, **KEPT},
            "P": {"Type": "AWS::SSM::Parameter", **KEPT,
                  "Properties": {"Name": "/app/mode", "Value": "fast", "Type": "String"}},
            "I": {"Type": "AWS::ECR::Repository", "Properties": {"RepositoryName": "images"}, **KEPT},
            "S": {"Type": "AWS::Kinesis::Stream", "Properties": {"Name": "clicks", "ShardCount": 1}, **KEPT},
        },
    )  # fmt: skip

    assert [(action, physical) for action, _, physical in changes] == [
        ("Import", "images"), ("Import", "/app/mode"), ("Import", "worker"), ("Import", "clicks"),
        ("Import", "orders"),
    ]  # fmt: skip
    assert executed(stacks) == "CREATE_COMPLETE"


def test_queue_is_not_imported_by_its_name(stacks: Stacks, world: World) -> None:
    """The identity of a queue is its URL, which no template gives."""
    world.client("sqs").create_queue(QueueName="jobs")

    assert proposed(stacks, {"Q": queue(QueueName="jobs") | KEPT}) == [("Add", "Q", "")]
