"""A function that is a container image is proved by the handler that its template, or its Dockerfile, names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redrive.core.errors import UserError
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.tell.verdict import Verdict

CODE = """import boto3

def handler(event, context):
    boto3.client("sns").publish(TopicArn="arn:aws:sns:us-east-1:000000000000:told", Message=event["Records"][0]["body"])
"""
QUEUE = {"Type": "AWS::SQS::Queue"}
EVENTS = {"Jobs": {"Type": "SQS", "Properties": {"Queue": {"Fn::GetAtt": ["Queue", "Arn"]}}}}
IMAGE = "000000000000.dkr.ecr.us-east-1.amazonaws.com/app:1"


def proved(folder: Path, function: dict[str, object], **more: object) -> Verdict:
    resources = {"Queue": QUEUE, "Function": function, **more}
    root = {"Transform": "AWS::Serverless-2016-10-31", "Resources": resources}
    (folder / "template.json").write_text(json.dumps(root))
    return prove(None, Options(faults=1, template=folder / "template.json"))


def written(folder: Path, dockerfile: str, code: str = "app.py") -> None:
    (folder / code).parent.mkdir(parents=True, exist_ok=True)
    (folder / code).write_text(CODE)
    (folder / "Dockerfile").write_text(dockerfile)


def function(metadata: dict[str, str] | None = None, **properties: object) -> dict[str, object]:
    made = {"PackageType": "Image", "Events": EVENTS, **properties}
    return {"Type": "AWS::Serverless::Function", "Properties": made, "Metadata": metadata or {}}


@pytest.mark.parametrize(
    ("dockerfile", "code"),
    [
        ('FROM public.ecr.aws/lambda/python:3.12\nCOPY app.py ${LAMBDA_TASK_ROOT}\nCMD ["app.handler"]\n', "app.py"),
        ("FROM python:3.12\nCOPY src/ \\\n  /var/task/\nCMD app.handler\n", "src/app.py"),
        ('FROM a AS one\nCMD ["app.handler"]\nFROM b AS two\nCMD ["other.handler"]\n', "app.py"),
    ],
)
def test_command_of_a_dockerfile_names_the_handler(tmp_path: Path, dockerfile: str, code: str) -> None:
    (tmp_path / "image").mkdir()
    written(tmp_path / "image", dockerfile, code)

    verdict = proved(tmp_path, function({"DockerContext": "image", "DockerBuildTarget": "one"}))

    assert verdict.counterexample is not None
    assert verdict.effects == {"sns Publish on told": 1}


def test_command_of_the_template_goes_before_that_of_the_dockerfile(tmp_path: Path) -> None:
    written(tmp_path, 'FROM a\nCMD ["other.handler"]\n')

    verdict = proved(tmp_path, function(ImageUri=IMAGE, ImageConfig={"Command": ["app.handler"]}))

    assert verdict.effects == {"sns Publish on told": 1}


def test_asset_of_the_cdk_is_built_from_its_folder(tmp_path: Path) -> None:
    (tmp_path / "asset.1").mkdir()
    written(tmp_path / "asset.1", 'FROM a\nCMD ["app.handler"]\n')
    role = {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Statement": []}}}
    properties = {"PackageType": "Image", "Code": {"ImageUri": IMAGE}, "Role": {"Fn::GetAtt": ["Role", "Arn"]}}
    metadata = {"aws:asset:path": "asset.1", "aws:asset:dockerfile-path": "Dockerfile"}
    mapping = {
        "Type": "AWS::Lambda::EventSourceMapping",
        "Properties": {"FunctionName": {"Ref": "Function"}, "EventSourceArn": {"Fn::GetAtt": ["Queue", "Arn"]}},
    }
    declared: dict[str, object] = {"Type": "AWS::Lambda::Function", "Properties": properties, "Metadata": metadata}

    assert proved(tmp_path, declared, Role=role, Mapping=mapping).effects == {"sns Publish on told": 1}


def test_image_without_a_handler_here_is_told_what_to_add(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no CMD in a Dockerfile") as refused:
        proved(tmp_path, function(ImageUri=IMAGE))

    assert "Name the handler in it: redrive prove path/to/file.py:handler" in str(refused.value.next_step)


SERVICE = """
service: shop
provider:
  name: aws
  ecr:
    images:
      jobs: {path: docker, file: Dockerfile.jobs, buildOptions: ["--target", "one"]}
      other: {path: other}
functions:
  worker:
    image: IMAGE
    events:
      - sqs: {arn: {"Fn::GetAtt": [Queue, Arn]}}
resources:
  Resources:
    Queue: {Type: "AWS::SQS::Queue"}
"""


@pytest.mark.parametrize("image", ["jobs", "{name: jobs}", "{name: jobs, command: [app.handler]}"])
def test_image_of_a_service_is_built_from_what_its_provider_says(tmp_path: Path, image: str) -> None:
    for folder in ("docker", "other"):
        (tmp_path / folder).mkdir()
        written(tmp_path / folder, 'FROM a\nCMD ["other.handler"]\n')
    dockerfile = 'FROM a AS one\nCOPY app.py /var/task/\nCMD ["app.handler"]\nFROM b\nCMD ["none.handler"]\n'
    (tmp_path / "docker" / "Dockerfile.jobs").write_text(dockerfile)
    (tmp_path / "serverless.yml").write_text(SERVICE.replace("IMAGE", image))

    verdict = prove(None, Options(faults=1, template=tmp_path / "serverless.yml"))

    assert verdict.effects == {"sns Publish on told": 1}


@pytest.mark.parametrize("is_built", [True, False], ids=["built by the plan", "only Dockerfile"])
def test_image_of_a_plan_is_built_from_its_docker_image_or_the_only_dockerfile(
    tmp_path: Path, *, is_built: bool
) -> None:
    names = ("jobs", "other") if is_built else ("jobs",)
    for folder in names:
        (tmp_path / folder).mkdir()
        written(
            tmp_path / folder, f'FROM a\nCOPY app.py /var/task/\nCMD ["{"app" if folder == "jobs" else "b"}.handler"]\n'
        )
    build = {name: [{"context": f"./{name}", "dockerfile": "Dockerfile"}] for name in names}
    planned = [
        {
            "address": "aws_sqs_queue.q", "mode": "managed", "type": "aws_sqs_queue", "name": "q",
            "values": {"name": "q"},
        },
        {
            "address": "aws_lambda_function.f", "mode": "managed", "type": "aws_lambda_function", "name": "f",
            "values": {"function_name": "f", "package_type": "Image", "image_config": []},
        },
        {
            "address": "aws_lambda_event_source_mapping.m", "mode": "managed",
            "type": "aws_lambda_event_source_mapping", "name": "m", "values": {},
        },
        *({
            "address": f"docker_image.{name}", "mode": "managed", "type": "docker_image", "name": name,
            "values": {"name": name, "build": build[name]},
        } for name in names if is_built),
        *({
            "address": f"docker_registry_image.{name}", "mode": "managed", "type": "docker_registry_image",
            "name": name, "values": {},
        } for name in names if is_built),
    ]  # fmt: skip

    def refers(*names: str) -> dict[str, list[str]]:
        return {"references": [one for name in names for one in (name, name.rpartition(".")[0])]}

    configured = [
        {"address": "aws_lambda_function.f", "expressions": {
            "image_uri": refers("docker_registry_image.jobs.name") if is_built else {},
        }},
        {"address": "docker_registry_image.jobs", "expressions": {"name": refers("docker_image.jobs.name")}},
        {"address": "docker_registry_image.other", "expressions": {"name": refers("docker_image.other.name")}},
        {"address": "aws_lambda_event_source_mapping.m", "expressions": {
            "event_source_arn": refers("aws_sqs_queue.q.arn"), "function_name": refers("aws_lambda_function.f.arn"),
        }},
    ]  # fmt: skip
    plan = {
        "format_version": "1.2", "planned_values": {"root_module": {"resources": planned}},
        "configuration": {"root_module": {"resources": configured if is_built else configured[:1] + configured[3:]}},
    }  # fmt: skip
    (tmp_path / "plan.json").write_text(json.dumps(plan))

    verdict = prove(None, Options(faults=1, template=tmp_path / "plan.json"))

    assert verdict.effects == {"sns Publish on told": 1}
