"""Stacks are created resource by resource, and a failed creation leaves what its caller asked for."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from redrive.delivery.operation import Answer, Wait
from redrive.delivery.worker import FreeSlots
from redrive.engine.settings import Settings
from redrive.services.cloudformation import limits
from redrive.services.cloudformation.deployment.steps import STEPS
from redrive.services.cloudformation.model.stack import Stack, StackStatus
from redrive.services.cloudformation.workers.stacks import StackWorker
from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Refusal, Stacks, queue, trust_for

INVALID = "Properties validation failed for resource Orders with message:\n"
TOO_LONG = (
    "1 validation error detected: Value at 'templateBody' failed to satisfy constraint: "
    "Member must have length less than or equal to 51200"
)
BY_URL = "S3 error: Domain name specified in bucket is not a valid S3 domain"
BROKEN = {"Dead": queue(), "Bad": {**queue(DelaySeconds=5_000), "DependsOn": "Dead"}}


def test_created_stack_has_its_resources_and_outputs(stacks: Stacks, world: World) -> None:
    stack_id = stacks.create(
        "shop", {"Orders": queue(QueueName="orders")},
        outputs={"Url": {"Value": {"Ref": "Orders"}, "Description": "Where orders go."}},
    )  # fmt: skip

    stack = stacks.describe("shop")
    assert (stack["StackId"], stack["StackStatus"]) == (stack_id, "CREATE_COMPLETE")
    url = world.client("sqs").get_queue_url(QueueName="orders")["QueueUrl"]
    assert stack["Outputs"] == [{"OutputKey": "Url", "OutputValue": url, "Description": "Where orders go."}]


def test_each_resource_tells_of_its_creation_in_three_events(stacks: Stacks) -> None:
    stacks.create("shop", {"Orders": queue()})

    assert stacks.events("shop") == [
        ("shop", "CREATE_IN_PROGRESS", "User Initiated"),
        ("Orders", "CREATE_IN_PROGRESS", ""),
        ("Orders", "CREATE_IN_PROGRESS", "Resource creation Initiated"),
        ("Orders", "CREATE_COMPLETE", ""),
        ("shop", "CREATE_COMPLETE", ""),
    ]


def test_creation_is_under_way_until_the_worker_has_run(stacks: Stacks, world: World) -> None:
    body = json.dumps({"Resources": {"Orders": queue()}})
    stacks.client.create_stack(StackName="shop", TemplateBody=body)

    assert stacks.status("shop") == "CREATE_IN_PROGRESS"
    world.settle()
    assert stacks.status("shop") == "CREATE_COMPLETE"


def test_description_of_a_stack_under_way_waits_for_its_end(stacks: Stacks, world: World) -> None:
    """A waiter's first question is answered when the stack is done, not half a minute later."""

    def ask() -> Answer:
        params = {"StackName": "shop"}
        return world.store.run(
            lambda tx: world.engine.registry.begin(tx, world.caller(), "cloudformation", "DescribeStacks", params)
        )

    stacks.client.create_stack(StackName="shop", TemplateBody=json.dumps({"Resources": {"Orders": queue()}}))

    held = ask()
    assert isinstance(held, Wait)
    assert held.until == world.now + limits.DESCRIPTION_HELD_MS
    world.settle()
    assert isinstance(ask(), dict)


def test_every_status_under_way_has_its_step(stacks: Stacks, world: World) -> None:
    stacks.create("shop", {"Orders": queue()})
    stack = world.store.run(lambda tx: tx.resources.list(Stack, world.caller().scope))[0]

    under_way = {status for status in StackStatus if dataclasses.replace(stack, status=status).is_under_way}
    assert STEPS.keys() == under_way


def test_each_step_is_committed_by_itself(stacks: Stacks, world: World) -> None:
    """A node that stops between two steps leaves a stack that goes on with the next resource."""
    body = json.dumps({"Resources": {"A": queue(QueueName="a"), "B": {**queue(QueueName="b"), "DependsOn": "A"}}})
    stacks.client.create_stack(StackName="shop", TemplateBody=body)

    world.engine.claim(free=FreeSlots(1))
    assert len(world.client("sqs").list_queues()["QueueUrls"]) == 1
    assert stacks.status("shop") == "CREATE_IN_PROGRESS"

    world.settle()
    assert len(world.client("sqs").list_queues()["QueueUrls"]) == 2
    assert [event for event in stacks.events("shop") if event[0] == "A"].count(("A", "CREATE_COMPLETE", "")) == 1


def test_generated_name_is_stack_logical_id_and_random_suffix(stacks: Stacks) -> None:
    stacks.create("shop", {"Orders": queue()})

    name = stacks.physical_id("shop", "Orders").rsplit("/", 1)[-1]
    stack, logical_id, suffix = name.split("-")
    assert (stack, logical_id, len(suffix)) == ("shop", "Orders", 13)
    assert suffix == suffix.upper()


def test_generated_name_keeps_within_the_length_of_its_type(stacks: Stacks) -> None:
    stacks.create("s" * 100, {"Orders" * 15: queue()})

    name = stacks.physical_id("s" * 100, "Orders" * 15).rsplit("/", 1)[-1]
    assert len(name) == 80


def test_failed_creation_is_rolled_back_with_its_reasons(stacks: Stacks, world: World) -> None:
    stacks.create("shop", BROKEN)

    assert stacks.status("shop") == "ROLLBACK_COMPLETE"
    assert "QueueUrls" not in world.client("sqs").list_queues()
    assert stacks.reason("shop", "shop", "ROLLBACK_IN_PROGRESS") == (
        "The following resource(s) failed to create: [Bad]. Rollback requested by user."
    )
    reason = stacks.reason("shop", "Bad", "CREATE_FAILED")
    assert reason.startswith('Resource handler returned message: "')
    assert "HandlerErrorCode: InvalidRequest)" in reason


@pytest.mark.parametrize("params", [{"DisableRollback": True}, {"OnFailure": "DO_NOTHING"}])
def test_failed_creation_is_left_as_it_is_without_rollback(stacks: Stacks, params: dict[str, Any]) -> None:
    stacks.create("shop", BROKEN, **params)

    stack = stacks.describe("shop")
    assert stack["StackStatus"] == "CREATE_FAILED"
    assert stack["StackStatusReason"] == "The following resource(s) failed to create: [Bad]. "
    assert stacks.physical_id("shop", "Dead")


def test_failed_creation_deletes_the_stack_if_asked_to(stacks: Stacks) -> None:
    stack_id = stacks.create("shop", BROKEN, OnFailure="DELETE")

    assert stacks.status(stack_id) == "DELETE_COMPLETE"
    assert stacks.reason(stack_id, "shop", "DELETE_IN_PROGRESS") == (
        "The following resource(s) failed to create: [Bad]. Delete requested by user."
    )


@pytest.mark.parametrize(("policy", "kept"), [("Retain", True), ("RetainExceptOnCreate", False)])
def test_rollback_of_a_creation_heeds_the_deletion_policy(
    stacks: Stacks, world: World, policy: str, kept: bool
) -> None:
    stacks.create("shop", {**BROKEN, "Dead": {**queue(QueueName="dead"), "DeletionPolicy": policy}})

    assert ("QueueUrls" in world.client("sqs").list_queues()) is kept


def test_resource_of_another_owner_is_not_taken_over(stacks: Stacks, world: World) -> None:
    world.client("sqs").create_queue(QueueName="orders")

    stacks.create("shop", {"Orders": queue(QueueName="orders")})

    assert "Resource of type 'AWS::SQS::Queue' with identifier 'orders' already exists." in stacks.reason(
        "shop", "Orders", "CREATE_FAILED"
    )
    assert world.client("sqs").list_queues()["QueueUrls"]


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        (
            {"VisibilityTimeout": "soon"},
            f"{INVALID}#/VisibilityTimeout: expected type: Integer, found: String",
        ),
        (
            {"Tags": [{"Key": "a"}]},
            f"{INVALID}#/Tags/0: required key [Value] not found",
        ),
        (
            {"RedrivePolicy": "no document"},
            f"{INVALID}#/RedrivePolicy: expected type: JSONObject, found: String",
        ),
        ({"QueueName": {"Fn::ImportValue": "nothing"}}, "No export named nothing found."),
    ],
)
def test_property_that_the_type_does_not_take_fails_the_resource(
    stacks: Stacks, properties: dict[str, object], reason: str
) -> None:
    stacks.create("shop", {"Orders": queue(**properties)})

    assert stacks.reason("shop", "Orders", "CREATE_FAILED") == reason


def test_unknown_property_is_left_out_with_a_warning_that_names_the_likely_one(stacks: Stacks) -> None:
    """A template that AWS would refuse for a misspelt property deploys, and its events say what is wrong with it."""
    stacks.create("shop", {"Orders": queue(VisibilityTimeoutSeconds=300)})

    assert stacks.status("shop") == "CREATE_COMPLETE"
    reasons = [reason for logical_id, _, reason in stacks.events("shop") if logical_id == "Orders"]
    warning = "Left out the property VisibilityTimeoutSeconds, which redrive does not know of this type."
    assert f"{warning} Did you mean VisibilityTimeout?" in reasons


def test_unknown_property_fails_the_resource_with_strict_templates() -> None:
    """Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/troubleshooting.html"""
    stacks = Stacks(World(settings=Settings(strict_templates=True)))

    stacks.create("shop", {"Orders": queue(Colour="red")})

    assert stacks.reason("shop", "Orders", "CREATE_FAILED") == "Encountered unsupported property Colour"


def test_missing_required_property_fails_the_resource(stacks: Stacks) -> None:
    stacks.create("shop", {"Table": {"Type": "AWS::DynamoDB::Table", "Properties": {}}})

    assert stacks.reason("shop", "Table", "CREATE_FAILED").endswith("#: required key [KeySchema] not found")


def test_texts_are_taken_for_numbers_and_truth_values(stacks: Stacks, world: World) -> None:
    stacks.create("shop", {"Orders": queue(VisibilityTimeout="300", SqsManagedSseEnabled="false")})

    url = stacks.physical_id("shop", "Orders")
    attributes = world.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert attributes["VisibilityTimeout"] == "300"
    assert attributes["SqsManagedSseEnabled"] == "false"


def test_tags_of_the_stack_become_tags_of_its_resources(stacks: Stacks, world: World) -> None:
    tags = [{"Key": "team", "Value": "shop"}, {"Key": "tier", "Value": "low"}]
    stacks.create("shop", {"Orders": queue(Tags=[{"Key": "tier", "Value": "high"}])}, Tags=tags)

    url = stacks.physical_id("shop", "Orders")
    assert world.client("sqs").list_queue_tags(QueueUrl=url)["Tags"] == {"team": "shop", "tier": "high"}


ROLE = {
    "Type": "AWS::IAM::Role",
    "Properties": {
        "AssumeRolePolicyDocument": {
            "Version": "2012-10-17",
            "Statement": [
                {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
            ],
        }
    },
}
NAMED_ROLE = {**ROLE, "Properties": {**ROLE["Properties"], "RoleName": "mine"}}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("role", "given", "needed"),
    [
        (ROLE, [], "CAPABILITY_IAM"),
        (NAMED_ROLE, [], "CAPABILITY_NAMED_IAM"),
        (NAMED_ROLE, ["CAPABILITY_IAM"], "CAPABILITY_NAMED_IAM"),
    ],
)
def test_resources_that_give_permissions_must_be_acknowledged(
    stacks: Stacks, refusal: Refusal, role: dict[str, object], given: list[str], needed: str
) -> None:
    assert refusal(stacks.create, "shop", {"Role": role}, Capabilities=given) == (
        "InsufficientCapabilitiesException",
        f"Requires capabilities : [{needed}]",
    )


@pytest.mark.parametrize(("role", "given"), [(ROLE, "CAPABILITY_IAM"), (NAMED_ROLE, "CAPABILITY_NAMED_IAM")])
def test_acknowledged_permissions_are_deployed(stacks: Stacks, role: dict[str, object], given: str) -> None:
    stacks.create("shop", {"Role": role}, Capabilities=[given])

    assert stacks.status("shop") == "CREATE_COMPLETE"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"TemplateURL": "https://bucket/template"}, BY_URL),
        ({}, "Either Template URL or Template Body must be specified."),
        ({"TemplateBody": "{}"}, "Template format error: At least one Resources member must be defined."),
        (
            {"TemplateBody": json.dumps({"Resources": {"B": {"Type": "AWS::S3::Pail"}, "Q": queue()}})},
            "Template format error: Unrecognized resource types: [AWS::S3::Pail]",
        ),
        (
            {"TemplateBody": json.dumps({"Resources": {"Q": {**queue(), "DeletionPolicy": "Snapshot"}}})},
            "Template error: resource type AWS::SQS::Queue does not support deletion policy Snapshot",
        ),
        (
            {
                "TemplateBody": json.dumps(
                    {"Resources": {"Q": queue()}, "Outputs": {"O": {"Value": {"Fn::GetAtt": ["Q", "Colour"]}}}}
                )
            },
            "Template error: resource Q does not support attribute type Colour in Fn::GetAtt",
        ),
        (
            {
                "TemplateBody": json.dumps({"Resources": {"Q": queue()}}),
                "Parameters": [{"ParameterKey": "P", "ParameterValue": "1"}],
            },
            "Parameters: [P] do not exist in the template",
        ),
        (
            {"TemplateBody": json.dumps({"Resources": {"Q": queue()}}), "OnFailure": "DELETE", "DisableRollback": True},
            "Either DisableRollback or OnFailure can be specified, not both.",
        ),
        (
            {"TemplateBody": json.dumps({"Resources": {"Q": queue()}}), "ResourceTypes": ["AWS::SQS::*"]},
            "ResourceTypes is not supported.",
        ),
        ({"TemplateBody": "#" * 51_201}, TOO_LONG),
    ],
)  # fmt: skip
def test_request_that_cannot_be_honoured_creates_nothing(
    stacks: Stacks, refusal: Refusal, params: dict[str, object], message: str
) -> None:
    assert refusal(stacks.client.create_stack, StackName="shop", **params) == ("ValidationError", message)
    assert stacks.client.list_stacks()["StackSummaries"] == []


@pytest.mark.parametrize("name", ["1shop", "shop_orders", "s" * 129])
def test_name_that_no_stack_may_have_is_refused(stacks: Stacks, refusal: Refusal, name: str) -> None:
    code, message = refusal(stacks.create, name, {"Q": queue()})

    assert code == "ValidationError"
    assert message.startswith(f"1 validation error detected: Value '{name}' at 'stackName' failed to satisfy")


def test_name_of_a_living_stack_is_taken(stacks: Stacks, refusal: Refusal) -> None:
    stacks.create("shop", {"Q": queue()})

    assert refusal(stacks.create, "shop", {"Q": queue()}) == ("AlreadyExistsException", "Stack [shop] already exists")


def test_repeated_request_with_its_token_answers_the_same_stack(stacks: Stacks) -> None:
    first = stacks.create("shop", {"Q": queue()}, ClientRequestToken="once")

    assert stacks.create("shop", {"Q": queue()}, ClientRequestToken="once") == first


def test_settings_of_a_stack_are_told_as_they_were_given(stacks: Stacks, world: World) -> None:
    arn, iam = "arn:aws:sns:us-east-1:000000000000:news", world.client("iam")
    trust = json.dumps(trust_for("cloudformation.amazonaws.com"))
    deployer = iam.create_role(RoleName="deployer", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    iam.attach_role_policy(RoleName="deployer", PolicyArn="arn:aws:iam::aws:policy/AmazonSQSFullAccess")
    stacks.create(
        "shop", {"Q": queue()}, NotificationARNs=[arn], RoleARN=deployer,
        Tags=[{"Key": "a", "Value": "b"}], EnableTerminationProtection=True, TimeoutInMinutes=5,
        Declared={"Secret": {"Type": "String", "NoEcho": True}, "Size": {"Type": "Number", "Default": 3}},
        Parameters=[{"ParameterKey": "Secret", "ParameterValue": "hidden"}],
    )  # fmt: skip

    stack = stacks.describe("shop")
    assert stack["NotificationARNs"] == [arn]
    assert stack["RoleARN"] == deployer
    assert stack["Tags"] == [{"Key": "a", "Value": "b"}]
    assert (stack["EnableTerminationProtection"], stack["TimeoutInMinutes"]) == (True, 5)
    assert stack["Parameters"] == [
        {"ParameterKey": "Secret", "ParameterValue": "****"},
        {"ParameterKey": "Size", "ParameterValue": "3"},
    ]


def test_waiter_of_boto3_ends_when_the_stack_is_created(stacks: Stacks) -> None:
    stacks.create("shop", {"Q": queue()})

    waiter = stacks.client.get_waiter("stack_create_complete")
    waiter.wait(StackName="shop", WaiterConfig={"Delay": 0, "MaxAttempts": 1})


def test_no_two_events_of_a_stack_share_an_instant(stacks: Stacks) -> None:
    stacks.create("shop", {"A": queue(), "B": queue()})

    events = stacks.client.describe_stack_events(StackName="shop")["StackEvents"]

    instants = [event["Timestamp"] for event in reversed(events)]
    assert instants == sorted(set(instants))
    assert len(instants) == 8


def test_dynamic_reference_that_functions_put_together_fails_its_resource(stacks: Stacks) -> None:
    name = {"Fn::Join": ["", ["{{resolve:secretsmanager:", {"Ref": "AWS::Region"}, "}}"]]}

    stacks.create("shop", {"Q": queue(QueueName=name)})

    assert "Secrets Manager can't find the specified secret." in stacks.reason("shop", "Q", "CREATE_FAILED")


def test_policies_may_follow_from_parameters(stacks: Stacks, world: World) -> None:
    """Source: https://github.com/aws-cloudformation/cfn-lint/pull/2784"""
    kept = {**queue(), "DeletionPolicy": {"Ref": "Fate"}, "UpdateReplacePolicy": {"Ref": "AWS::NoValue"}}
    declared = {"Fate": {"Type": "String", "Default": "Retain"}}
    stacks.create("shop", {"Q": kept}, Declared=declared)
    url = stacks.physical_id("shop", "Q")

    stacks.delete("shop")

    assert world.client("sqs").list_queues()["QueueUrls"] == [url]


def test_policy_that_a_parameter_makes_wrong_is_refused(stacks: Stacks, refusal: Refusal) -> None:
    declared = {"Fate": {"Type": "String", "Default": "Burn"}}

    assert refusal(stacks.create, "shop", {"Q": {**queue(), "DeletionPolicy": {"Ref": "Fate"}}}, Declared=declared) == (
        "ValidationError", "Template format error: Unrecognized DeletionPolicy Burn for resource Q",
    )  # fmt: skip


def test_description_of_a_rolled_back_creation_has_its_end_and_no_change_set(stacks: Stacks) -> None:
    body = '{"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": 5000}}}}'
    stacks.client.create_change_set(StackName="shop", ChangeSetName="c", ChangeSetType="CREATE", TemplateBody=body)
    stacks.client.execute_change_set(StackName="shop", ChangeSetName="c")
    stacks.world.settle()

    told = stacks.describe("shop")

    assert told["StackStatus"] == "ROLLBACK_COMPLETE"
    assert told["DeletionTime"] >= told["CreationTime"]
    assert "ChangeSetId" not in told


def test_rolled_back_creation_is_listed_for_ever(stacks: Stacks, world: World) -> None:
    stacks.create("shop", {"Q": queue(DelaySeconds=5_000)})

    world.advance(days=100)

    assert [one["StackName"] for one in stacks.client.list_stacks()["StackSummaries"]] == ["shop"]


def test_parameter_of_the_text_no_value_removes_the_property(stacks: Stacks, world: World) -> None:
    declared = {"Delay": {"Type": "String", "Default": "AWS::NoValue"}}

    stacks.create("shop", {"Q": queue(DelaySeconds={"Ref": "Delay"})}, Declared=declared)

    url = stacks.physical_id("shop", "Q")
    attributes = world.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["DelaySeconds"])["Attributes"]
    assert attributes["DelaySeconds"] == "0"


def test_parameter_of_the_text_no_value_is_a_text_in_conditions_and_texts(stacks: Stacks) -> None:
    name = {"Fn::If": ["Given", {"Ref": "Name"}, {"Ref": "Name"}]}
    conditions = {"Given": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Name"}, "AWS::NoValue"]}]}}
    body = {
        "Parameters": {"Name": {"Type": "String", "Default": "AWS::NoValue"}}, "Conditions": conditions,
        "Resources": {"Q": queue(QueueName=name)},
        "Outputs": {"Name": {"Value": {"Fn::Sub": "${Name}"}}, "Given": {"Condition": "Given", "Value": "yes"}},
    }  # fmt: skip
    stacks.client.create_stack(StackName="shop", TemplateBody=json.dumps(body))
    stacks.world.settle()

    assert stacks.outputs("shop") == {"Name": "AWS::NoValue"}
    assert "shop-Q-" in stacks.physical_id("shop", "Q")


def test_stack_in_real_time_awaits_a_function_from_the_instant_at_which_it_was_made(
    stacks: Stacks, world: World
) -> None:
    """Both steps fall into one millisecond here, as they may on a fast machine."""
    code = {"ZipFile": "def handler(event, context): ..."}
    role = {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": trust_for("lambda.amazonaws.com")}}
    properties = {"Runtime": "python3.12", "Handler": "index.handler", "Code": code, "Role": {"Fn::GetAtt": "Role.Arn"}}
    body = json.dumps({"Resources": {"Role": role, "F": {"Type": "AWS::Lambda::Function", "Properties": properties}}})
    stacks.client.create_stack(StackName="shop", TemplateBody=body, Capabilities=["CAPABILITY_IAM"])
    worker = StackWorker(real_time=True)

    for _ in range(10):
        world.store.run(lambda tx: worker.claim(tx, free=FreeSlots(1)))
    early = [event for event in stacks.events("shop") if event[0] == "F"]
    world.clock.move_to(world.now + limits.PENDING_POLL_MS)
    for _ in range(10):
        world.store.run(lambda tx: worker.claim(tx, free=FreeSlots(1)))

    assert early == [("F", "CREATE_IN_PROGRESS", ""), ("F", "CREATE_IN_PROGRESS", "Resource creation Initiated")]
    assert stacks.status("shop") == "CREATE_COMPLETE"
    name = stacks.physical_id("shop", "F")
    assert world.client("lambda").get_function_configuration(FunctionName=name)["State"] == "Active"
