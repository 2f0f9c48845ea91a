"""Stacks over HTTP: a custom resource whose function answers by a PUT, and a synthesized app with its files."""

from __future__ import annotations

import io
import json
import os
import shutil
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import ServerProcess

CODE = """
import json, urllib.request
def handler(event, context):
    answer = {"Status": "SUCCESS", "PhysicalResourceId": "thing", "RequestId": event["RequestId"],
              "StackId": event["StackId"], "LogicalResourceId": event["LogicalResourceId"],
              "Data": {"Url": event["ResponseURL"], "Shout": event["ResourceProperties"]["Name"].upper()}}
    body, headers = json.dumps(answer).encode(), {"content-type": ""}
    urllib.request.urlopen(urllib.request.Request(event["ResponseURL"], body, headers, method="PUT"))
"""
AS_A_FORM = CODE.replace('{"content-type": ""}', "{}")
"""urllib calls a body of no type a form."""
BY_HTTPS = """
const https = require("https"), url = require("url");
exports.handler = (event, context, done) => {
  const body = JSON.stringify({
    Status: "SUCCESS", PhysicalResourceId: "thing", RequestId: event.RequestId, StackId: event.StackId,
    LogicalResourceId: event.LogicalResourceId,
    Data: { Url: event.ResponseURL, Shout: event.ResourceProperties.Name.toUpperCase() },
  });
  const { hostname, path } = url.parse(event.ResponseURL);
  const headers = { "content-type": "", "content-length": body.length };
  https.request({ hostname, port: 443, path, method: "PUT", headers }, () => done()).end(body);
};
"""
"""As AWS's own module cfn-response for Node.js answers: to port 443 of the host, by TLS."""
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")

TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}
BASIC = "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"


def function(code: dict[str, Any], **properties: Any) -> dict[str, Any]:
    role = {"AssumeRolePolicyDocument": TRUST, "ManagedPolicyArns": [BASIC]}
    return {
        "Role": {"Type": "AWS::IAM::Role", "Properties": role},
        "F": {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "Runtime": "python3.11", "Handler": "index.handler", "Code": code, "Timeout": 20,
                "Role": {"Fn::GetAtt": ["Role", "Arn"]}, **properties,
            },
        },
    }  # fmt: skip


def deployed(server: ServerProcess, path: Path, *options: str) -> dict[str, Any]:
    """The stack that `redrive deploy` answers."""
    answer: dict[str, Any] = json.loads(server.redrive("deploy", str(path), "--output", "json", *options))
    return answer


@pytest.mark.parametrize(
    ("runtime", "code"),
    [
        ("python3.11", CODE),
        ("python3.11", AS_A_FORM),
        pytest.param("nodejs20.x", BY_HTTPS, marks=needs_node),
    ],
    ids=["python", "as_a_form", "nodejs_by_https"],
)
def test_function_of_a_custom_resource_answers_over_http(
    server: ServerProcess, tmp_path: Path, runtime: str, code: str, request: pytest.FixtureRequest
) -> None:
    thing = {
        "Type": "Custom::Thing", "Properties": {"ServiceToken": {"Fn::GetAtt": ["F", "Arn"]}, "Name": "hello"}
    }  # fmt: skip
    outputs = {name: {"Value": {"Fn::GetAtt": ["T", name]}} for name in ("Shout", "Url")}
    resources = {**function({"ZipFile": code}, Runtime=runtime), "T": thing}
    template = {"Resources": resources, "Outputs": outputs}
    path = tmp_path / "template.json"
    path.write_text(json.dumps(template))

    made = deployed(server, path, "--stack", f"custom-{request.node.callspec.id}".replace("_", "-"))

    assert (made["status"], made["outputs"]["Shout"]) == ("CREATE_COMPLETE", "HELLO")
    forged = urllib.request.Request(
        made["outputs"]["Url"].replace("Signature=", "Signature=x"), b"{}", {"content-type": ""}, method="PUT"
    )
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(forged)


def test_synthesized_app_is_deployed_with_its_files_in_order(server: ServerProcess, tmp_path: Path) -> None:
    bucket = "assets-${AWS::AccountId}-${AWS::Region}"
    code = {"S3Bucket": {"Fn::Sub": bucket}, "S3Key": "code.zip"}
    first = {"Resources": {"Q": {"Type": "AWS::SQS::Queue"}},
             "Outputs": {"Q": {"Value": {"Fn::GetAtt": ["Q", "Arn"]}, "Export": {"Name": "queue"}}}}  # fmt: skip
    second = {"Resources": function(code, Environment={"Variables": {"QUEUE": {"Fn::ImportValue": "queue"}}}),
              "Outputs": {"F": {"Value": {"Ref": "F"}}}}  # fmt: skip
    (tmp_path / "asset").mkdir()
    (tmp_path / "asset" / "index.py").write_text("def handler(event, context):\n    return {'from': 'asset'}\n")
    destination = {"here": {"bucketName": bucket, "objectKey": "code.zip"}}
    files = {"code": {"source": {"path": "asset", "packaging": "zip"}, "destinations": destination}}
    artifacts = {
        "second": {"type": "aws:cloudformation:stack", "properties": {"templateFile": "second.json"},
                   "dependencies": ["files", "first"]},
        "first": {"type": "aws:cloudformation:stack", "properties": {"templateFile": "first.json", "stackName": "one"}},
        "files": {"type": "cdk:asset-manifest", "properties": {"file": "assets.json"}},
    }  # fmt: skip
    documents = {
        "first.json": first, "second.json": second, "assets.json": {"files": files},
        "manifest.json": {"version": "1.0", "artifacts": artifacts},
    }  # fmt: skip
    for name, document in documents.items():
        (tmp_path / name).write_text(json.dumps(document))

    server.redrive("deploy", str(tmp_path))

    stacks = server.client("cloudformation").describe_stacks()["Stacks"]
    statuses = {stack["StackName"]: stack["StackStatus"] for stack in stacks if stack["StackName"] in ("one", "second")}
    assert statuses == {"one": "CREATE_COMPLETE", "second": "CREATE_COMPLETE"}
    name = next(stack["Outputs"][0]["OutputValue"] for stack in stacks if stack["StackName"] == "second")
    answer = server.client("lambda").invoke(FunctionName=name)["Payload"].read()
    assert json.loads(answer) == {"from": "asset"}


def test_code_and_layer_that_lie_in_s3_as_files_run(start: Callable[..., ServerProcess], tmp_path: Path) -> None:
    """Bodies above 64 KiB are files beside the store. CloudFormation gives them to Lambda, which keeps its own copy."""
    store = tmp_path / "store"
    server = start("--data", str(store))
    s3 = server.client("s3")
    s3.create_bucket(Bucket="code")
    noise = os.urandom(200_000)
    code = "import big, pathlib\ndef handler(e, c):\n    return [big.SIZE, pathlib.Path('noise').stat().st_size]\n"
    s3.put_object(Bucket="code", Key="f.zip", Body=zipped({"index.py": code.encode(), "noise": noise}))
    s3.put_object(Bucket="code", Key="l.zip", Body=zipped({"python/big.py": b"SIZE = 7", "python/noise": noise}))
    layer = {"Type": "AWS::Lambda::LayerVersion",
             "Properties": {"Content": {"S3Bucket": "code", "S3Key": "l.zip"}}}  # fmt: skip
    resources = function({"S3Bucket": "code", "S3Key": "f.zip"}, FunctionName="big", Layers=[{"Ref": "L"}])
    path = tmp_path / "template.json"
    path.write_text(json.dumps({"Resources": {**resources, "L": layer}}))

    assert deployed(server, path, "--stack", "big")["status"] == "CREATE_COMPLETE"

    sizes = [file.stat().st_size for file in store.rglob("*") if file.is_file() and "bodies" in str(file)]
    assert len([size for size in sizes if size > len(noise)]) == 2
    for key in ("f.zip", "l.zip"):
        s3.delete_object(Bucket="code", Key=key)
    answer = server.client("lambda").invoke(FunctionName="big")
    assert json.loads(answer["Payload"].read()) == [7, len(noise)]


def zipped(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as target:
        for name, body in files.items():
            target.writestr(name, body)
    return content.getvalue()
