"""The calls of `cdk bootstrap`, `cdk deploy` and `cdk destroy`, in their order, over HTTP.

The bootstrap template is written here after the documented resources of CDK's own.
Source: https://docs.aws.amazon.com/cdk/v2/guide/bootstrapping-env.html
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import ServerProcess

ACCOUNT, REGION = "000000000000", "us-east-1"
BUCKET = f"cdk-hnb659fds-assets-{ACCOUNT}-{REGION}"
CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
WAIT_S = 60


def trusting(principal: dict[str, Any]) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"}
    return {"Version": "2012-10-17", "Statement": [statement]}


def allowing(*actions: str) -> list[dict[str, Any]]:
    statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
    return [{"PolicyName": "p", "PolicyDocument": {"Version": "2012-10-17", "Statement": [statement]}}]


def role(name: str, principal: dict[str, Any], **properties: Any) -> dict[str, Any]:
    full = {"Fn::Sub": f"cdk-${{Qualifier}}-{name}-role-${{AWS::AccountId}}-${{AWS::Region}}"}
    properties = {"RoleName": full, "AssumeRolePolicyDocument": trusting(principal), **properties}
    return {"Type": "AWS::IAM::Role", "Properties": properties}


SELF = {"AWS": {"Ref": "AWS::AccountId"}}
BOOTSTRAP = {
    "Parameters": {"Qualifier": {"Type": "String", "Default": "hnb659fds"}, "Kms": {"Type": "String", "Default": "-"}},
    "Conditions": {"HasKey": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Kms"}, "-"]}]}},
    "Resources": {
        "StagingBucket": {
            "Type": "AWS::S3::Bucket",
            "DeletionPolicy": "Retain",
            "UpdateReplacePolicy": "Retain",
            "Properties": {
                "BucketName": {"Fn::Sub": "cdk-${Qualifier}-assets-${AWS::AccountId}-${AWS::Region}"},
                "AccessControl": "Private",
                "BucketEncryption": {
                    "ServerSideEncryptionConfiguration": [
                        {
                            "ServerSideEncryptionByDefault": {
                                "SSEAlgorithm": "aws:kms",
                                "KMSMasterKeyID": {"Fn::If": ["HasKey", {"Ref": "Kms"}, {"Ref": "AWS::NoValue"}]},
                            }
                        }
                    ]
                },
                "PublicAccessBlockConfiguration": {"BlockPublicAcls": True, "BlockPublicPolicy": True},
                "VersioningConfiguration": {"Status": "Enabled"},
                "LifecycleConfiguration": {
                    "Rules": [
                        {
                            "Id": "Old", "Status": "Enabled",
                            "NoncurrentVersionExpiration": {"NoncurrentDays": 30},
                        },
                        {
                            "Id": "Open", "Status": "Enabled",
                            "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1},
                        },
                    ]
                },
            },
        },
        "StagingBucketPolicy": {
            "Type": "AWS::S3::BucketPolicy",
            "Properties": {
                "Bucket": {"Ref": "StagingBucket"},
                "PolicyDocument": {
                    "Version": "2012-10-17",
                    "Statement": [
                        {
                            "Effect": "Deny", "Principal": "*", "Action": "s3:*",
                            "Resource": [{"Fn::Sub": "${StagingBucket.Arn}"}, {"Fn::Sub": "${StagingBucket.Arn}/*"}],
                            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                        }
                    ],
                },
            },
        },
        "Images": {"Type": "AWS::ECR::Repository", "Properties": {"ImageScanningConfiguration": {"ScanOnPush": True}}},
        "FilePublishing": role(
            "file-publishing", SELF,
            Policies=allowing("s3:GetObject*", "s3:GetBucket*", "s3:GetEncryptionConfiguration", "s3:List*",
                              "s3:PutObject*", "kms:*"),
        ),
        "Deploy": role("deploy", SELF, Policies=allowing("cloudformation:*", "iam:PassRole", "s3:GetObject*",
                                                         "s3:List*", "ssm:GetParameter*", "kms:*")),
        "Execution": role(
            "cfn-exec", {"Service": "cloudformation.amazonaws.com"},
            ManagedPolicyArns=["arn:aws:iam::aws:policy/AdministratorAccess"],
        ),
        "Version": {
            "Type": "AWS::SSM::Parameter",
            "Properties": {"Type": "String", "Name": {"Fn::Sub": "/cdk-bootstrap/${Qualifier}/version"}, "Value": "30"},
        },
    },
    "Outputs": {
        "BucketName": {"Value": {"Fn::Sub": "${StagingBucket}"}},
        "BucketDomainName": {"Value": {"Fn::Sub": "${StagingBucket.RegionalDomainName}"}},
        "BootstrapVersion": {"Value": {"Fn::GetAtt": ["Version", "Value"]}},
    },
}  # fmt: skip

CODE = "def handler(event, context):\n    return 'deployed'\n"


def app(code_key: str) -> dict[str, Any]:
    """What `cdk synth` makes of a function with code in an asset."""
    return {
        "Resources": {
            "Role": {
                "Type": "AWS::IAM::Role",
                "Properties": {"AssumeRolePolicyDocument": trusting({"Service": "lambda.amazonaws.com"})},
            },
            "F": {
                "Type": "AWS::Lambda::Function",
                "Properties": {
                    "Runtime": "python3.11", "Handler": "index.handler", "Role": {"Fn::GetAtt": ["Role", "Arn"]},
                    "Code": {"S3Bucket": {"Fn::Sub": "cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}"},
                             "S3Key": code_key},
                },
            },
        },
        "Parameters": {
            "BootstrapVersion": {
                "Type": "AWS::SSM::Parameter::Value<String>", "Default": "/cdk-bootstrap/hnb659fds/version",
            }
        },
        "Outputs": {"Name": {"Value": {"Ref": "F"}}},
    }  # fmt: skip


def deploy(cloudformation: Any, stack: str, **template: Any) -> dict[str, Any]:
    """Deploy by a change set, as the CDK does: made, described, executed, awaited."""
    named = {"StackName": stack, "ChangeSetName": "cdk-deploy-change-set"}
    cloudformation.create_change_set(
        **named, ChangeSetType="CREATE", Capabilities=CAPABILITIES, ClientToken=f"create{stack}",
        IncludeNestedStacks=True, ImportExistingResources=True, **template,
    )  # fmt: skip
    assert cloudformation.describe_change_set(**named)["Status"] == "CREATE_COMPLETE"
    cloudformation.execute_change_set(**named, ClientRequestToken=f"exec{stack}")
    await_status(cloudformation, stack, "create")
    made: dict[str, Any] = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
    return made


def await_status(cloudformation: Any, stack: str, operation: str) -> None:
    """Wait as the CDK does, by asking again and again."""
    waiter = cloudformation.get_waiter(f"stack_{operation}_complete")
    waiter.wait(StackName=stack, WaiterConfig={"Delay": 1, "MaxAttempts": WAIT_S})


class Cdk:
    """A server in which `cdk bootstrap` has run, and its roles."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server

    def client(self, service: str, role_name: str = "") -> Any:
        """A client with the sessions of one of CDK's roles."""
        if not role_name:
            return self.server.client(service)
        arn = f"arn:aws:iam::{ACCOUNT}:role/cdk-hnb659fds-{role_name}-role-{ACCOUNT}-{REGION}"
        found = self.server.client("sts").assume_role(RoleArn=arn, RoleSessionName="aws-cdk-me")["Credentials"]
        session = boto3.session.Session(
            found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"], region_name=REGION
        )
        return session.client(service, endpoint_url=self.server.endpoint_url)

    def publish(self, content: bytes, suffix: str) -> str:
        """Store an asset under its digest, unless it is there; answers the key."""
        s3, key = self.client("s3", "file-publishing"), hashlib.sha256(content).hexdigest() + suffix
        listed = s3.list_objects_v2(Bucket=BUCKET, Prefix=key, MaxKeys=1).get("Contents", ())
        if not any(one["Key"] == key for one in listed):
            s3.get_bucket_location(Bucket=BUCKET)
            rules = s3.get_bucket_encryption(Bucket=BUCKET)["ServerSideEncryptionConfiguration"]["Rules"]
            sse = rules[0]["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"]
            s3.put_object(
                Bucket=BUCKET, Key=key, Body=content, ChecksumAlgorithm="SHA256", ServerSideEncryption=sse
            )  # fmt: skip
        return key


@pytest.fixture(scope="module")
def cdk() -> Iterator[Cdk]:
    server = ServerProcess()
    try:
        cloudformation = server.client("cloudformation")
        with pytest.raises(ClientError, match="Stack with id CDKToolkit does not exist"):
            cloudformation.describe_stacks(StackName="CDKToolkit")
        assert server.client("sts").get_caller_identity()["Arn"].startswith("arn:aws:")
        made = deploy(cloudformation, "CDKToolkit", TemplateBody=json.dumps(BOOTSTRAP))
        assert made["StackStatus"] == "CREATE_COMPLETE"
        yield Cdk(server)
    finally:
        server.stop()


def archive() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr(zipfile.ZipInfo("index.py"), CODE)
    return content.getvalue()


def test_bootstrap_is_found_by_its_outputs_and_its_parameter(cdk: Cdk) -> None:
    stack = cdk.client("cloudformation").describe_stacks(StackName="CDKToolkit")["Stacks"][0]
    version = cdk.client("ssm", "deploy").get_parameter(Name="/cdk-bootstrap/hnb659fds/version", WithDecryption=True)

    outputs = {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}
    assert outputs["BucketName"] == BUCKET
    assert outputs["BucketDomainName"] == f"{BUCKET}.s3.{REGION}.amazonaws.com"
    assert version["Parameter"]["Value"] == outputs["BootstrapVersion"]


def test_app_is_deployed_from_its_assets_and_destroyed(cdk: Cdk) -> None:
    code = cdk.publish(archive(), ".zip")
    template = cdk.publish(json.dumps(app(code)).encode(), ".json")
    again = cdk.publish(archive(), ".zip")
    cloudformation = cdk.client("cloudformation", "deploy")

    stack = deploy(
        cloudformation, "app", TemplateURL=f"https://s3.{REGION}.amazonaws.com/{BUCKET}/{template}",
        RoleARN=f"arn:aws:iam::{ACCOUNT}:role/cdk-hnb659fds-cfn-exec-role-{ACCOUNT}-{REGION}",
    )  # fmt: skip
    name = stack["Outputs"][0]["OutputValue"]
    answer = cdk.client("lambda").invoke(FunctionName=name)["Payload"].read()
    cloudformation.delete_stack(StackName="app")
    await_status(cloudformation, stack["StackId"], "delete")
    gone = cloudformation.describe_stacks(StackName=stack["StackId"])["Stacks"][0]

    assert (again, stack["StackStatus"], answer) == (code, "CREATE_COMPLETE", b'"deployed"')
    assert gone["StackStatus"] == "DELETE_COMPLETE"
