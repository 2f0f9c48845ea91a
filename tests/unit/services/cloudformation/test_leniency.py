"""What AWS has and redrive does not serve is refused by name, left out with a warning, or stood in for."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from redrive.core.leniency import OnUnknown
from redrive.engine.settings import Settings
from redrive.services.cloudformation.types.stand_ins import is_known_to_aws
from redrive.testing.world import World
from scripts.write_known_types import TARGET, known_types
from tests.unit.services.cloudformation.conftest import Refusal, Stacks, queue, trust_for

UNSERVED = "AWS::IVS::Channel"
CHANNEL = {"Type": UNSERVED, "Properties": {"Name": "c", "Anything": {"Nested": [1]}}}
HINT = (
    "Take them out, or have stand-ins made for them that do nothing: redrive deploy --on-unknown stub, or the tag "
    "redrive:on-unknown=stub of the stack."
)


def tagged(mode: str) -> list[dict[str, str]]:
    return [{"Key": "redrive:on-unknown", "Value": mode}]


def test_types_that_aws_has_are_refused_in_our_words(stacks: Stacks, refusal: Refusal) -> None:
    assert refusal(stacks.create, "shop", {"C": CHANNEL, "Q": queue()}) == (
        "ValidationError", f"AWS has the resource types [{UNSERVED}], redrive does not serve them. {HINT}"
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["refuse", "warn", "stub"])
def test_types_that_aws_lacks_are_refused_in_awss_words(stacks: Stacks, refusal: Refusal, mode: str) -> None:
    assert refusal(stacks.create, "shop", {"C": {"Type": "AWS::IVS::Chanel"}}, Tags=tagged(mode)) == (
        "ValidationError", "Template format error: Unrecognized resource types: [AWS::IVS::Chanel]"
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["warn", "stub"])
def test_stand_in_is_made_and_deleted_with_a_warning(stacks: Stacks, mode: str) -> None:
    outputs = {"Id": {"Value": {"Ref": "C"}}}
    stacks.create("shop", {"C": CHANNEL}, outputs=outputs, Tags=tagged(mode))

    warning = f"redrive does not serve {UNSERVED}: this resource stands for one, and does nothing."
    assert ("C", "CREATE_IN_PROGRESS", warning) in stacks.events("shop")
    assert stacks.outputs("shop") == {"Id": stacks.physical_id("shop", "C")}
    stacks.delete("shop")
    assert stacks.client.describe_stacks()["Stacks"] == []


def test_attributes_of_stand_ins_are_made_up_only_on_request(stacks: Stacks, refusal: Refusal) -> None:
    outputs = {name: {"Value": {"Fn::GetAtt": ["C", name]}} for name in ("Arn", "IngestEndpoint", "PlaybackUrl", "Id")}
    stacks.create("shop", {"C": CHANNEL}, outputs=outputs, Tags=tagged("stub"))

    made = stacks.physical_id("shop", "C")
    assert stacks.outputs("shop") == {
        "Arn": f"arn:aws:ivs:us-east-1:000000000000:{made}",
        "IngestEndpoint": f"{made.lower()}.ivs.invalid",
        "PlaybackUrl": f"https://{made.lower()}.ivs.invalid/",
        "Id": f"{made}-Id",
    }
    code, message = refusal(stacks.create, "other", {"C": CHANNEL}, outputs=outputs, Tags=tagged("warn"))
    assert (code, message.partition(". ")[0]) == (
        "ValidationError", f"redrive does not serve {UNSERVED}, so C has no attribute Arn here"
    )  # fmt: skip


def test_types_that_only_observe_need_no_request(stacks: Stacks) -> None:
    stacks.create("shop", {"D": {"Type": "AWS::ResourceGroups::Group", "Properties": {"Name": "g"}}})

    assert stacks.status("shop") == "CREATE_COMPLETE"
    assert stacks.reason("shop", "D", "CREATE_IN_PROGRESS") == "Resource creation Initiated"
    assert any("does not serve AWS::ResourceGroups::Group" in reason for _, _, reason in stacks.events("shop"))


def test_registered_types_of_others_are_stood_in_for_on_request(stacks: Stacks, refusal: Refusal) -> None:
    resources: dict[str, Any] = {"T": {"Type": "Acme::Anvil::Drop"}}

    assert refusal(stacks.create, "shop", resources, Tags=tagged("warn"))[1].endswith("types: [Acme::Anvil::Drop]")
    stacks.create("shop", resources, Tags=tagged("stub"))
    assert stacks.status("shop") == "CREATE_COMPLETE"


@pytest.mark.parametrize("mode", ["warn", "stub"])
def test_unserved_property_is_left_out_with_a_warning(stacks: Stacks, mode: str) -> None:
    group = {"Type": "AWS::Logs::LogGroup", "Properties": {"DataProtectionPolicy": {"Version": "1"}}}

    stacks.create("shop", {"G": group}, Tags=tagged(mode))

    assert stacks.status("shop") == "CREATE_COMPLETE"
    warning = "redrive does not serve the property DataProtectionPolicy: it is left out."
    assert ("G", "CREATE_IN_PROGRESS", warning) in stacks.events("shop")


def test_request_of_the_stack_is_no_tag_of_its_resources(stacks: Stacks) -> None:
    stacks.create("shop", {"Q": queue(QueueName="q")}, Tags=[*tagged("stub"), {"Key": "team", "Value": "a"}])

    url = stacks.physical_id("shop", "Q")
    assert stacks.world.client("sqs").list_queue_tags(QueueUrl=url)["Tags"] == {"team": "a"}


def test_setting_of_the_server_holds_where_the_stack_asks_for_nothing(refusal: Refusal) -> None:
    with closing(World(settings=Settings(on_unknown=OnUnknown.STUB))) as world:
        stacks = Stacks(world)
        stacks.create("shop", {"C": CHANNEL})

        assert stacks.status("shop") == "CREATE_COMPLETE"
        assert "redrive does not serve" in refusal(stacks.create, "other", {"C": CHANNEL}, Tags=tagged("refuse"))[1]


def test_request_that_there_is_not_is_refused(stacks: Stacks, refusal: Refusal) -> None:
    assert refusal(stacks.create, "shop", {"Q": queue()}, Tags=tagged("maybe")) == (
        "ValidationError", "The tag redrive:on-unknown is maybe; it must be one of refuse, warn, stub."
    )  # fmt: skip


def test_names_of_awss_types_are_those_that_cfn_lint_ships() -> None:
    assert TARGET.read_text("utf-8") == known_types()
    assert is_known_to_aws("AWS::SNS::Topic")


def test_stand_in_of_a_type_whose_ref_is_an_arn_can_be_named_as_a_source(stacks: Stacks, world: World) -> None:
    code = {"ZipFile": "def handler(event, context): ..."}
    role = {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": trust_for("lambda.amazonaws.com")}}
    function = {"Runtime": "python3.12", "Handler": "index.handler", "Code": code, "Role": {"Fn::GetAtt": "Role.Arn"}}
    permission = {
        "Action": "lambda:InvokeFunction", "FunctionName": {"Ref": "F"}, "Principal": "sns.amazonaws.com",
        "SourceArn": {"Ref": "Topic"},
    }  # fmt: skip
    resources = {
        "Topic": {"Type": "AWS::SNS::Topic"},
        "Role": role,
        "F": {"Type": "AWS::Lambda::Function", "Properties": function},
        "P": {"Type": "AWS::Lambda::Permission", "Properties": permission},
    }

    stacks.create(
        "shop", resources, outputs={"Arn": {"Value": {"Fn::GetAtt": "Topic.TopicArn"}}}, Tags=tagged("stub"),
        Capabilities=["CAPABILITY_IAM"],
    )  # fmt: skip

    stack = stacks.describe("shop")
    assert stack["StackStatus"] == "CREATE_COMPLETE"
    arn = stack["Outputs"][0]["OutputValue"]
    assert arn == f"arn:aws:sns:us-east-1:000000000000:{arn.rpartition(':')[2]}"
    assert stacks.physical_id("shop", "Topic") == arn


@pytest.mark.parametrize(
    ("type_name", "reference"),
    [
        ("AWS::AppSync::GraphQLApi", {"Fn::GetAtt": ["Stand", "GraphQLEndpointArn"]}),
        ("AWS::Batch::JobQueue", {"Ref": "Stand"}),
        ("AWS::KinesisFirehose::DeliveryStream", {"Fn::GetAtt": ["Stand", "Arn"]}),
    ],
)
def test_stand_in_can_be_the_target_of_a_rule(
    stacks: Stacks, world: World, type_name: str, reference: dict[str, Any]
) -> None:
    """What a rule may have as a target it knows by the form of the ARN."""
    blocks = {
        "AWS::AppSync::GraphQLApi": {"AppSyncParameters": {"GraphQLOperation": "query { a }"}},
        "AWS::Batch::JobQueue": {"BatchParameters": {"JobDefinition": "d", "JobName": "n"}},
    }
    target = {
        "Id": "1", "Arn": reference, "RoleArn": "arn:aws:iam::000000000000:role/r", **blocks.get(type_name, {}),
    }  # fmt: skip
    rule = {"Type": "AWS::Events::Rule", "Properties": {"EventPattern": {"source": ["a"]}, "Targets": [target]}}

    stacks.create("s", {"Stand": {"Type": type_name}, "R": rule}, Tags=tagged("stub"))

    assert stacks.status("s") == "CREATE_COMPLETE", stacks.events("s")
    assert world.client("events").list_targets_by_rule(Rule=stacks.physical_id("s", "R"))["Targets"][0]["Id"] == "1"
