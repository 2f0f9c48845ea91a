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
