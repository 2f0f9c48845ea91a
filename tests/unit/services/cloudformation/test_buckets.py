"""Buckets in templates; templates, and parts of templates, in buckets."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Refusal, Stacks, Template, queue

SCOPE = Scope("000000000000", "us-east-1")
TEMPLATE = json.dumps({"Resources": {"Q": queue(QueueName="made")}})


def bucket(**properties: Any) -> Template:
    return {"Type": "AWS::S3::Bucket", "Properties": properties}


def policy_for(name: str) -> Template:
    return {"Type": "AWS::S3::BucketPolicy", "Properties": {"Bucket": name, "PolicyDocument": NO_HTTP}}


TRUST = {
    "Version": "2012-10-17",
    "Statement": {"Effect": "Allow", "Principal": {"AWS": "000000000000"}, "Action": "sts:AssumeRole"},
}
NO_HTTP = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Deny", "Principal": "*", "Action": "s3:DeleteObject", "Resource": "arn:aws:s3:::files/*",
        }
    ],
}  # fmt: skip


def put(world: World, key: str, text: str, name: str = "files") -> None:
    world.call("s3", "PutObject", Bucket=name, Key=key, Body=text.encode())


@pytest.fixture
def files(world: World) -> World:
    """A world with the bucket `files`."""
    world.call("s3", "CreateBucket", Bucket="files")
    return world


def test_bucket_without_a_name_gets_one_in_lower_case(stacks: Stacks) -> None:
    stacks.create("My-Shop", {"Files": bucket()})

    name = stacks.physical_id("My-Shop", "Files")
    assert re.fullmatch(r"my-shop-files-[a-z0-9]{13}", name)
    assert stacks.status("My-Shop") == "CREATE_COMPLETE"


def test_attributes_of_a_bucket_are_its_addresses(stacks: Stacks) -> None:
    """Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-s3-bucket.html"""
    names = ("Arn", "DomainName", "DualStackDomainName", "RegionalDomainName", "WebsiteURL")
    outputs = {name: {"Value": {"Fn::GetAtt": ["B", name]}} for name in names}

    stacks.create("shop", {"B": bucket(BucketName="files")}, outputs=outputs)

    assert stacks.outputs("shop") == {
        "Arn": "arn:aws:s3:::files",
        "DomainName": "files.s3.amazonaws.com",
        "DualStackDomainName": "files.s3.dualstack.us-east-1.amazonaws.com",
        "RegionalDomainName": "files.s3.us-east-1.amazonaws.com",
        "WebsiteURL": "http://files.s3-website-us-east-1.amazonaws.com",
    }


def test_bucket_with_objects_is_not_deleted_with_its_stack(stacks: Stacks, world: World) -> None:
    stacks.create("shop", {"B": bucket(BucketName="files")})
    put(world, "k", "v")

    stacks.delete("shop")

    assert stacks.status("shop") == "DELETE_FAILED"
    assert "The bucket you tried to delete is not empty" in stacks.reason("shop", "B", "DELETE_FAILED")


def test_empty_bucket_is_deleted_with_its_stack(stacks: Stacks, world: World) -> None:
    stacks.create("shop", {"B": bucket(BucketName="files")})

    stacks.delete("shop")

    with pytest.raises(ServiceError, match="NoSuchBucket"):
        world.call("s3", "HeadBucket", Bucket="files")


def test_retained_bucket_outlives_its_stack(stacks: Stacks, world: World) -> None:
    stacks.create("shop", {"B": {**bucket(BucketName="files"), "DeletionPolicy": "Retain"}})

    stacks.delete("shop")

    assert world.call("s3", "HeadBucket", Bucket="files")["BucketRegion"] == "us-east-1"


def test_bucket_that_exists_already_is_not_taken_over(stacks: Stacks, files: World) -> None:
    """In us-east-1, S3 answers a second CreateBucket as the first one."""
    stacks.create("shop", {"B": bucket(BucketName="files")})

    reason = stacks.reason("shop", "B", "CREATE_FAILED")
    assert "Resource of type 'AWS::S3::Bucket' with identifier 'files' already exists." in reason


def test_settings_of_a_bucket_are_put_changed_and_cleared(stacks: Stacks, world: World) -> None:
    rule = {"AllowedMethods": ["GET"], "AllowedOrigins": ["*"]}
    settings = {
        "CorsConfiguration": {"CorsRules": [rule]},
        "LifecycleConfiguration": {"Rules": [{"Id": "r", "Status": "Enabled", "ExpirationInDays": 1}]},
        "VersioningConfiguration": {"Status": "Enabled"},
        "Tags": [{"Key": "k", "Value": "v"}],
    }

    def read(operation: str, member: str) -> object:
        try:
            return world.call("s3", operation, Bucket="files").get(member)
        except ServiceError as error:
            return error.code

    def settings_now() -> list[object]:
        return [
            read("GetBucketCors", "CORSRules"), read("GetBucketVersioning", "Status"),
            read("GetBucketTagging", "TagSet"), bool(read("GetBucketLifecycleConfiguration", "Rules")),
        ]  # fmt: skip

    stacks.create("shop", {"B": bucket(BucketName="files", **settings)})
    made = settings_now()
    stacks.update("shop", {"B": bucket(BucketName="files")})

    assert made == [[rule], "Enabled", [{"Key": "k", "Value": "v"}], True]
    assert stacks.status("shop") == "UPDATE_COMPLETE"
    assert settings_now()[:3] == ["NoSuchCORSConfiguration", "Suspended", "NoSuchTagSet"]
    assert read("GetBucketLifecycleConfiguration", "Rules") == "NoSuchLifecycleConfiguration"


def test_replication_is_refused_by_name(stacks: Stacks) -> None:
    stacks.create("shop", {"B": bucket(ReplicationConfiguration={"Role": "r", "Rules": []})})

    assert "does not serve the property ReplicationConfiguration" in stacks.reason("shop", "B", "CREATE_FAILED")


def test_policy_of_a_bucket_is_put_and_deleted(stacks: Stacks, files: World) -> None:
    stacks.create("shop", {"P": policy_for("files")})
    found = files.call("s3", "GetBucketPolicy", Bucket="files")["Policy"]
    stacks.delete("shop")

    assert json.loads(found) == NO_HTTP
    with pytest.raises(ServiceError, match="NoSuchBucketPolicy"):
        files.call("s3", "GetBucketPolicy", Bucket="files")


def test_policy_of_a_bucket_that_has_one_is_not_replaced(stacks: Stacks, files: World) -> None:
    files.call("s3", "PutBucketPolicy", Bucket="files", Policy=json.dumps(NO_HTTP))

    stacks.create("shop", {"P": policy_for("files")})

    reason = stacks.reason("shop", "P", "CREATE_FAILED")
    assert "The bucket policy already exists on bucket files." in reason


def test_bucket_tells_a_queue_that_the_template_names(stacks: Stacks, world: World) -> None:
    """The queue's policy has to be there before the bucket: S3 checks the destination."""
    statement = {
        "Effect": "Allow", "Principal": {"Service": "s3.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": "*",
    }  # fmt: skip
    allowed = {
        "Type": "AWS::SQS::QueuePolicy",
        "Properties": {"Queues": [{"Ref": "Q"}], "PolicyDocument": {"Version": "2012-10-17", "Statement": statement}},
    }
    told = {"QueueConfigurations": [{"Event": "s3:ObjectCreated:*", "Queue": {"Fn::GetAtt": ["Q", "Arn"]}}]}
    files = {**bucket(BucketName="files", NotificationConfiguration=told), "DependsOn": "P"}

    stacks.create("shop", {"Q": queue(QueueName="told"), "P": allowed, "B": files})

    found = world.call("s3", "GetBucketNotificationConfiguration", Bucket="files")["QueueConfigurations"]
    assert [one["QueueArn"] for one in found] == ["arn:aws:sqs:us-east-1:000000000000:told"]


@pytest.mark.parametrize(
    "url",
    [
        "https://s3.us-east-1.amazonaws.com/files/a/t.json",
        "https://files.s3.amazonaws.com/a/t.json",
        "http://127.0.0.1:4566/files/a/t.json",
    ],
)
def test_template_at_a_url_is_that_of_the_bucket_here(stacks: Stacks, files: World, url: str) -> None:
    put(files, "a/t.json", TEMPLATE)

    stacks.client.create_stack(StackName="shop", TemplateURL=url)
    files.settle()

    assert stacks.physical_id("shop", "Q").endswith("/made")
    assert (
        stacks.client.get_template(StackName="shop")["TemplateBody"]["Resources"] == json.loads(TEMPLATE)["Resources"]
    )


def test_template_at_a_url_is_summarised_validated_and_deployed_by_a_change_set(stacks: Stacks, files: World) -> None:
    url = "https://s3.us-east-1.amazonaws.com/files/t.json"
    put(files, "t.json", TEMPLATE)

    summary = stacks.client.get_template_summary(TemplateURL=url)
    stacks.client.validate_template(TemplateURL=url)
    stacks.client.create_change_set(StackName="shop", ChangeSetName="c", ChangeSetType="CREATE", TemplateURL=url)
    stacks.client.execute_change_set(StackName="shop", ChangeSetName="c")
    files.settle()

    assert summary["ResourceTypes"] == ["AWS::SQS::Queue"]
    assert stacks.status("shop") == "CREATE_COMPLETE"


def test_url_may_name_a_version_of_the_template(stacks: Stacks, files: World) -> None:
    files.call("s3", "PutBucketVersioning", Bucket="files", VersioningConfiguration={"Status": "Enabled"})
    first = files.call("s3", "PutObject", Bucket="files", Key="t", Body=TEMPLATE.encode())["VersionId"]
    put(files, "t", json.dumps({"Resources": {"Other": queue()}}))

    found = stacks.client.get_template_summary(TemplateURL=f"https://s3.amazonaws.com/files/t?versionId={first}")

    assert found["ResourceIdentifierSummaries"][0]["LogicalResourceIds"] == ["Q"]


def test_template_that_is_not_there_is_told_in_s3s_words(stacks: Stacks, files: World, refusal: Refusal) -> None:
    url = "https://s3.amazonaws.com/files/none"

    code, message = refusal(stacks.client.create_stack, StackName="shop", TemplateURL=url)

    assert (code, message.splitlines()[0]) == ("ValidationError", "S3 error: The specified key does not exist.")


def test_template_is_read_with_the_callers_permissions(files: World) -> None:
    put(files, "t", TEMPLATE)
    files.call("iam", "CreateRole", RoleName="deployer", AssumeRolePolicyDocument=json.dumps(TRUST))
    may = {"Effect": "Allow", "Action": "cloudformation:*", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": may})
    files.call("iam", "PutRolePolicy", RoleName="deployer", PolicyName="p", PolicyDocument=policy)
    caller = Caller(SCOPE, "r", "arn:aws:iam::000000000000:role/deployer", "s")

    with pytest.raises(ServiceError, match="S3 error: "):
        files.engine.call(
            caller, "cloudformation", "ValidateTemplate", {"TemplateURL": "https://s3.amazonaws.com/files/t"}
        )


def test_nested_stack_is_made_of_a_template_in_a_bucket(stacks: Stacks, files: World) -> None:
    put(files, "child.json", TEMPLATE)
    child = {"TemplateURL": "https://files.s3.us-east-1.amazonaws.com/child.json"}

    stacks.create("shop", {"Child": {"Type": "AWS::CloudFormation::Stack", "Properties": child}})

    assert stacks.status("shop") == "CREATE_COMPLETE"


INCLUDE = {"Name": "AWS::Include", "Parameters": {"Location": "s3://files/part.yaml"}}


def create(stacks: Stacks, template: Template, **params: Any) -> None:
    stacks.client.create_stack(
        StackName="shop", TemplateBody=json.dumps(template), Capabilities=["CAPABILITY_AUTO_EXPAND"], **params
    )
    stacks.world.settle()


def test_included_resources_stand_beside_those_of_the_template(stacks: Stacks, files: World) -> None:
    put(files, "part.yaml", "More:\n  Type: AWS::SQS::Queue\n")

    create(stacks, {"Resources": {"Q": queue(), "Fn::Transform": INCLUDE}})

    assert stacks.status("shop") == "CREATE_COMPLETE"
    assert stacks.physical_id("shop", "More").rpartition("/")[2].startswith("shop-More-")


def test_include_of_a_whole_template_adds_to_its_sections(stacks: Stacks, files: World) -> None:
    put(files, "part.yaml", "Resources:\n  More:\n    Type: AWS::SQS::Queue\n")

    create(stacks, {"Transform": INCLUDE, "Resources": {"Q": queue()}})

    found = stacks.client.list_stack_resources(StackName="shop")["StackResourceSummaries"]
    assert {one["LogicalResourceId"] for one in found} == {"Q", "More"}


def test_location_of_an_include_may_use_parameters(stacks: Stacks, files: World) -> None:
    put(files, "part.yaml", "DelaySeconds: 7\n")
    include = {"Name": "AWS::Include", "Parameters": {"Location": {"Fn::Sub": "s3://${Where}/part.yaml"}}}
    made = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "q", "Fn::Transform": include}}

    create(
        stacks, {"Parameters": {"Where": {"Type": "String"}}, "Resources": {"Q": made}},
        Parameters=[{"ParameterKey": "Where", "ParameterValue": "files"}],
    )  # fmt: skip

    url = stacks.physical_id("shop", "Q")
    found = files.call("sqs", "GetQueueAttributes", QueueUrl=url, AttributeNames=["DelaySeconds"])
    assert found["Attributes"] == {"DelaySeconds": "7"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1", "The specified S3 object's content should be valid Yaml/JSON"),
        ("- a\n", "The specified S3 object's content should be valid Yaml/JSON"),
        ("Fn::Transform: {Name: AWS::Include}\n", "AWS::Include transforms cannot be nested"),
    ],
)
def test_object_that_cannot_be_included_fails_the_stack(stacks: Stacks, files: World, text: str, reason: str) -> None:
    put(files, "part.yaml", text)

    create(stacks, {"Resources": {"Q": queue(), "Fn::Transform": INCLUDE}})

    found = stacks.reason("shop", "shop", "ROLLBACK_IN_PROGRESS")
    assert found.startswith(f"Transform AWS::Include failed with: {reason}")


def test_include_of_an_object_that_is_not_there_fails_in_s3s_words(stacks: Stacks, files: World) -> None:
    create(stacks, {"Resources": {"Q": queue(), "Fn::Transform": INCLUDE}})

    assert "NoSuchKey" in stacks.reason("shop", "shop", "ROLLBACK_IN_PROGRESS")
