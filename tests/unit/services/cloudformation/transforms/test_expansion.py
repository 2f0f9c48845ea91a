"""Templates with transforms, through the operations."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Refusal, Stacks, Template

Create = Callable[..., None]

SAM = "AWS::Serverless-2016-10-31"
EXPAND = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
CODE = "def handler(event, context):\n    return len(event['Records'])\n"


def function(**properties: Any) -> Template:
    return {
        "Type": "AWS::Serverless::Function",
        "Properties": {"Handler": "index.handler", "Runtime": "python3.11", "InlineCode": CODE, **properties},
    }


def sam(resources: Template, **sections: Any) -> str:
    return json.dumps({"Transform": SAM, "Resources": resources, **sections})


FED = {
    "Queue": {"Type": "AWS::SQS::Queue"},
    "Fed": function(
        Policies=[{"SQSSendMessagePolicy": {"QueueName": {"Fn::GetAtt": ["Queue", "QueueName"]}}}],
        Events={"Orders": {"Type": "SQS", "Properties": {"Queue": {"Fn::GetAtt": ["Queue", "Arn"]}, "BatchSize": 1}}},
    ),
}


@pytest.fixture
def create(stacks: Stacks) -> Create:
    """Create the stack `s` and let it run."""

    def create(body: str, **params: Any) -> None:
        stacks.client.create_stack(StackName="s", TemplateBody=body, Capabilities=EXPAND, **params)
        stacks.world.settle()

    return create


def test_function_of_a_sam_template_is_made_with_its_role_and_is_fed_by_its_queue(
    world: World, stacks: Stacks, create: Create
) -> None:
    create(sam(FED, Globals={"Function": {"Timeout": 7}}))

    made = {one["LogicalResourceId"]: one["ResourceType"] for one in _resources(stacks)}
    assert stacks.status("s") == "CREATE_COMPLETE"
    assert made == {
        "Fed": "AWS::Lambda::Function",
        "FedOrders": "AWS::Lambda::EventSourceMapping",
        "FedRole": "AWS::IAM::Role",
        "Queue": "AWS::SQS::Queue",
    }
    configuration = world.client("lambda").get_function_configuration(FunctionName=stacks.physical_id("s", "Fed"))
    assert configuration["Timeout"] == 7


def test_connector_becomes_a_policy(stacks: Stacks, create: Create) -> None:
    connector = {"Properties": {"Destination": {"Id": "Table"}, "Permissions": ["Read", "Write"]}}
    writer = function() | {"Connectors": {"ToTable": connector}}

    create(sam({"Table": {"Type": "AWS::Serverless::SimpleTable"}, "Writer": writer}))

    assert stacks.status("s") == "CREATE_COMPLETE"
    assert "AWS::IAM::ManagedPolicy" in {one["ResourceType"] for one in _resources(stacks)}


def test_stack_made_at_once_from_a_template_with_transforms_needs_consent(stacks: Stacks, refusal: Refusal) -> None:
    found = refusal(
        stacks.client.create_stack, StackName="s", TemplateBody=sam(FED), Capabilities=["CAPABILITY_IAM"]
    )  # fmt: skip

    assert found == ("InsufficientCapabilitiesException", "Requires capabilities : [CAPABILITY_AUTO_EXPAND]")


def test_change_set_needs_no_consent_to_transforms_and_shows_what_they_make(stacks: Stacks) -> None:
    stacks.client.create_change_set(
        StackName="s", ChangeSetName="c", ChangeSetType="CREATE", TemplateBody=sam(FED), Capabilities=["CAPABILITY_IAM"]
    )

    found = stacks.client.describe_change_set(StackName="s", ChangeSetName="c")

    assert found["Status"] == "CREATE_COMPLETE"
    assert [one["ResourceChange"]["LogicalResourceId"] for one in found["Changes"]] == [
        "Fed",
        "FedOrders",
        "FedRole",
        "Queue",
    ]


def test_change_set_of_a_template_that_sam_refuses_fails_with_its_sentence(stacks: Stacks) -> None:
    body = sam({"Broken": {"Type": "AWS::Serverless::Function", "Properties": {"Runtim": "python3.11"}}})

    stacks.client.create_change_set(StackName="s", ChangeSetName="c", ChangeSetType="CREATE", TemplateBody=body)

    found = stacks.client.describe_change_set(StackName="s", ChangeSetName="c")
    assert (found["Status"], found["ExecutionStatus"]) == ("FAILED", "UNAVAILABLE")
    assert found["StatusReason"] == (
        f"Transform {SAM} failed with: Invalid Serverless Application Specification document. Number of errors found: "
        "1. Resource with id [Broken] is invalid. property Runtim not defined for resource of type "
        "AWS::Serverless::Function"
    )


def test_stack_of_a_template_that_sam_refuses_is_rolled_back_with_its_sentence(stacks: Stacks, create: Create) -> None:
    create(sam({"Broken": function(CodeUri="./here", InlineCode=None)}))

    reason = stacks.reason("s", "s", "ROLLBACK_IN_PROGRESS")
    assert stacks.status("s") == "ROLLBACK_COMPLETE"
    assert reason.startswith(f"Transform {SAM} failed with: Invalid Serverless Application Specification document.")
    assert "Resource with id [Broken] is invalid. 'CodeUri' is not a valid S3 Uri" in reason
    assert reason.endswith(". Rollback requested by user.")


def test_update_whose_transform_fails_leaves_the_stack_as_it_was(stacks: Stacks, create: Create) -> None:
    create(sam(FED))

    stacks.client.update_stack(
        StackName="s", TemplateBody=sam({**FED, "Broken": function(Nothing=1)}), Capabilities=EXPAND
    )
    stacks.world.settle()

    assert stacks.status("s") == "UPDATE_ROLLBACK_COMPLETE"
    assert len(_resources(stacks)) == 4


def test_update_by_the_previous_template_expands_it_with_the_new_parameters(
    world: World, stacks: Stacks, create: Create
) -> None:
    names = {"Names": {"Type": "CommaDelimitedList"}}
    loop = {"Fn::ForEach::Queues": ["Name", {"Ref": "Names"}, {"Queue${Name}": {"Type": "AWS::SQS::Queue"}}]}
    body = json.dumps({"Transform": "AWS::LanguageExtensions", "Parameters": names, "Resources": loop})
    create(body, Parameters=[{"ParameterKey": "Names", "ParameterValue": "A"}])

    stacks.client.update_stack(
        StackName="s", UsePreviousTemplate=True, Capabilities=EXPAND,
        Parameters=[{"ParameterKey": "Names", "ParameterValue": "B,C"}],
    )  # fmt: skip
    world.settle()

    assert [one["LogicalResourceId"] for one in _resources(stacks)] == ["QueueB", "QueueC"]


def test_update_that_expands_to_the_same_is_no_update(stacks: Stacks, create: Create, refusal: Refusal) -> None:
    create(sam(FED))

    found = refusal(stacks.client.update_stack, StackName="s", TemplateBody=sam(FED), Capabilities=EXPAND)

    assert found == ("ValidationError", "No updates are to be performed.")


def test_template_is_read_back_as_it_was_given_and_as_it_was_processed(stacks: Stacks, create: Create) -> None:
    body = sam(FED)
    create(body)

    given = stacks.client.get_template(StackName="s", TemplateStage="Original")
    processed = stacks.client.get_template(StackName="s", TemplateStage="Processed")

    assert given["StagesAvailable"] == ["Original", "Processed"]
    assert given["TemplateBody"] == json.loads(body)
    assert "Transform" not in processed["TemplateBody"]
    assert processed["TemplateBody"]["Resources"]["Fed"]["Type"] == "AWS::Lambda::Function"


def test_template_that_was_not_expanded_has_no_processed_stage(
    stacks: Stacks, create: Create, refusal: Refusal
) -> None:
    create(sam({"Broken": function(Nothing=1)}))

    found = refusal(stacks.client.get_template, StackName="s", TemplateStage="Processed")

    assert stacks.client.get_template(StackName="s")["StagesAvailable"] == ["Original"]
    assert found == ("ValidationError", "The template stage Processed is not available.")


def test_template_is_validated_and_summarised_by_what_it_declares(stacks: Stacks) -> None:
    body = sam(FED, Parameters={"P": {"Type": "String"}}, Description="A queue and its function")

    checked = stacks.client.validate_template(TemplateBody=body)
    summary = stacks.client.get_template_summary(TemplateBody=body)

    for found in (checked, summary):
        assert found["Capabilities"] == ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
        assert found["DeclaredTransforms"] == [SAM]
        assert [one["ParameterKey"] for one in found["Parameters"]] == ["P"]
        assert found["Description"] == "A queue and its function"
    assert summary["ResourceTypes"] == ["AWS::SQS::Queue", "AWS::Serverless::Function"]


@pytest.mark.parametrize(
    ("transform", "reason"),
    [
        (
            "AWS::Include",
            "Transform AWS::Include failed with: The location parameter is not a valid S3 uri.",
        ),
        ("AWS::CodeDeployBlueGreen", "Transform AWS::CodeDeployBlueGreen failed with: the transform is not supported"),
        ("AWS::Nothing", "No transform named AWS::Nothing found."),
    ],
)
def test_transform_that_is_not_served_is_refused_by_its_name(
    stacks: Stacks, create: Create, transform: str, reason: str
) -> None:
    create(json.dumps({"Transform": transform, "Resources": {"Q": {"Type": "AWS::SQS::Queue"}}}))

    assert stacks.reason("s", "s", "ROLLBACK_IN_PROGRESS").startswith(reason)


def test_application_of_the_repository_is_refused_without_asking_aws(stacks: Stacks, create: Create) -> None:
    application = {
        "Type": "AWS::Serverless::Application",
        "Properties": {"Location": {"ApplicationId": "a", "SemanticVersion": "1.0.0"}},
    }

    create(sam({"App": application}))

    assert "Resource with id [App] is invalid." in stacks.reason("s", "s", "ROLLBACK_IN_PROGRESS")


def test_template_at_which_the_translator_stumbles_is_refused(stacks: Stacks, create: Create) -> None:
    create(sam({"A": function(Events={"E": {"Type": "SQS", "Properties": {"Queue": 1, "BatchSize": []}}}, Layers=1)}))

    assert stacks.status("s") == "ROLLBACK_COMPLETE"


def _resources(stacks: Stacks) -> list[Template]:
    found = stacks.client.describe_stack_resources(StackName="s")["StackResources"]
    return [one for one in found if one["ResourceStatus"] != "DELETE_COMPLETE"]
