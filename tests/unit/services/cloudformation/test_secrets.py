"""Parameters, secrets, keys and repositories in templates."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pytest
from botocore.exceptions import ClientError

from redrive.core.errors import UserError
from redrive.services.cloudformation.model.stack import Stack, StackEvent, StackResource
from redrive.testing.world import World

RULE = {
    "rulePriority": 1, "action": {"type": "expire"},
    "selection": {"tagStatus": "untagged", "countType": "sinceImagePushed", "countUnit": "days", "countNumber": 365},
}  # fmt: skip
LIFECYCLE = json.dumps({"rules": [RULE]})


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    yield world
    world.close()


def deploy(world: World, resources: Mapping[str, object], **more: object) -> dict[str, str]:
    return world.deploy(json.dumps({"Resources": resources, **more}, indent=1))


def one(type_name: str, **properties: object) -> dict[str, object]:
    return {"Type": type_name, "Properties": properties}


def update(world: World, resources: Mapping[str, object]) -> str:
    client = world.client("cloudformation")
    client.update_stack(StackName="stack", TemplateBody=json.dumps({"Resources": resources}))
    world.settle()
    return str(client.describe_stacks(StackName="stack")["Stacks"][0]["StackStatus"])


def test_parameter_is_made_changed_and_deleted(world: World) -> None:
    outputs = deploy(
        world,
        {"P": one("AWS::SSM::Parameter", Name="/a/b", Type="String", Value="1", Tags={"k": "v"})},
        Outputs={"Name": {"Value": {"Ref": "P"}}, "Value": {"Value": {"Fn::GetAtt": "P.Value"}}},
    )
    ssm = world.client("ssm")
    changed = update(world, {"P": one("AWS::SSM::Parameter", Name="/a/b", Type="String", Value="2")})
    read = ssm.get_parameter(Name="/a/b")["Parameter"]
    world.client("cloudformation").delete_stack(StackName="stack")
    world.settle()

    assert outputs == {"Name": "/a/b", "Value": "1"}
    assert (changed, read["Value"], read["Version"]) == ("UPDATE_COMPLETE", "2", 2)
    assert ssm.describe_parameters()["Parameters"] == []


def test_generated_secret_keeps_its_value_over_updates(world: World) -> None:
    generate = {"SecretStringTemplate": '{"username":"ann"}', "GenerateStringKey": "password", "PasswordLength": 20}
    outputs = deploy(
        world, {"S": one("AWS::SecretsManager::Secret", GenerateSecretString=generate)},
        Outputs={"Arn": {"Value": {"Ref": "S"}}},
    )  # fmt: skip
    secrets = world.client("secretsmanager")
    first = secrets.get_secret_value(SecretId=outputs["Arn"])["SecretString"]
    update(world, {"S": one("AWS::SecretsManager::Secret", GenerateSecretString=generate, Description="d")})

    assert json.loads(first)["username"] == "ann"
    assert len(json.loads(first)["password"]) == 20
    assert secrets.get_secret_value(SecretId=outputs["Arn"])["SecretString"] == first


def test_key_with_alias_encrypts_and_waits_for_its_deletion(world: World) -> None:
    deploy(
        world,
        {
            "K": one("AWS::KMS::Key", EnableKeyRotation=True, PendingWindowInDays=7),
            "A": one("AWS::KMS::Alias", AliasName="alias/orders", TargetKeyId={"Ref": "K"}),
        },
    )
    kms = world.client("kms")
    key = kms.encrypt(KeyId="alias/orders", Plaintext=b"x")["KeyId"]
    world.client("cloudformation").delete_stack(StackName="stack")
    world.settle()

    assert kms.describe_key(KeyId=key)["KeyMetadata"]["KeyState"] == "PendingDeletion"


def test_repository_of_a_bootstrap_stack_is_made_and_is_empty(world: World) -> None:
    statement = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": ["ecr:BatchGetImage"]}
    deploy(
        world,
        {
            "R": one(
                "AWS::ECR::Repository",
                RepositoryName="assets",
                ImageTagMutability="IMMUTABLE",
                LifecyclePolicy={"LifecyclePolicyText": LIFECYCLE},
                RepositoryPolicyText={"Version": "2012-10-17", "Statement": [statement]},
            )
        },
    )
    ecr = world.client("ecr")
    described = ecr.describe_repositories(repositoryNames=["assets"])["repositories"][0]

    assert described["imageTagMutability"] == "IMMUTABLE"
    assert ecr.describe_images(repositoryName="assets")["imageDetails"] == []
    with pytest.raises(ecr.exceptions.ClientError) as failed:
        ecr.get_authorization_token()
    assert "does not implement ecr GetAuthorizationToken" in str(failed.value)


def test_parameter_type_takes_its_value_from_ssm_and_shows_it(world: World) -> None:
    ssm = world.client("ssm")
    ssm.put_parameter(Name="/queue", Value="orders", Type="String")
    declared = {"Name": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/queue"}}
    outputs = deploy(
        world, {"Q": one("AWS::SQS::Queue", QueueName={"Ref": "Name"})}, Parameters=declared,
        Outputs={"Name": {"Value": {"Fn::GetAtt": "Q.QueueName"}}},
    )  # fmt: skip

    stack = world.client("cloudformation").describe_stacks(StackName="stack")["Stacks"][0]
    assert outputs == {"Name": "orders"}
    assert stack["Parameters"] == [
        {"ParameterKey": "Name", "ParameterValue": "/queue", "ResolvedValue": "orders"}
    ]  # fmt: skip


def test_parameter_type_without_its_parameter_is_refused(world: World) -> None:
    declared = {"Name": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/none"}}

    with pytest.raises(ClientError) as failed:
        deploy(world, {"Q": one("AWS::SQS::Queue")}, Parameters=declared)

    assert "Unable to fetch parameters [/none] from parameter store for this account." in str(failed.value)


def test_references_to_parameters_and_secrets_become_their_values(world: World) -> None:
    world.client("ssm").put_parameter(Name="/queue", Value="orders", Type="String")
    world.client("secretsmanager").create_secret(Name="db", SecretString='{"password":"topsecret"}')
    description = {"Fn::Sub": "{{resolve:secretsmanager:${Name}:SecretString:password}}"}
    resources = {
        "Q": one("AWS::SQS::Queue", QueueName="{{resolve:ssm:/queue:1}}"),
        "P": one("AWS::SSM::Parameter", Name="p", Type="String", Value=description),
    }
    deploy(world, resources, Parameters={"Name": {"Type": "String", "Default": "db"}})

    events = world.client("cloudformation").describe_stack_events(StackName="stack")["StackEvents"]
    assert world.client("sqs").list_queues()["QueueUrls"][0].endswith("/orders")
    assert world.client("ssm").get_parameter(Name="p")["Parameter"]["Value"] == "topsecret"
    assert "topsecret" not in repr(events)


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("{{resolve:ssm:/none}}", "Parameters: [ssm:/none::] cannot be found."),
        ("{{resolve:ssm:/none:x}}", "Incorrect format is used in the following SSM reference"),
        ("{{resolve:ssm-secure:/none}}", "SSM Secure reference is not supported in: [AWS::SQS::Queue/Properties/"),
        ("{{resolve:secretsmanager:db:SecretString:user}}", "Could not find a value associated with JSONKey"),
    ],
)
def test_reference_without_a_value_fails_its_resource(world: World, reference: str, reason: str) -> None:
    world.client("secretsmanager").create_secret(Name="db", SecretString="{}")

    with pytest.raises(UserError) as failed:
        deploy(world, {"Q": one("AWS::SQS::Queue", QueueName=reference)})

    assert reason in str(failed.value)


def test_value_of_a_secret_in_a_parameter_is_in_no_stored_text_of_the_stack(world: World) -> None:
    """A resource that reads the parameter's value keeps the reference, and its service gets the value."""
    world.client("secretsmanager").create_secret(Name="db", SecretString="hidden-value")
    reference = "{{resolve:secretsmanager:db}}"
    resources = {
        "P": one("AWS::SSM::Parameter", Name="/a", Type="String", Value=reference),
        "Copy": one("AWS::SSM::Parameter", Name="/b", Type="String", Value={"Fn::GetAtt": "P.Value"}),
    }

    outputs = deploy(world, resources, Outputs={"Value": {"Value": {"Fn::GetAtt": "P.Value"}}})
    changed = update(
        world, resources | {"P": one("AWS::SSM::Parameter", Name="/a", Type="String", Value=f"{reference}!")}
    )

    scope, kinds = world.caller().scope, (Stack, StackResource, StackEvent)
    stored = world.store.run(lambda tx: [list(tx.resources.list(kind, scope)) for kind in kinds])
    values = [world.client("ssm").get_parameter(Name=name)["Parameter"]["Value"] for name in ("/a", "/b")]
    assert all(stored)
    assert "hidden-value" not in repr(stored)
    assert (outputs, changed) == ({"Value": reference}, "UPDATE_COMPLETE")
    assert values == ["hidden-value!", "hidden-value!"]


def test_secret_with_a_taken_name_fails_as_one_that_exists_already(world: World) -> None:
    world.client("secretsmanager").create_secret(Name="app", SecretString="1")

    with pytest.raises(UserError, match="HandlerErrorCode: AlreadyExists"):
        deploy(world, {"S": one("AWS::SecretsManager::Secret", Name="app", SecretString="2")})
