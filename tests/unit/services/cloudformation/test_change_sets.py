"""Change sets say what would change, and change it when they are executed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Refusal, Stacks, queue


def propose(
    stacks: Stacks, resources: dict[str, Any], *, kind: str = "UPDATE", name: str = "next", **params: Any
) -> Any:
    """Create a change set of the stack `shop` and describe it."""
    body = json.dumps({"Resources": resources})
    stacks.client.create_change_set(
        StackName="shop", ChangeSetName=name, TemplateBody=body, ChangeSetType=kind, **params
    )
    return stacks.client.describe_change_set(StackName="shop", ChangeSetName=name)


def test_change_set_of_a_new_stack_puts_it_under_review(stacks: Stacks) -> None:
    change_set = propose(stacks, {"Q": queue()}, kind="CREATE")

    assert (change_set["Status"], change_set["ExecutionStatus"]) == ("CREATE_COMPLETE", "AVAILABLE")
    assert [(one["Type"], one["ResourceChange"]) for one in change_set["Changes"]] == [
        (
            "Resource",
            {
                "Action": "Add",
                "LogicalResourceId": "Q",
                "ResourceType": "AWS::SQS::Queue",
                "Scope": [],
                "Details": [],
            },
        )
    ]
    assert stacks.status("shop") == "REVIEW_IN_PROGRESS"


def test_executed_change_set_creates_the_stack(stacks: Stacks, world: World) -> None:
    change_set = propose(stacks, {"Q": queue(QueueName="orders")}, kind="CREATE")

    stacks.client.execute_change_set(ChangeSetName=change_set["ChangeSetId"])
    world.settle()

    stack = stacks.describe("shop")
    assert (stack["StackStatus"], stack["ChangeSetId"]) == ("CREATE_COMPLETE", change_set["ChangeSetId"])
    executed = stacks.client.describe_change_set(ChangeSetName=change_set["ChangeSetId"])
    assert executed["ExecutionStatus"] == "EXECUTE_COMPLETE"


def test_change_set_tells_additions_changes_and_removals(stacks: Stacks) -> None:
    stacks.create("shop", {"A": queue(QueueName="a"), "B": queue(DelaySeconds=1), "C": queue(), "D": queue()})

    change_set = propose(stacks, {"A": queue(QueueName="a2"), "B": queue(DelaySeconds=2), "C": queue(), "E": queue()})

    changes = {one["ResourceChange"]["LogicalResourceId"]: one["ResourceChange"] for one in change_set["Changes"]}
    assert {name: (one["Action"], one.get("Replacement")) for name, one in changes.items()} == {
        "A": ("Modify", "True"), "B": ("Modify", "False"), "D": ("Remove", None), "E": ("Add", None),
    }  # fmt: skip
    assert changes["A"]["Details"] == [
        {
            "Target": {"Attribute": "Properties", "Name": "QueueName", "RequiresRecreation": "Always"},
            "Evaluation": "Static", "ChangeSource": "DirectModification",
        }
    ]  # fmt: skip
    assert stacks.status("shop") == "CREATE_COMPLETE"


def test_value_of_a_replaced_resource_is_not_known_yet(stacks: Stacks) -> None:
    def resources(name: str) -> dict[str, Any]:
        return {
            "A": queue(QueueName=name),
            "B": queue(QueueName={"Fn::Join": ["-", [{"Fn::GetAtt": ["A", "QueueName"]}, "b"]]}),
        }

    stacks.create("shop", resources("a"))

    change_set = propose(stacks, resources("c"))

    change = next(
        one["ResourceChange"] for one in change_set["Changes"] if one["ResourceChange"]["LogicalResourceId"] == "B"
    )
    target = {"Attribute": "Properties", "Name": "QueueName", "RequiresRecreation": "Always"}
    assert change["Replacement"] == "True"
    assert change["Details"] == [
        {
            "Target": target, "Evaluation": "Static",
            "ChangeSource": "ResourceAttribute", "CausingEntity": "A.QueueName",
        },
        {"Target": target, "Evaluation": "Dynamic", "ChangeSource": "DirectModification"},
    ]  # fmt: skip


def test_change_set_without_changes_fails_and_says_so(stacks: Stacks, refusal: Refusal) -> None:
    stacks.create("shop", {"Q": queue()})

    change_set = propose(stacks, {"Q": queue()})

    assert (change_set["Status"], change_set["ExecutionStatus"]) == ("FAILED", "UNAVAILABLE")
    assert change_set["StatusReason"] == (
        "The submitted information didn't contain changes. Submit different information to create a change set."
    )
    assert refusal(stacks.client.execute_change_set, ChangeSetName=change_set["ChangeSetId"]) == (
        "InvalidChangeSetStatus",
        f"ChangeSet [{change_set['ChangeSetId']}] cannot be executed in its current status of [FAILED]",
    )


def test_executed_change_set_updates_the_stack_and_drops_the_others(stacks: Stacks, world: World) -> None:
    stacks.create("shop", {"Q": queue(DelaySeconds=1)})
    propose(stacks, {"Q": queue(DelaySeconds=2)})
    propose(stacks, {"Q": queue(DelaySeconds=3)}, name="other")

    stacks.client.execute_change_set(StackName="shop", ChangeSetName="next")
    world.settle()

    assert stacks.status("shop") == "UPDATE_COMPLETE"
    assert stacks.client.list_change_sets(StackName="shop")["Summaries"] == []


def test_failed_execution_is_told_by_the_change_set(stacks: Stacks, world: World) -> None:
    proposed = propose(stacks, {"Q": queue(DelaySeconds=5_000)}, kind="CREATE", OnStackFailure="DO_NOTHING")

    stacks.client.execute_change_set(StackName="shop", ChangeSetName="next")
    world.settle()

    assert stacks.status("shop") == "CREATE_FAILED"
    change_set = stacks.client.describe_change_set(ChangeSetName=proposed["ChangeSetId"])
    assert change_set["ExecutionStatus"] == "EXECUTE_FAILED"


def test_deleted_change_set_is_gone_and_its_stack_stays(stacks: Stacks, refusal: Refusal) -> None:
    propose(stacks, {"Q": queue()}, kind="CREATE")

    stacks.client.delete_change_set(StackName="shop", ChangeSetName="next")
    stacks.client.delete_change_set(StackName="shop", ChangeSetName="next")

    assert stacks.status("shop") == "REVIEW_IN_PROGRESS"
    assert refusal(stacks.client.describe_change_set, StackName="shop", ChangeSetName="next") == (
        "ChangeSetNotFound", "ChangeSet [next] does not exist",
    )  # fmt: skip


def test_change_set_is_created_once_by_its_name(stacks: Stacks, refusal: Refusal) -> None:
    first = propose(stacks, {"Q": queue()}, kind="CREATE", ClientToken="once")

    assert propose(stacks, {"Q": queue()}, kind="CREATE", ClientToken="once")["ChangeSetId"] == first["ChangeSetId"]
    assert refusal(propose, stacks, {"Q": queue()}, kind="CREATE") == (
        "AlreadyExistsException", "ChangeSet next cannot be created because it exists",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("UPDATE", "Stack [shop] does not exist"),
        ("IMPORT", "ChangeSetType IMPORT is not supported."),
    ],
)
def test_change_set_needs_a_stack_of_its_kind(stacks: Stacks, refusal: Refusal, kind: str, message: str) -> None:
    assert refusal(propose, stacks, {"Q": queue()}, kind=kind) == ("ValidationError", message)


def test_change_set_does_not_create_a_stack_twice(stacks: Stacks, refusal: Refusal) -> None:
    stacks.create("shop", {"Q": queue()})

    assert refusal(propose, stacks, {"Q": queue()}, kind="CREATE") == (
        "ValidationError", "Stack [shop] already exists and cannot be created again with the changeSet [next].",
    )  # fmt: skip


def test_reviewed_stack_can_be_deleted(stacks: Stacks) -> None:
    propose(stacks, {"Q": queue()}, kind="CREATE")

    stacks.delete("shop")

    assert stacks.client.describe_stacks()["Stacks"] == []


def test_waiter_of_boto3_ends_when_the_change_set_is_created(stacks: Stacks) -> None:
    propose(stacks, {"Q": queue()}, kind="CREATE")

    waiter = stacks.client.get_waiter("change_set_create_complete")
    waiter.wait(StackName="shop", ChangeSetName="next", WaiterConfig={"Delay": 0, "MaxAttempts": 1})


def test_name_of_an_executed_change_set_is_free_again(stacks: Stacks, world: World, refusal: Refusal) -> None:
    first = propose(stacks, {"Q": queue()}, kind="CREATE")
    stacks.client.execute_change_set(StackName="shop", ChangeSetName="next")
    world.settle()

    assert refusal(stacks.client.describe_change_set, StackName="shop", ChangeSetName="next") == (
        "ChangeSetNotFound", "ChangeSet [next] does not exist",
    )  # fmt: skip
    second = propose(stacks, {"Q": queue(DelaySeconds=1)})

    assert second["ChangeSetId"] != first["ChangeSetId"]
    again = stacks.client.describe_change_set(ChangeSetName=first["ChangeSetId"])
    assert (again["ChangeSetName"], again["ExecutionStatus"]) == ("next", "EXECUTE_COMPLETE")


def test_values_of_properties_are_told_on_request(stacks: Stacks) -> None:
    stacks.create("shop", {"Old": queue(QueueName="old"), "Q": queue(QueueName="q", DelaySeconds=1)})
    propose(stacks, {"New": queue(QueueName="new"), "Q": queue(QueueName="q", DelaySeconds=2)})

    described = stacks.client.describe_change_set(StackName="shop", ChangeSetName="next", IncludePropertyValues=True)

    added, removed, modified = (one["ResourceChange"] for one in described["Changes"])
    assert json.loads(added["AfterContext"]) == {"Properties": {"QueueName": "new"}}
    assert json.loads(removed["BeforeContext"]) == {"Properties": {"QueueName": "old"}}
    assert ("BeforeContext" in added, "AfterContext" in removed) == (False, False)
    assert json.loads(modified["BeforeContext"]) == {"Properties": {"QueueName": "q", "DelaySeconds": 1}}
    assert json.loads(modified["AfterContext"]) == {"Properties": {"QueueName": "q", "DelaySeconds": 2}}
    assert modified["Details"][0]["Target"] == {
        "Attribute": "Properties", "Name": "DelaySeconds", "RequiresRecreation": "Never",
        "Path": "/Properties/DelaySeconds", "BeforeValue": "1", "AfterValue": "2", "AttributeChangeType": "Modify",
    }  # fmt: skip


def test_secret_parameters_are_masked_in_values_of_properties(stacks: Stacks) -> None:
    parameters = {"Secret": {"Type": "String", "NoEcho": True}}
    body = json.dumps({"Parameters": parameters, "Resources": {"Q": queue(QueueName={"Ref": "Secret"})}})
    given = [{"ParameterKey": "Secret", "ParameterValue": "hush"}]
    stacks.client.create_change_set(
        StackName="shop", ChangeSetName="next", TemplateBody=body, ChangeSetType="CREATE", Parameters=given
    )

    described = stacks.client.describe_change_set(StackName="shop", ChangeSetName="next", IncludePropertyValues=True)

    context = described["Changes"][0]["ResourceChange"]["AfterContext"]
    assert json.loads(context) == {"Properties": {"QueueName": "****"}}


def test_changed_parameter_is_named_as_the_cause(stacks: Stacks) -> None:
    body = json.dumps(
        {
            "Parameters": {"Delay": {"Type": "Number", "Default": 1}},
            "Resources": {"Q": queue(DelaySeconds={"Ref": "Delay"})},
        }
    )
    stacks.client.create_stack(StackName="shop", TemplateBody=body)
    stacks.world.settle()
    given = [{"ParameterKey": "Delay", "ParameterValue": "2"}]
    stacks.client.create_change_set(StackName="shop", ChangeSetName="next", TemplateBody=body, Parameters=given)

    described = stacks.client.describe_change_set(StackName="shop", ChangeSetName="next")

    details = described["Changes"][0]["ResourceChange"]["Details"]
    assert [(one["ChangeSource"], one.get("CausingEntity"), one["Evaluation"]) for one in details] == [
        ("ParameterReference", "Delay", "Static"), ("DirectModification", None, "Dynamic"),
    ]  # fmt: skip


def test_deployment_config_is_taken_and_told(stacks: Stacks, world: World) -> None:
    config = {"Mode": "STANDARD", "DisableRollback": True}

    change_set = propose(stacks, {"Q": queue(DelaySeconds=5_000)}, kind="CREATE", DeploymentConfig=config)
    stacks.client.execute_change_set(ChangeSetName=change_set["ChangeSetId"])
    world.settle()

    assert change_set["DeploymentConfig"] == config
    assert stacks.describe("shop")["DeploymentConfig"] == config
    assert stacks.status("shop") == "CREATE_FAILED"


def test_creation_without_any_active_resource_is_complete(stacks: Stacks, world: World) -> None:
    body = json.dumps(
        {
            "Conditions": {"Never": {"Fn::Equals": ["a", "b"]}},
            "Resources": {"Q": {"Type": "AWS::SQS::Queue", "Condition": "Never"}},
        }
    )
    made = stacks.client.create_change_set(
        StackName="shop", ChangeSetName="next", TemplateBody=body, ChangeSetType="CREATE"
    )

    described = stacks.client.describe_change_set(ChangeSetName=made["Id"])
    stacks.client.execute_change_set(ChangeSetName=made["Id"])
    world.settle()

    assert (described["Status"], described["Changes"]) == ("CREATE_COMPLETE", [])
    assert stacks.status("shop") == "CREATE_COMPLETE"


def test_what_the_cdk_notes_of_an_app_does_nothing(stacks: Stacks) -> None:
    stacks.create(
        "shop", {"CDKMetadata": {"Type": "AWS::CDK::Metadata", "Properties": {"Analytics": "v2:deflate64:x"}}}
    )

    assert stacks.status("shop") == "CREATE_COMPLETE"


def test_lookup_without_an_entry_refuses_the_change_set_itself(stacks: Stacks, refusal: Refusal) -> None:
    delay = {"Fn::FindInMap": ["Delays", {"Ref": "AWS::Region"}, "short"]}
    body = json.dumps(
        {"Mappings": {"Delays": {"eu-west-1": {"short": 1}}}, "Resources": {"Q": queue(DelaySeconds=delay)}}
    )

    assert refusal(
        stacks.client.create_change_set,
        StackName="shop", ChangeSetName="c", ChangeSetType="CREATE", TemplateBody=body,
    ) == ("ValidationError", "Template error: Unable to get mapping for Delays::us-east-1::short")  # fmt: skip
