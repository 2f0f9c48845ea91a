"""Macros: functions that change templates, asked as CloudFormation asks them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Refusal, Stacks, Template, queue, trust_for

CODE = """
import json
def handler(event, context):
    print(json.dumps(event))
    fragment, params = event["fragment"], event["params"]
    answer = {"requestId": event["requestId"], "status": "success"}
    match params.get("do"):
        case "rename":
            fragment["Resources"] = {params["to"]: one for one in fragment["Resources"].values()}
        case "set":
            fragment = {**fragment, **params["members"]}
        case "fail":
            answer |= {"status": "failure", "errorMessage": "no such luck"}
        case "fall silent":
            answer |= {"status": "failure"}
        case "raise":
            raise ValueError("broken")
        case "text":
            fragment = "text"
        case "type":
            fragment["Resources"]["Queue"]["Type"] = "AWS::Nothing::Here"
    return {**answer, "fragment": fragment}
"""
EXPAND = ["CAPABILITY_AUTO_EXPAND"]
NAME = "000000000000::Change"


@pytest.fixture(autouse=True)
def macro(stacks: Stacks) -> None:
    """A stack with the macro Change."""
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "logs:*", "Resource": "*"}]}
    role = {
        "AssumeRolePolicyDocument": trust_for("lambda.amazonaws.com"),
        "Policies": [{"PolicyName": "logs", "PolicyDocument": policy}],
    }
    function = {
        "Code": {"ZipFile": CODE}, "Handler": "index.handler", "Runtime": "python3.11",
        "Role": {"Fn::GetAtt": ["Role", "Arn"]},
    }  # fmt: skip
    stacks.create(
        "macros",
        {
            "Role": {"Type": "AWS::IAM::Role", "Properties": role},
            "Function": {"Type": "AWS::Lambda::Function", "Properties": function},
            "Macro": {
                "Type": "AWS::CloudFormation::Macro",
                "Properties": {"Name": "Change", "FunctionName": {"Fn::GetAtt": ["Function", "Arn"]}},
            },
        },
        Capabilities=["CAPABILITY_IAM"],
    )
    assert stacks.status("macros") == "CREATE_COMPLETE"


def template(do: str, **params: Any) -> str:
    asked = {"Name": "Change", "Parameters": {"do": do, **params}}
    return json.dumps({"Transform": [asked], "Resources": {"Queue": queue()}})


def create(stacks: Stacks, body: str, **params: Any) -> None:
    stacks.client.create_stack(StackName="s", TemplateBody=body, Capabilities=EXPAND, **params)
    stacks.world.settle()


def made(stacks: Stacks) -> list[str]:
    found = stacks.client.describe_stack_resources(StackName="s")["StackResources"]
    return [one["LogicalResourceId"] for one in found if one["ResourceStatus"] != "DELETE_COMPLETE"]


def test_stack_is_made_of_what_a_macro_answers(stacks: Stacks) -> None:
    create(stacks, template("rename", to="Renamed"))

    assert stacks.status("s") == "CREATE_COMPLETE"
    assert made(stacks) == ["Renamed"]


def test_macro_is_asked_with_fragment_parameters_and_account(world: World, stacks: Stacks) -> None:
    parameters = {"P": {"Type": "CommaDelimitedList", "Default": "a,b"}}
    resources = {
        "Queue": {
            **queue(),
            "Metadata": {"Fn::Transform": {"Name": "Change", "Parameters": {"x": {"Ref": "P"}}}, "beside": 1},
        }
    }

    create(stacks, json.dumps({"Parameters": parameters, "Resources": resources}))

    function = stacks.physical_id("macros", "Function")
    events = world.client("logs").filter_log_events(logGroupName=f"/aws/lambda/{function}", filterPattern="fragment")
    asked: Template = json.loads(events["events"][0]["message"])
    assert asked.pop("requestId")
    assert asked == {
        "region": "us-east-1",
        "accountId": "000000000000",
        "fragment": {"beside": 1},
        "transformId": NAME,
        "params": {"x": {"Ref": "P"}},
        "templateParameterValues": {"P": ["a", "b"]},
    }
    assert stacks.status("s") == "CREATE_COMPLETE"


def test_embedded_macro_changes_what_it_stands_in(stacks: Stacks) -> None:
    call = {"Name": "Change", "Parameters": {"do": "set", "members": {"DelaySeconds": 7}}}

    create(stacks, json.dumps({"Resources": {"Queue": queue(**{"Fn::Transform": call})}}))

    processed = stacks.client.get_template(StackName="s", TemplateStage="Processed")["TemplateBody"]
    assert processed["Resources"]["Queue"]["Properties"] == {"DelaySeconds": 7}


def test_change_set_shows_what_a_macro_has_made_and_makes_it(stacks: Stacks) -> None:
    body = template("rename", to="Renamed")
    stacks.client.create_change_set(StackName="s", ChangeSetName="c", ChangeSetType="CREATE", TemplateBody=body)
    before = stacks.client.describe_change_set(StackName="s", ChangeSetName="c")["Status"]
    stacks.world.settle()

    after = stacks.client.describe_change_set(StackName="s", ChangeSetName="c")
    stacks.client.execute_change_set(StackName="s", ChangeSetName="c")
    stacks.world.settle()

    assert (before, after["Status"]) == ("CREATE_IN_PROGRESS", "CREATE_COMPLETE")
    assert [one["ResourceChange"]["LogicalResourceId"] for one in after["Changes"]] == ["Renamed"]
    assert made(stacks) == ["Renamed"]


FAILURES = [
    ("fail", f"Transform {NAME} failed with: no such luck"),
    ("fall silent", f"Transform {NAME} failed without an error message."),
    ("raise", f"Received malformed response from transform {NAME}."),
    ("text", "Template format error: unsupported structure."),
    ("type", "Template format error: Unrecognized resource types: [AWS::Nothing::Here]"),
]


@pytest.mark.parametrize(("do", "reason"), FAILURES)
def test_stack_whose_macro_fails_is_rolled_back_with_the_reason(stacks: Stacks, do: str, reason: str) -> None:
    create(stacks, template(do))

    assert stacks.status("s") == "ROLLBACK_COMPLETE"
    assert stacks.reason("s", "s", "ROLLBACK_IN_PROGRESS") == f"{reason}. Rollback requested by user."


@pytest.mark.parametrize(("do", "reason"), FAILURES)
def test_change_set_whose_macro_fails_is_failed_with_the_reason(stacks: Stacks, do: str, reason: str) -> None:
    stacks.client.create_change_set(
        StackName="s", ChangeSetName="c", ChangeSetType="CREATE", TemplateBody=template(do)
    )  # fmt: skip
    stacks.world.settle()

    found = stacks.client.describe_change_set(StackName="s", ChangeSetName="c")
    assert (found["Status"], found["ExecutionStatus"], found["StatusReason"]) == ("FAILED", "UNAVAILABLE", reason)


def test_macro_that_is_not_there_is_named(stacks: Stacks) -> None:
    create(stacks, json.dumps({"Transform": "Nobody", "Resources": {"Queue": queue()}}))

    reason = stacks.reason("s", "s", "ROLLBACK_IN_PROGRESS")
    assert reason == "No transform named 000000000000::Nobody found.. Rollback requested by user."


def test_update_by_a_macro_changes_the_stack_and_a_failing_one_leaves_it(stacks: Stacks) -> None:
    create(stacks, template("rename", to="First"))

    stacks.client.update_stack(StackName="s", TemplateBody=template("rename", to="Second"), Capabilities=EXPAND)
    stacks.world.settle()
    after = made(stacks)
    stacks.client.update_stack(StackName="s", TemplateBody=template("fail"), Capabilities=EXPAND)
    stacks.world.settle()

    assert (after, made(stacks)) == (["Second"], ["Second"])
    assert stacks.status("s") == "UPDATE_ROLLBACK_COMPLETE"


def test_macro_needs_consent_where_nobody_reviews_it(stacks: Stacks, refusal: Refusal) -> None:
    found = refusal(stacks.client.create_stack, StackName="s", TemplateBody=template("rename", to="R"))

    assert found == ("InsufficientCapabilitiesException", "Requires capabilities : [CAPABILITY_AUTO_EXPAND]")


def test_stack_that_is_deleted_while_its_macro_is_asked_stays_deleted(stacks: Stacks) -> None:
    stacks.client.create_stack(StackName="s", TemplateBody=template("rename", to="R"), Capabilities=EXPAND)
    stacks.client.delete_stack(StackName="s")
    stacks.world.settle()

    assert [one["StackName"] for one in stacks.client.describe_stacks()["Stacks"]] == ["macros"]
