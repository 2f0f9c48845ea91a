"""The sub-resources of buckets as boto3 sees them: over the wire and back."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

from redrive.core.scope import canonical_user
from redrive.services.s3.model.policies import BLOCKS
from tests.unit.services.s3.desk import ACCOUNT, ANYBODY, Desk, allow, policy

OWNER = {"ID": canonical_user(ACCOUNT)}
GRANTS = [{"Grantee": {**OWNER, "Type": "CanonicalUser"}, "Permission": "FULL_CONTROL"}]
CORS = {"CORSRules": [{"AllowedMethods": ["GET"], "AllowedOrigins": ["*"], "MaxAgeSeconds": 5, "ID": "r"}]}
TIERING = {"Id": "t", "Status": "Enabled", "Tierings": [{"Days": 90, "AccessTier": "ARCHIVE_ACCESS"}]}
INVENTORY = {
    "Id": "i", "IsEnabled": True, "IncludedObjectVersions": "All", "Schedule": {"Frequency": "Daily"},
    "Destination": {"S3BucketDestination": {"Bucket": "arn:aws:s3:::docs", "Format": "CSV"}},
}  # fmt: skip
RULE = {
    "ID": "r", "Status": "Enabled", "Filter": {"And": {"Prefix": "x", "ObjectSizeLessThan": 5}},
    "Expiration": {"Days": 7}, "Transitions": [{"Days": 1, "StorageClass": "GLACIER"}],
}  # fmt: skip
SSE = {"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}, "BucketKeyEnabled": True}]}


@pytest.fixture
def s3(desk: Desk) -> Any:
    client = desk.world.client("s3")
    client.create_bucket(Bucket="docs")
    return client


def failed(caught: Any) -> tuple[str, int]:
    answer = caught.value.response
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"]


@pytest.mark.parametrize(
    ("name", "params", "shown"),
    [
        ("bucket_tagging", {"Tagging": {"TagSet": [{"Key": "a", "Value": "b c"}]}},
         {"TagSet": [{"Key": "a", "Value": "b c"}]}),
        ("bucket_cors", {"CORSConfiguration": CORS}, CORS),
        ("bucket_encryption", {"ServerSideEncryptionConfiguration": SSE}, {"ServerSideEncryptionConfiguration": SSE}),
        ("bucket_lifecycle_configuration", {"LifecycleConfiguration": {"Rules": [RULE]}},
         {"Rules": [RULE], "TransitionDefaultMinimumObjectSize": "all_storage_classes_128K"}),
        ("bucket_ownership_controls", {"OwnershipControls": {"Rules": [{"ObjectOwnership": "ObjectWriter"}]}},
         {"OwnershipControls": {"Rules": [{"ObjectOwnership": "ObjectWriter"}]}}),
        ("public_access_block", {"PublicAccessBlockConfiguration": {"BlockPublicAcls": True}},
         {"PublicAccessBlockConfiguration": {name: name == "BlockPublicAcls" for name in BLOCKS}}),
        ("bucket_accelerate_configuration", {"AccelerateConfiguration": {"Status": "Enabled"}}, {"Status": "Enabled"}),
        ("bucket_request_payment", {"RequestPaymentConfiguration": {"Payer": "Requester"}}, {"Payer": "Requester"}),
        ("bucket_logging",
         {"BucketLoggingStatus": {"LoggingEnabled": {"TargetBucket": "docs", "TargetPrefix": "log/"}}},
         {"LoggingEnabled": {"TargetBucket": "docs", "TargetPrefix": "log/"}}),
        ("bucket_acl", {"ACL": "private"}, {"Owner": OWNER, "Grants": GRANTS}),
        ("bucket_abac", {"AbacStatus": {"Status": "Enabled"}}, {"AbacStatus": {"Status": "Enabled"}}),
        ("bucket_metrics_configuration", {"Id": "m", "MetricsConfiguration": {"Id": "m", "Filter": {"Prefix": "x"}}},
         {"MetricsConfiguration": {"Id": "m", "Filter": {"Prefix": "x"}}}),
        ("bucket_analytics_configuration",
         {"Id": "a", "AnalyticsConfiguration": {"Id": "a", "StorageClassAnalysis": {}}},
         {"AnalyticsConfiguration": {"Id": "a", "StorageClassAnalysis": {}}}),
        ("bucket_inventory_configuration", {"Id": "i", "InventoryConfiguration": INVENTORY},
         {"InventoryConfiguration": INVENTORY}),
        ("bucket_intelligent_tiering_configuration", {"Id": "t", "IntelligentTieringConfiguration": TIERING},
         {"IntelligentTieringConfiguration": TIERING}),
    ],
)  # fmt: skip
def test_sub_resource_is_read_as_it_was_written(
    name: str, params: dict[str, Any], shown: dict[str, Any], s3: Any
) -> None:
    getattr(s3, f"put_{name}")(Bucket="docs", **params)

    found = getattr(s3, f"get_{name}")(Bucket="docs", **({"Id": params["Id"]} if "Id" in params else {}))

    del found["ResponseMetadata"]
    assert found == shown


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("policy", "NoSuchBucketPolicy"),
        ("cors", "NoSuchCORSConfiguration"),
        ("lifecycle_configuration", "NoSuchLifecycleConfiguration"),
        ("tagging", "NoSuchTagSet"),
        ("website", "NoSuchWebsiteConfiguration"),
        ("replication", "ReplicationConfigurationNotFoundError"),
    ],
)
def test_sub_resource_that_is_not_set_is_not_found_and_deleting_it_is_fine(name: str, code: str, s3: Any) -> None:
    with pytest.raises(ClientError) as caught:
        getattr(s3, f"get_bucket_{name}")(Bucket="docs")

    deleted = getattr(s3, f"delete_bucket_{name.removesuffix('_configuration')}")(Bucket="docs")
    assert failed(caught) == (code, 404)
    assert deleted["ResponseMetadata"]["HTTPStatusCode"] == 204


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("put_bucket_website", {"WebsiteConfiguration": {"IndexDocument": {"Suffix": "index.html"}}}),
        ("put_bucket_replication",
         {"ReplicationConfiguration": {"Role": "r", "Rules": [
             {"Status": "Enabled", "Destination": {"Bucket": "arn:aws:s3:::other"}}]}}),
    ],
)  # fmt: skip
def test_what_is_not_offered_is_refused_by_name_with_what_to_do(
    operation: str, params: dict[str, Any], s3: Any
) -> None:
    with pytest.raises(ClientError) as caught:
        getattr(s3, operation)(Bucket="docs", **params)

    assert failed(caught) == ("NotImplemented", 501)
    assert "Leave the " in caught.value.response["Error"]["Message"]


def test_settings_that_nobody_has_changed_have_their_defaults(s3: Any) -> None:
    assert s3.get_bucket_request_payment(Bucket="docs")["Payer"] == "BucketOwner"
    assert "Status" not in s3.get_bucket_accelerate_configuration(Bucket="docs")
    assert "LoggingEnabled" not in s3.get_bucket_logging(Bucket="docs")
    assert s3.get_bucket_location(Bucket="docs")["LocationConstraint"] is None
    assert s3.list_bucket_metrics_configurations(Bucket="docs")["IsTruncated"] is False


def test_configurations_are_listed_and_deleted_by_their_ids(s3: Any) -> None:
    for name in ("b", "a"):
        s3.put_bucket_metrics_configuration(Bucket="docs", Id=name, MetricsConfiguration={"Id": name})

    s3.delete_bucket_metrics_configuration(Bucket="docs", Id="b")
    with pytest.raises(ClientError) as caught:
        s3.delete_bucket_metrics_configuration(Bucket="docs", Id="b")

    listed = s3.list_bucket_metrics_configurations(Bucket="docs")["MetricsConfigurationList"]
    assert [one["Id"] for one in listed] == ["a"]
    assert failed(caught) == ("NoSuchConfiguration", 404)


def test_logs_go_to_a_bucket_that_exists(s3: Any) -> None:
    wanted = {"LoggingEnabled": {"TargetBucket": "nothing", "TargetPrefix": ""}}

    with pytest.raises(ClientError) as caught:
        s3.put_bucket_logging(Bucket="docs", BucketLoggingStatus=wanted)

    assert failed(caught) == ("InvalidTargetBucketForLogging", 400)


def test_policy_goes_over_the_wire_as_its_text(s3: Any) -> None:
    document = policy(allow("s3:GetObject", "arn:aws:s3:::docs/*", Principal={"AWS": "111111111111"}))

    s3.put_bucket_policy(Bucket="docs", Policy=document)

    assert s3.get_bucket_policy(Bucket="docs")["Policy"] == document
    assert s3.get_bucket_policy_status(Bucket="docs")["PolicyStatus"] == {"IsPublic": False}


def test_boto3_finds_a_bucket_of_another_region_by_itself(desk: Desk) -> None:
    desk.bucket("green", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    client = desk.world.client("s3")

    client.put_object(Bucket="green", Key="a", Body=b"x")

    assert client.head_object(Bucket="green", Key="a")["ContentLength"] == 1
    assert client.head_bucket(Bucket="green")["BucketRegion"] == "eu-west-1"


def test_unsigned_request_is_nobodys(desk: Desk, s3: Any) -> None:
    s3.put_object(Bucket="docs", Key="a", Body=b"x")
    client = desk.world.client("s3", config=Config(signature_version=UNSIGNED))
    with pytest.raises(ClientError) as caught:
        client.get_object(Bucket="docs", Key="a")

    s3.delete_public_access_block(Bucket="docs")
    s3.put_bucket_policy(Bucket="docs", Policy=policy(allow("s3:GetObject", "arn:aws:s3:::docs/*", **ANYBODY)))

    assert failed(caught) == ("AccessDenied", 403)
    assert client.get_object(Bucket="docs", Key="a")["Body"].read() == b"x"


def test_versions_and_markers_are_written_in_one_order(s3: Any) -> None:
    """In the order of their keys, the newest of a key first, whichever of the two kinds they are."""
    s3.put_bucket_versioning(Bucket="docs", VersioningConfiguration={"Status": "Enabled"})
    for key in ("b", "a"):
        s3.put_object(Bucket="docs", Key=key, Body=b"1")
        s3.delete_object(Bucket="docs", Key=key)
        s3.put_object(Bucket="docs", Key=key, Body=b"2")
    s3.delete_object(Bucket="docs", Key="b")
    sent: list[bytes] = []
    s3.meta.events.register("before-parse.s3.*", lambda response_dict, **_: sent.append(response_dict["body"]))

    answer = s3.list_object_versions(Bucket="docs")

    found = [(one.findtext("{*}Key"), one.tag.partition("}")[2]) for one in ET.fromstring(sent[0]) if len(one)]
    version, marker = "Version", "DeleteMarker"
    assert found == [
        ("a", version), ("a", marker), ("a", version), ("b", marker), ("b", version), ("b", marker), ("b", version),
    ]  # fmt: skip
    assert (len(answer["Versions"]), len(answer["DeleteMarkers"]), answer["IsTruncated"]) == (4, 3, False)
