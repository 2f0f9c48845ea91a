"""Deletion takes resources away in the reverse of their making, and says where it is stuck."""

from __future__ import annotations

import pytest

from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Refusal, Stacks, queue

PROTECTED = {
    "Table": {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {
            "TableName": "orders",
            "BillingMode": "PAY_PER_REQUEST",
            "DeletionProtectionEnabled": True,
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        },
    },
    "Q": queue(),
}


def test_deleted_stack_is_found_by_its_id_only(stacks: Stacks, refusal: Refusal) -> None:
    stack_id = stacks.create("shop", {"Q": queue()})

    stacks.delete("shop")

    assert stacks.describe(stack_id)["StackStatus"] == "DELETE_COMPLETE"
    assert refusal(stacks.client.describe_stacks, StackName="shop") == (
        "ValidationError", "Stack with id shop does not exist",
    )  # fmt: skip


def test_name_of_a_deleted_stack_is_free_again(stacks: Stacks) -> None:
    first = stacks.create("shop", {"Q": queue()})
    stacks.delete("shop")

    second = stacks.create("shop", {"Q": queue()})

    assert first != second
    assert stacks.describe("shop")["StackId"] == second
    assert stacks.describe(first)["StackStatus"] == "DELETE_COMPLETE"


def test_resources_go_before_what_they_depend_on(stacks: Stacks) -> None:
    resources = {"B": {**queue(), "DependsOn": "C"}, "C": queue(), "A": {**queue(), "DependsOn": "B"}}
    stack_id = stacks.create("shop", resources)

    stacks.delete("shop")

    assert [one for one, status, _ in stacks.events(stack_id) if status == "DELETE_COMPLETE"] == ["A", "B", "C", "shop"]


def test_resources_of_a_deleted_stack_are_told_as_deleted(stacks: Stacks) -> None:
    stack_id = stacks.create("shop", {"Q": queue()})
    stacks.delete("shop")

    resources = stacks.client.describe_stack_resources(StackName=stack_id)["StackResources"]
    assert [one["ResourceStatus"] for one in resources] == ["DELETE_COMPLETE"]


def test_retained_resource_outlives_its_stack(stacks: Stacks, world: World) -> None:
    stack_id = stacks.create("shop", {"Q": {**queue(), "DeletionPolicy": "Retain"}})

    stacks.delete("shop")

    assert world.client("sqs").list_queues()["QueueUrls"]
    assert ("Q", "DELETE_SKIPPED", "") in stacks.events(stack_id)


def test_resource_that_is_gone_already_is_deleted(stacks: Stacks, world: World) -> None:
    stack_id = stacks.create("shop", {"Q": queue()})
    world.client("sqs").delete_queue(QueueUrl=stacks.physical_id("shop", "Q"))

    stacks.delete("shop")

    assert stacks.describe(stack_id)["StackStatus"] == "DELETE_COMPLETE"


def test_resource_that_cannot_be_deleted_stops_the_deletion(stacks: Stacks, world: World) -> None:
    stacks.create("shop", PROTECTED)

    stacks.delete("shop")

    stack = stacks.describe("shop")
    assert stack["StackStatus"] == "DELETE_FAILED"
    assert stack["StackStatusReason"] == "The following resource(s) failed to delete: [Table]. "
    assert "protected against deletion" in stacks.reason("shop", "Table", "DELETE_FAILED")
    assert "QueueUrls" not in world.client("sqs").list_queues()


@pytest.mark.parametrize("second", [{"RetainResources": ["Table"]}, {"DeletionMode": "FORCE_DELETE_STACK"}])
def test_stuck_deletion_ends_without_the_stuck_resource(
    stacks: Stacks, world: World, second: dict[str, object]
) -> None:
    stack_id = stacks.create("shop", PROTECTED)
    stacks.delete("shop")

    stacks.delete("shop", **second)

    assert stacks.describe(stack_id)["StackStatus"] == "DELETE_COMPLETE"
    assert world.client("dynamodb").list_tables()["TableNames"] == ["orders"]


def test_resources_are_retained_only_after_a_failed_deletion(stacks: Stacks, refusal: Refusal) -> None:
    stacks.create("shop", {"Q": queue()})

    assert refusal(stacks.delete, "shop", RetainResources=["Q"]) == (
        "ValidationError",
        "Stack [shop] is in CREATE_COMPLETE state: RetainResources is for stacks in DELETE_FAILED state.",
    )


def test_protected_stack_is_not_deleted(stacks: Stacks, refusal: Refusal) -> None:
    stack_id = stacks.create("shop", {"Q": queue()}, EnableTerminationProtection=True)

    assert refusal(stacks.delete, "shop") == (
        "ValidationError", "Stack [shop] cannot be deleted while TerminationProtection is enabled",
    )  # fmt: skip
    stacks.client.update_termination_protection(StackName="shop", EnableTerminationProtection=False)
    stacks.delete("shop")
    assert stacks.describe(stack_id)["StackStatus"] == "DELETE_COMPLETE"


def test_deleting_a_stack_that_is_not_there_is_no_error(stacks: Stacks) -> None:
    stacks.delete("shop")

    assert stacks.client.list_stacks()["StackSummaries"] == []


def test_deletion_of_a_stack_under_creation_takes_over(stacks: Stacks, world: World) -> None:
    stacks.client.create_stack(StackName="shop", TemplateBody='{"Resources": {"Q": {"Type": "AWS::SQS::Queue"}}}')

    stacks.delete("shop")

    assert "QueueUrls" not in world.client("sqs").list_queues()
    assert stacks.client.describe_stacks()["Stacks"] == []


def test_schedule_group_is_deleted_once_its_service_has_finished(stacks: Stacks, world: World) -> None:
    stack_id = stacks.create(
        "shop", {"G": {"Type": "AWS::Scheduler::ScheduleGroup", "Properties": {"Name": "nightly"}}}
    )

    stacks.delete("shop")
    world.advance(seconds=2)

    assert stacks.describe(stack_id)["StackStatus"] == "DELETE_COMPLETE"
    groups = world.client("scheduler").list_schedule_groups()["ScheduleGroups"]
    assert [group["Name"] for group in groups] == ["default"]


def test_waiter_of_boto3_ends_when_the_stack_is_deleted(stacks: Stacks) -> None:
    stacks.create("shop", {"Q": queue()})
    stacks.delete("shop")

    waiter = stacks.client.get_waiter("stack_delete_complete")
    waiter.wait(StackName="shop", WaiterConfig={"Delay": 0, "MaxAttempts": 1})
