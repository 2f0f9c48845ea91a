"""Versions and aliases in stacks, written by hand and by SAM's AutoPublishAlias."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from redrive.testing.world import World
from redrive.wire.message import HttpRequest
from tests.unit.services.cloudformation.conftest import Stacks
from tests.unit.services.cloudformation.test_types import IAM, get, of, role

SAM = "AWS::Serverless-2016-10-31"
EXPAND = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]


def resources(code: str, version: str = "One", **alias: Any) -> dict[str, Any]:
    """A function with a version, whose logical id is given, and an alias for that version."""
    return {
        "Role": role("lambda"),
        "Work": of(
            "AWS::Lambda::Function", FunctionName="work", Runtime="python3.12", Handler="index.handler",
            Role=get("Role"), Code={"ZipFile": code},
        ),
        version: of("AWS::Lambda::Version", FunctionName={"Ref": "Work"}, Description=version),
        "Live": of(
            "AWS::Lambda::Alias", FunctionName={"Ref": "Work"}, FunctionVersion=get(version, "Version"), Name="live",
            **alias,
        ),
    }  # fmt: skip


OUTPUTS = {"Alias": {"Value": {"Ref": "Live"}}, "Version": {"Value": {"Ref": "One"}}}


def test_ref_of_a_version_and_of_an_alias_is_the_arn(stacks: Stacks, world: World) -> None:
    stacks.create("fn", resources("a = 1"), outputs=OUTPUTS, **IAM)

    arn = "arn:aws:lambda:us-east-1:000000000000:function:work"
    assert stacks.outputs("fn") == {"Alias": f"{arn}:live", "Version": f"{arn}:1"}
    alias = world.client("lambda").get_alias(FunctionName="work", Name="live")
    assert alias["FunctionVersion"] == "1"


def test_alias_moves_to_a_new_version_and_the_old_version_goes(stacks: Stacks, world: World) -> None:
    client = world.client("lambda")
    stacks.create("fn", resources("a = 1"), **IAM)

    stacks.update("fn", resources("a = 2", "Two"), **IAM)

    assert stacks.status("fn") == "UPDATE_COMPLETE"
    assert client.get_alias(FunctionName="work", Name="live")["FunctionVersion"] == "2"
    versions = client.list_versions_by_function(FunctionName="work")["Versions"]
    assert [row["Version"] for row in versions] == ["$LATEST", "2"]
    stacks.delete("fn")
    assert client.list_functions()["Functions"] == []


def test_weights_of_an_alias_are_set_and_removed(stacks: Stacks, world: World) -> None:
    client = world.client("lambda")
    stacks.create("fn", {**resources("a = 1")}, **IAM)
    client.update_function_code(FunctionName="work", ZipFile=_zip("a = 3"), Publish=True)
    world.advance(seconds=1)
    weights = {"AdditionalVersionWeights": [{"FunctionVersion": "2", "FunctionWeight": 0.25}]}

    stacks.update("fn", resources("a = 1", RoutingConfig=weights), **IAM)
    weighted = client.get_alias(FunctionName="work", Name="live")
    stacks.update("fn", resources("a = 1"), **IAM)

    assert weighted["RoutingConfig"] == {"AdditionalVersionWeights": {"2": 0.25}}
    assert "RoutingConfig" not in client.get_alias(FunctionName="work", Name="live")


def test_second_version_of_an_unchanged_function_fails_as_on_aws(stacks: Stacks) -> None:
    twice = resources("a = 1")
    twice["Two"] = {**of("AWS::Lambda::Version", FunctionName={"Ref": "Work"}), "DependsOn": "One"}

    stacks.create("fn", twice, OnFailure="DO_NOTHING", **IAM)

    reason = stacks.reason("fn", "Two", "CREATE_FAILED")
    assert "A version for this Lambda function exists ( 1 ). Modify the function to create a new version." in reason


def test_sam_publishes_a_version_for_new_code_and_moves_its_alias(stacks: Stacks, world: World) -> None:
    def body(code: str) -> str:
        function = of(
            "AWS::Serverless::Function", FunctionName="work", Handler="index.handler", Runtime="python3.12",
            InlineCode=code, AutoPublishAlias="live",
            Events={"Ticks": {"Type": "ScheduleV2", "Properties": {"ScheduleExpression": "rate(1 minute)"}}},
        )  # fmt: skip
        return json.dumps({"Transform": SAM, "Resources": {"Work": function}})

    client = world.client("lambda")
    stacks.client.create_stack(StackName="s", TemplateBody=body("handler = lambda *_: 1\n"), Capabilities=EXPAND)
    world.settle()
    first = client.invoke(FunctionName="work", Qualifier="live")
    stacks.client.update_stack(StackName="s", TemplateBody=body("handler = lambda *_: 2\n"), Capabilities=EXPAND)
    world.settle()
    second = client.invoke(FunctionName="work", Qualifier="live")
    old = client.invoke(FunctionName="work", Qualifier="1")

    assert stacks.status("s") == "UPDATE_COMPLETE"
    assert [(one["ExecutedVersion"], one["Payload"].read()) for one in (first, second, old)] == [
        ("1", b"1"), ("2", b"2"), ("1", b"1"),
    ]  # fmt: skip
    (schedule,) = world.client("scheduler").list_schedules()["Schedules"]
    assert schedule["Target"]["Arn"].endswith(":function:work:live")


def _zip(text: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("index.py", text)
    return content.getvalue()


def sam(**properties: Any) -> dict[str, Any]:
    return of(
        "AWS::Serverless::Function", FunctionName="work", Handler="index.handler", Runtime="python3.12",
        InlineCode="def handler(event, context):\n    return event['rawPath'] if 'rawPath' in event else 1\n",
        **properties,
    )  # fmt: skip


def test_url_of_sam_is_called_by_everybody(stacks: Stacks, world: World) -> None:
    function = sam(FunctionUrlConfig={"AuthType": "NONE", "Cors": {"AllowOrigins": ["http://localhost:3000"]}})
    outputs = {"Url": {"Value": {"Fn::GetAtt": ["WorkUrl", "FunctionUrl"]}}}
    body = json.dumps({"Transform": SAM, "Resources": {"Work": function}, "Outputs": outputs})

    stacks.client.create_stack(StackName="s", TemplateBody=body, Capabilities=EXPAND)
    world.settle()

    host = stacks.outputs("s")["Url"].removeprefix("http://").rstrip("/")
    answer = world.gateway.respond(HttpRequest("GET", "/a", "", {"host": host}, b""))
    assert (answer.status, answer.body) == (200, b"/a")
    stacks.delete("s")
    assert world.gateway.respond(HttpRequest("GET", "/a", "", {"host": host}, b"")).status == 403


def test_sams_deployment_preference_moves_the_alias_at_once(stacks: Stacks, world: World) -> None:
    def body(memory: int) -> str:
        function = sam(
            AutoPublishAlias="live", MemorySize=memory, AutoPublishAliasAllProperties=True,
            DeploymentPreference={"Type": "Canary10Percent10Minutes"},
            ProvisionedConcurrencyConfig={"ProvisionedConcurrentExecutions": 2},
        )  # fmt: skip
        return json.dumps({"Transform": SAM, "Resources": {"Work": function}})

    client = world.client("lambda")
    stacks.client.create_stack(StackName="s", TemplateBody=body(128), Capabilities=EXPAND)
    world.settle()
    stacks.client.update_stack(StackName="s", TemplateBody=body(256), Capabilities=EXPAND)
    world.settle()

    assert stacks.status("s") == "UPDATE_COMPLETE"
    assert client.get_alias(FunctionName="work", Name="live")["FunctionVersion"] == "2"
    provisioned = client.get_provisioned_concurrency_config(FunctionName="work", Qualifier="live")
    assert (provisioned["Status"], provisioned["AllocatedProvisionedConcurrentExecutions"]) == ("READY", 2)
    told = [reason for _, _, reason in stacks.events("s") if "CodeDeploy" in reason]
    assert told


def test_code_signing_configuration_of_a_stack_is_changed_and_deleted(stacks: Stacks, world: World) -> None:
    def resources(policy: str) -> dict[str, Any]:
        publishers = {"SigningProfileVersionArns": ["arn:aws:signer:us-east-1:000000000000:/signing-profiles/p/abc"]}
        config = of(
            "AWS::Lambda::CodeSigningConfig", AllowedPublishers=publishers,
            CodeSigningPolicies={"UntrustedArtifactOnDeployment": policy}, Tags=[{"Key": "a", "Value": policy}],
        )  # fmt: skip
        return {"Signing": config}

    client = world.client("lambda")
    stacks.create("sign", resources("Warn"), **IAM)
    stacks.update("sign", resources("Enforce"), **IAM)

    (found,) = client.list_code_signing_configs()["CodeSigningConfigs"]
    assert found["CodeSigningPolicies"] == {"UntrustedArtifactOnDeployment": "Enforce"}
    assert client.list_tags(Resource=found["CodeSigningConfigArn"])["Tags"]["a"] == "Enforce"
    stacks.delete("sign")
    assert client.list_code_signing_configs()["CodeSigningConfigs"] == []
