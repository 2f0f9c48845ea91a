"""Who may use S3: each operation asks for the permission by which IAM knows it."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.engine.build import SERVICES
from redrive.engine.registry import Registry
from redrive.languages.iam import actions_of
from redrive.wire.model.files import Models
from tests.unit.services.s3.desk import Desk, allow

IMPLEMENTED = sorted(Registry(Models(), {"s3": SERVICES["s3"]}).services["s3"])
OBJECT = {"Bucket": "docs", "Key": "a"}
FILLED: dict[str, Any] = {
    "AbacStatus": {"Status": "Enabled"},
    "AccelerateConfiguration": {"Status": "Enabled"},
    "ACL": "private",
    "AnalyticsConfiguration": {"Id": "i", "StorageClassAnalysis": {}},
    "Body": b"",
    "Bucket": "docs",
    "BucketLoggingStatus": {},
    "CopySource": "docs/a",
    "CORSConfiguration": {"CORSRules": [{"AllowedMethods": ["GET"], "AllowedOrigins": ["*"]}]},
    "Delete": {"Objects": [{"Key": "a"}]},
    "Id": "i",
    "IntelligentTieringConfiguration": {
        "Id": "i", "Status": "Enabled", "Tierings": [{"Days": 90, "AccessTier": "ARCHIVE_ACCESS"}]
    },
    "InventoryConfiguration": {
        "Id": "i", "IsEnabled": True, "IncludedObjectVersions": "All", "Schedule": {"Frequency": "Daily"},
        "Destination": {"S3BucketDestination": {"Bucket": "arn:aws:s3:::docs", "Format": "CSV"}},
    },
    "Key": "a",
    "LegalHold": {"Status": "ON"},
    "LifecycleConfiguration": {"Rules": [{"Status": "Enabled", "Prefix": "", "Expiration": {"Days": 1}}]},
    "MetricsConfiguration": {"Id": "i"},
    "MultipartUpload": {"Parts": []},
    "NotificationConfiguration": {},
    "ObjectAttributes": ["ETag"],
    "ObjectLockConfiguration": {"ObjectLockEnabled": "Enabled"},
    "OwnershipControls": {"Rules": [{"ObjectOwnership": "ObjectWriter"}]},
    "PartNumber": 1,
    "Policy": '{"Statement": []}',
    "PublicAccessBlockConfiguration": {},
    "RenameSource": "docs/b",
    "ReplicationConfiguration": {"Role": "r", "Rules": [{"Status": "Enabled", "Destination": {"Bucket": "b"}}]},
    "RequestPaymentConfiguration": {"Payer": "BucketOwner"},
    "RestoreRequest": {"Days": 1},
    "Retention": {"Mode": "GOVERNANCE", "RetainUntilDate": 4_000_000_000_000},
    "ServerSideEncryptionConfiguration": {
        "Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]
    },
    "Tagging": {"TagSet": []},
    "UploadId": "x",
    "VersioningConfiguration": {"Status": "Enabled"},
    "WebsiteConfiguration": {"IndexDocument": {"Suffix": "index.html"}},
}  # fmt: skip
"""A value for each member that some operation requires, and for those without which it asks for nothing."""

WANTED = {
    "PutBucketAcl": {"ACL"}, "PutBucketLifecycleConfiguration": {"LifecycleConfiguration"}, "PutObject": {"Body"},
    "PutObjectAcl": {"ACL"}, "PutObjectLegalHold": {"LegalHold"},
    "PutObjectLockConfiguration": {"ObjectLockConfiguration"},
    "PutObjectRetention": {"Retention"}, "RestoreObject": {"RestoreRequest"},
}  # fmt: skip

TOLD_BY_KEY = {"DeleteObjects"}
"""Operations that answer with the refusals of single keys."""


def params_of(operation: str) -> dict[str, Any]:
    shape = Models().service("s3").operations[operation].input
    required = set() if shape is None else set(shape.required)
    return {name: FILLED[name] for name in required | WANTED.get(operation, set())}


@pytest.mark.parametrize("operation", [name for name in IMPLEMENTED if name not in TOLD_BY_KEY])
def test_role_may_do_an_operation_only_if_a_policy_allows_its_action(operation: str, desk: Desk) -> None:
    desk.bucket()
    desk.put("a")
    (action,) = actions_of("s3", operation)
    params = params_of(operation) | ({"Bucket": "fresh"} if operation == "CreateBucket" else {})
    others = desk.role("others", {"Effect": "Allow", "NotAction": action, "Resource": "*"})
    # Reading the source of a copy and the attributes of an object needs more than the action.
    this = desk.role("this", allow([action, "s3:GetObject", "s3:GetObjectAttributes"]))

    refused = desk.refusal(operation, others, **params)

    assert (refused.code, refused.http_status) == ("AccessDenied", 403)
    assert f"is not authorized to perform: {action} on resource: " in refused.message
    assert desk.code(operation, this, **params) != "AccessDenied"


def test_deletion_of_many_objects_refuses_each_key_by_itself(desk: Desk) -> None:
    desk.bucket()
    role = desk.role("some", allow("s3:DeleteObject", "arn:aws:s3:::docs/mine/*"))

    answer = desk.call("DeleteObjects", role, Bucket="docs", Delete={"Objects": [{"Key": "mine/a"}, {"Key": "b"}]})

    assert [one["Key"] for one in answer["Deleted"]] == ["mine/a"]
    assert [(one["Key"], one["Code"]) for one in answer["Errors"]] == [("b", "AccessDenied")]
