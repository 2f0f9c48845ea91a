"""What is told of stacks, resources, events and templates."""

from __future__ import annotations

import json

import pytest

from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Refusal, Stacks, queue

TEMPLATE = {
    "AWSTemplateFormatVersion": "2010-09-09",
    "Description": "A shop.",
    "Parameters": {"Size": {"Type": "String", "Default": "s", "AllowedValues": ["s", "l"], "Description": "How big."}},
    "Resources": {"Role": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {}}}, "Q": queue()},
}


@pytest.mark.parametrize(
    ("operation", "params", "sentence"),
    [
        ("describe_stacks", {}, "Stack with id shop does not exist"),
        ("describe_stack_events", {}, "Stack [shop] does not exist"),
        ("describe_stack_resources", {}, "Stack with id shop does not exist"),
        ("describe_stack_resource", {"LogicalResourceId": "Q"}, "Stack 'shop' does not exist"),
        ("list_stack_resources", {}, "Stack with id shop does not exist"),
        ("list_change_sets", {}, "Stack [shop] does not exist"),
        ("describe_change_set", {"ChangeSetName": "c"}, "Stack [shop] does not exist"),
        ("get_template", {}, "Stack with id shop does not exist"),
        ("get_template_summary", {}, "Stack with id shop does not exist"),
        ("get_stack_policy", {}, "Stack [shop] does not exist"),
    ],
)
def test_stack_that_is_not_there_is_an_error(
    stacks: Stacks, refusal: Refusal, operation: str, params: dict[str, str], sentence: str
) -> None:
    assert refusal(getattr(stacks.client, operation), StackName="shop", **params) == ("ValidationError", sentence)


def test_resource_that_is_not_there_is_an_error(stacks: Stacks, refusal: Refusal) -> None:
    stacks.create("shop", {"Q": queue()})

    assert refusal(stacks.client.describe_stack_resource, StackName="shop", LogicalResourceId="X") == (
        "ValidationError", "Resource X does not exist for stack shop",
    )  # fmt: skip


def test_resource_is_told_with_its_metadata(stacks: Stacks) -> None:
    stacks.create("shop", {"Q": {**queue(), "Metadata": {"Owner": "us"}}})

    answer = stacks.client.describe_stack_resource(StackName="shop", LogicalResourceId="Q")
    detail = answer["StackResourceDetail"]
    assert json.loads(detail["Metadata"]) == {"Owner": "us"}
    assert (detail["ResourceType"], detail["ResourceStatus"]) == ("AWS::SQS::Queue", "CREATE_COMPLETE")


def test_stack_is_found_by_the_physical_id_of_a_resource(stacks: Stacks, refusal: Refusal) -> None:
    stacks.create("shop", {"Q": queue(), "R": queue()})

    found = stacks.client.describe_stack_resources(PhysicalResourceId=stacks.physical_id("shop", "Q"))
    assert [one["LogicalResourceId"] for one in found["StackResources"]] == ["Q", "R"]
    assert refusal(stacks.client.describe_stack_resources, PhysicalResourceId="nothing") == (
        "ValidationError", "Stack for nothing does not exist",
    )  # fmt: skip
    assert refusal(stacks.client.describe_stack_resources)[0] == "ValidationError"


def test_resources_of_a_stack_are_listed_in_pages(stacks: Stacks) -> None:
    stacks.create(
        "shop", {f"H{number:03}": {"Type": "AWS::CloudFormation::WaitConditionHandle"} for number in range(120)}
    )

    first = stacks.client.list_stack_resources(StackName="shop")
    second = stacks.client.list_stack_resources(StackName="shop", NextToken=first["NextToken"])
    names = [one["LogicalResourceId"] for page in (first, second) for one in page["StackResourceSummaries"]]
    assert len(names) == len(set(names)) == 120
    assert "NextToken" not in second


def test_events_are_told_in_pages_the_latest_first(stacks: Stacks, refusal: Refusal) -> None:
    stacks.create(
        "shop", {f"H{number:03}": {"Type": "AWS::CloudFormation::WaitConditionHandle"} for number in range(40)}
    )

    pages = list(stacks.client.get_paginator("describe_stack_events").paginate(StackName="shop"))
    events = [event for page in pages for event in page["StackEvents"]]
    assert [len(page["StackEvents"]) for page in pages] == [100, 22]
    assert (events[0]["ResourceStatus"], events[-1]["ResourceStatus"]) == ("CREATE_COMPLETE", "CREATE_IN_PROGRESS")
    assert refusal(stacks.client.describe_stack_events, StackName="shop", NextToken="?")[1] == "NextToken is not valid."


def test_stacks_are_told_the_newest_first(stacks: Stacks, world: World) -> None:
    for name in ("b", "a", "c"):
        stacks.create(name, {"Q": queue()})
        world.advance(seconds=1)
    stacks.delete("a")

    assert [one["StackName"] for one in stacks.client.describe_stacks()["Stacks"]] == ["c", "b"]
    assert [one["StackName"] for one in stacks.client.list_stacks()["StackSummaries"]] == ["c", "a", "b"]
    filtered = stacks.client.list_stacks(StackStatusFilter=["DELETE_COMPLETE"])["StackSummaries"]
    assert [one["StackName"] for one in filtered] == ["a"]


def test_deleted_stacks_are_listed_for_ninety_days(stacks: Stacks, world: World) -> None:
    stacks.create("shop", {"H": {"Type": "AWS::CloudFormation::WaitConditionHandle"}})
    stacks.delete("shop")

    world.advance(days=89)
    assert len(stacks.client.list_stacks()["StackSummaries"]) == 1
    world.advance(days=1)
    assert stacks.client.list_stacks()["StackSummaries"] == []


def test_template_of_a_stack_is_told_as_it_was_given(stacks: Stacks) -> None:
    body = "Resources:\n  Q:\n    Type: AWS::SQS::Queue  # orders\n"
    stacks.client.create_stack(StackName="shop", TemplateBody=body)

    assert stacks.client.get_template(StackName="shop")["TemplateBody"] == body


def test_template_is_summarised_with_what_it_needs(stacks: Stacks) -> None:
    summary = stacks.client.get_template_summary(TemplateBody=json.dumps(TEMPLATE))

    assert summary["Description"] == "A shop."
    assert summary["Capabilities"] == ["CAPABILITY_IAM"]
    assert summary["CapabilitiesReason"] == "The following resource(s) require capabilities: [AWS::IAM::Role]"
    assert summary["ResourceTypes"] == ["AWS::IAM::Role", "AWS::SQS::Queue"]
    assert summary["Parameters"] == [
        {
            "ParameterKey": "Size", "DefaultValue": "s", "ParameterType": "String", "NoEcho": False,
            "Description": "How big.", "ParameterConstraints": {"AllowedValues": ["s", "l"]},
        }
    ]  # fmt: skip


def test_unknown_types_of_a_summary_can_be_warnings(stacks: Stacks) -> None:
    body = json.dumps({"Resources": {"B": {"Type": "AWS::EC2::VPC"}}})

    summary = stacks.client.get_template_summary(
        TemplateBody=body, TemplateSummaryConfig={"TreatUnrecognizedResourceTypesAsWarnings": True}
    )

    assert summary["Warnings"] == {"UnrecognizedResourceTypes": ["AWS::EC2::VPC"]}


def test_template_is_validated_without_being_deployed(stacks: Stacks, refusal: Refusal) -> None:
    answer = stacks.client.validate_template(TemplateBody=json.dumps(TEMPLATE))

    assert answer["Parameters"] == [
        {"ParameterKey": "Size", "DefaultValue": "s", "NoEcho": False, "Description": "How big."}
    ]
    assert refusal(stacks.client.validate_template, TemplateBody="Resources: [")[0] == "ValidationError"


def test_stack_policy_is_kept_with_the_stack(stacks: Stacks) -> None:
    stacks.create("shop", {"Q": queue()})

    stacks.client.set_stack_policy(StackName="shop", StackPolicyBody="{}")

    assert stacks.client.get_stack_policy(StackName="shop")["StackPolicyBody"] == "{}"


def test_stack_policy_may_lie_in_a_bucket(stacks: Stacks, refusal: Refusal) -> None:
    s3 = stacks.world.client("s3")
    s3.create_bucket(Bucket="policies")
    s3.put_object(Bucket="policies", Key="p.json", Body=b'{"Statement": []}')
    s3.put_object(Bucket="policies", Key="large.json", Body=b" " * 16_385)
    url = "https://policies.s3.us-east-1.amazonaws.com/"

    stacks.create("shop", {"Q": queue()}, StackPolicyURL=f"{url}p.json")

    assert stacks.client.get_stack_policy(StackName="shop")["StackPolicyBody"] == '{"Statement": []}'
    both = {"StackPolicyBody": "{}", "StackPolicyURL": f"{url}p.json"}
    for asked, message in (
        (both, "You must specify only one of StackPolicyBody and StackPolicyURL."),
        ({"StackPolicyURL": f"{url}large.json"}, "StackPolicyURL may not exceed 16384 bytes in size."),
    ):
        set_policy = stacks.client.set_stack_policy
        assert refusal(set_policy, StackName="shop", **asked) == ("ValidationError", message)


def test_description_has_what_aws_tells(stacks: Stacks) -> None:
    stack_id = stacks.create("shop", {"Q": queue()}, outputs={"Url": {"Value": {"Ref": "Q"}}})
    bare = stacks.describe(stacks.create("bare", {"Q": queue()}))
    described = stacks.describe("shop")
    stacks.delete("shop")
    deleted = stacks.describe(stack_id)

    assert described["RollbackConfiguration"] == {}
    assert described["EnableTerminationProtection"] is False
    assert [name for name in ("Outputs", "Parameters", "Capabilities", "RetainExceptOnCreate") if name in bare] == []
    assert (bare["Tags"], bare["NotificationARNs"]) == ([], [])
    assert [name for name in ("Outputs", "ChangeSetId", "EnableTerminationProtection") if name in deleted] == []
    assert deleted["DeletionTime"] >= deleted["CreationTime"]


def test_first_execution_of_a_change_set_is_an_update_in_time(stacks: Stacks) -> None:
    stacks.client.create_change_set(
        StackName="shop", ChangeSetName="next", ChangeSetType="CREATE",
        TemplateBody=json.dumps({"Resources": {"Q": queue()}}),
    )  # fmt: skip
    stacks.client.execute_change_set(StackName="shop", ChangeSetName="next")
    stacks.world.settle()
    stacks.create("plain", {"Q": queue()})

    assert "LastUpdatedTime" in stacks.describe("shop")
    assert "LastUpdatedTime" not in stacks.describe("plain")


def test_types_are_not_looked_at_without_a_deployment(stacks: Stacks) -> None:
    body = json.dumps({"Resources": {"X": {"Type": "AWS::Nothing::AtAll"}}})

    stacks.client.validate_template(TemplateBody=body)

    assert stacks.client.get_template_summary(TemplateBody=body)["ResourceTypes"] == ["AWS::Nothing::AtAll"]
