"""Updates change what differs, in place or by replacement, and a failed one goes back to what there was."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.delivery.worker import FreeSlots
from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Refusal, Stacks, queue


def attributes(world: World, url: str) -> dict[str, str]:
    found: dict[str, str] = world.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return found


def queue_names(world: World) -> list[str]:
    return [url.rsplit("/", 1)[-1] for url in world.client("sqs").list_queues().get("QueueUrls", [])]


def test_property_that_can_change_is_changed_in_place(stacks: Stacks, world: World) -> None:
    stacks.create("shop", {"Q": queue(VisibilityTimeout=10)})
    url = stacks.physical_id("shop", "Q")

    stacks.update("shop", {"Q": queue(VisibilityTimeout=20)})

    assert stacks.status("shop") == "UPDATE_COMPLETE"
    assert stacks.physical_id("shop", "Q") == url
    assert attributes(world, url)["VisibilityTimeout"] == "20"
    assert stacks.events("shop")[-5:] == [
        ("shop", "UPDATE_IN_PROGRESS", "User Initiated"),
        ("Q", "UPDATE_IN_PROGRESS", ""),
        ("Q", "UPDATE_COMPLETE", ""),
        ("shop", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", ""),
        ("shop", "UPDATE_COMPLETE", ""),
    ]


def test_property_that_is_gone_is_back_at_its_default(stacks: Stacks, world: World) -> None:
    stacks.create("shop", {"Q": queue(VisibilityTimeout=10)})

    stacks.update("shop", {"Q": queue()})

    assert attributes(world, stacks.physical_id("shop", "Q"))["VisibilityTimeout"] == "30"


def test_replacement_is_created_before_the_old_resource_is_deleted(stacks: Stacks, world: World) -> None:
    stacks.create("shop", {"Q": queue(QueueName="old")})

    stacks.update("shop", {"Q": queue(QueueName="new")})

    assert queue_names(world) == ["new"]
    assert stacks.events("shop")[-8:] == [
        ("shop", "UPDATE_IN_PROGRESS", "User Initiated"),
        (
            "Q", "UPDATE_IN_PROGRESS",
            "Requested update requires the creation of a new physical resource; hence creating one.",
        ),
        ("Q", "UPDATE_IN_PROGRESS", "Resource creation Initiated"),
        ("Q", "UPDATE_COMPLETE", ""),
        ("shop", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", ""),
        ("Q", "DELETE_IN_PROGRESS", ""),
        ("Q", "DELETE_COMPLETE", ""),
        ("shop", "UPDATE_COMPLETE", ""),
    ]  # fmt: skip


def test_what_refers_to_a_replaced_resource_follows_it(stacks: Stacks, world: World) -> None:
    def resources(name: str) -> dict[str, Any]:
        policy = {"deadLetterTargetArn": {"Fn::GetAtt": ["Dead", "Arn"]}, "maxReceiveCount": 3}
        return {"Dead": queue(QueueName=name), "Q": queue(QueueName="main", RedrivePolicy=policy)}

    stacks.create("shop", resources("dead"))

    stacks.update("shop", resources("buried"))

    assert '"maxReceiveCount":3' in attributes(world, stacks.physical_id("shop", "Q"))["RedrivePolicy"]
    assert ":buried" in attributes(world, stacks.physical_id("shop", "Q"))["RedrivePolicy"]


def test_replaced_resource_is_kept_by_its_update_replace_policy(stacks: Stacks, world: World) -> None:
    stacks.create("shop", {"Q": {**queue(QueueName="old"), "UpdateReplacePolicy": "Retain"}})

    stacks.update("shop", {"Q": {**queue(QueueName="new"), "UpdateReplacePolicy": "Retain"}})

    assert queue_names(world) == ["new", "old"]
    assert ("Q", "DELETE_SKIPPED", "") in stacks.events("shop")


def test_resources_come_and_go_with_the_template(stacks: Stacks, world: World) -> None:
    stacks.create("shop", {"A": queue(QueueName="a"), "B": {**queue(QueueName="b"), "DeletionPolicy": "Retain"}})

    stacks.update("shop", {"C": queue(QueueName="c")})

    assert queue_names(world) == ["b", "c"]
    resources = stacks.client.describe_stack_resources(StackName="shop")["StackResources"]
    assert [one["LogicalResourceId"] for one in resources] == ["C"]


def test_resources_that_do_not_differ_are_left_alone(stacks: Stacks) -> None:
    stacks.create("shop", {"A": queue(), "B": queue(DelaySeconds=1)})

    stacks.update("shop", {"A": queue(), "B": queue(DelaySeconds=2)})

    assert [status for logical_id, status, _ in stacks.events("shop") if logical_id == "A"][-1] == "CREATE_COMPLETE"


@pytest.mark.parametrize("change", [{"outputs": {"O": {"Value": "1"}}}, {"Tags": [{"Key": "a", "Value": "b"}]}])
def test_outputs_and_tags_alone_are_a_change(stacks: Stacks, change: dict[str, Any]) -> None:
    stacks.create("shop", {"Q": queue()})

    stacks.update("shop", {"Q": queue()}, **change)

    assert stacks.status("shop") == "UPDATE_COMPLETE"


def test_update_that_changes_nothing_is_refused(stacks: Stacks, refusal: Refusal) -> None:
    stacks.create("shop", {"Q": queue(DelaySeconds=1)})

    assert refusal(stacks.update, "shop", {"Q": queue(DelaySeconds="1")}) == (
        "ValidationError", "No updates are to be performed.",
    )  # fmt: skip
    assert stacks.status("shop") == "CREATE_COMPLETE"


def test_failed_update_goes_back_to_what_there_was(stacks: Stacks, world: World) -> None:
    before = {"A": queue(QueueName="a", DelaySeconds=1), "B": {**queue(QueueName="b"), "DependsOn": "A"}}
    stacks.create("shop", before, outputs={"Delay": {"Value": "1"}})
    ids = [stacks.physical_id("shop", one) for one in "AB"]

    stacks.update(
        "shop",
        {
            "A": queue(QueueName="a", DelaySeconds=2),
            "B": {**queue(QueueName="b2"), "DependsOn": "A"},
            "C": {**queue(QueueName="c"), "DependsOn": "B"},
            "D": {**queue(DelaySeconds=5_000), "DependsOn": "C"},
        },
        outputs={"Delay": {"Value": "2"}},
    )

    assert stacks.status("shop") == "UPDATE_ROLLBACK_COMPLETE"
    assert [stacks.physical_id("shop", one) for one in "AB"] == ids
    assert attributes(world, ids[0])["DelaySeconds"] == "1"
    assert queue_names(world) == ["a", "b"]
    assert stacks.outputs("shop") == {"Delay": "1"}
    assert [event for event in stacks.events("shop") if event[0] == "shop"][-3:] == [
        ("shop", "UPDATE_ROLLBACK_IN_PROGRESS", "The following resource(s) failed to create: [D]. "),
        ("shop", "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", ""),
        ("shop", "UPDATE_ROLLBACK_COMPLETE", ""),
    ]


def test_stack_that_was_rolled_back_can_be_updated_again(stacks: Stacks, world: World) -> None:
    stacks.create("shop", {"A": queue(QueueName="a")})
    stacks.update("shop", {"A": queue(QueueName="a"), "B": queue(DelaySeconds=5_000)})

    stacks.update("shop", {"A": queue(QueueName="a"), "B": queue(QueueName="b")})

    assert stacks.status("shop") == "UPDATE_COMPLETE"
    assert queue_names(world) == ["a", "b"]


def test_rollback_of_an_update_leaves_what_was_there_before_it(stacks: Stacks, world: World) -> None:
    """A resource that an earlier operation created is not new to this one."""
    stacks.create("shop", {"A": queue(QueueName="a")})

    stacks.update("shop", {"A": queue(QueueName="a"), "B": queue(DelaySeconds=5_000)})

    assert queue_names(world) == ["a"]


def test_failed_update_without_rollback_keeps_what_it_did(stacks: Stacks, world: World) -> None:
    stacks.create("shop", {"A": queue(QueueName="a")})

    stacks.update(
        "shop", {"A": queue(QueueName="a", DelaySeconds=3), "B": {**queue(DelaySeconds=5_000), "DependsOn": "A"}},
        DisableRollback=True,
    )  # fmt: skip

    assert stacks.status("shop") == "UPDATE_FAILED"
    assert attributes(world, stacks.physical_id("shop", "A"))["DelaySeconds"] == "3"

    stacks.update("shop", {"A": queue(QueueName="a", DelaySeconds=3)})
    assert stacks.status("shop") == "UPDATE_COMPLETE"


def test_custom_named_resource_cannot_be_replaced_under_its_name(stacks: Stacks) -> None:
    def table(key: str) -> dict[str, Any]:
        return {
            "Type": "AWS::DynamoDB::Table",
            "Properties": {
                "TableName": "orders",
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}],
            },
        }

    stacks.create("shop", {"T": table("a")})

    stacks.update("shop", {"T": table("b")})

    assert stacks.reason("shop", "T", "UPDATE_FAILED") == (
        "CloudFormation cannot update a stack when a custom-named resource requires replacing. "
        "Rename orders and update the stack again."
    )
    assert stacks.status("shop") == "UPDATE_ROLLBACK_COMPLETE"


def test_previous_template_and_values_can_be_used_again(stacks: Stacks, world: World) -> None:
    declared = {"Delay": {"Type": "Number"}, "Name": {"Type": "String"}}
    resources = {"Q": queue(QueueName={"Ref": "Name"}, DelaySeconds={"Ref": "Delay"})}
    given = [{"ParameterKey": "Delay", "ParameterValue": "1"}, {"ParameterKey": "Name", "ParameterValue": "q"}]
    stacks.create("shop", resources, Declared=declared, Parameters=given)

    stacks.client.update_stack(
        StackName="shop", UsePreviousTemplate=True,
        Parameters=[
            {"ParameterKey": "Delay", "ParameterValue": "2"}, {"ParameterKey": "Name", "UsePreviousValue": True},
        ],
    )  # fmt: skip
    world.settle()

    assert attributes(world, stacks.physical_id("shop", "Q"))["DelaySeconds"] == "2"
    assert queue_names(world) == ["q"]


def test_type_of_a_resource_cannot_change(stacks: Stacks, refusal: Refusal) -> None:
    stacks.create("shop", {"Q": queue()})

    code, message = refusal(stacks.update, "shop", {"Q": {"Type": "AWS::Logs::LogGroup"}})

    assert code == "ValidationError"
    assert message == (
        "Update of resource type is not permitted. The new template modifies resource type of the following "
        "resources: [Q]"
    )


def test_stack_that_is_not_there_cannot_be_updated(stacks: Stacks, refusal: Refusal) -> None:
    assert refusal(stacks.update, "shop", {"Q": queue()}) == ("ValidationError", "Stack [shop] does not exist")


def test_stack_that_was_rolled_back_at_creation_cannot_be_updated(stacks: Stacks, refusal: Refusal) -> None:
    stack_id = stacks.create("shop", {"Q": queue(DelaySeconds=5_000)})

    assert refusal(stacks.update, "shop", {"Q": queue()}) == (
        "ValidationError", f"Stack:{stack_id} is in ROLLBACK_COMPLETE state and can not be updated.",
    )  # fmt: skip


def test_cancelled_update_is_rolled_back(stacks: Stacks, world: World, refusal: Refusal) -> None:
    stacks.create("shop", {"A": queue(DelaySeconds=1), "B": {**queue(DelaySeconds=1), "DependsOn": "A"}})
    body = '{"Resources": {"A": {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": 2}}}}'
    stacks.client.update_stack(StackName="shop", TemplateBody=body)
    world.engine.claim(free=FreeSlots(1))

    stacks.client.cancel_update_stack(StackName="shop")
    world.settle()

    assert stacks.status("shop") == "UPDATE_ROLLBACK_COMPLETE"
    assert attributes(world, stacks.physical_id("shop", "A"))["DelaySeconds"] == "1"
    assert refusal(stacks.client.cancel_update_stack, StackName="shop") == (
        "ValidationError", "CancelUpdateStack cannot be called from current stack status",
    )  # fmt: skip


def test_rollback_that_failed_can_be_continued(stacks: Stacks, world: World) -> None:
    """The queue is gone behind the stack's back, so that its update cannot be undone until it is there again."""
    stacks.create("shop", {"A": queue(QueueName="a", DelaySeconds=1)})
    url = stacks.physical_id("shop", "A")
    stacks.client.update_stack(
        StackName="shop",
        TemplateBody='{"Resources": {"A": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "a"}},'
        '"B": {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": 5000}, "DependsOn": "A"}}}',
    )
    world.engine.claim(free=FreeSlots(1))
    world.client("sqs").delete_queue(QueueUrl=url)
    world.settle()
    assert stacks.status("shop") == "UPDATE_ROLLBACK_FAILED"
    assert stacks.describe("shop")["StackStatusReason"] == "The following resource(s) failed to update: [A]. "

    world.client("sqs").create_queue(QueueName="a")
    stacks.client.continue_update_rollback(StackName="shop")
    world.settle()

    assert stacks.status("shop") == "UPDATE_ROLLBACK_COMPLETE"
    assert attributes(world, url)["DelaySeconds"] == "1"


def test_properties_that_become_no_object_fail_the_update(stacks: Stacks) -> None:
    stacks.create("shop", {"Q": queue()})

    stacks.update("shop", {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"Ref": "AWS::Region"}}})

    assert stacks.reason("shop", "Q", "UPDATE_FAILED") == "Template format error: Properties must be an object."
    assert stacks.status("shop") == "UPDATE_ROLLBACK_COMPLETE"
