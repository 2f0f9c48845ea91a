"""The properties of a bucket in a template, as the documents that S3's operations take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from redrive.services.cloudformation.types import bucket_documents as documents
from redrive.services.cloudformation.types.schema import PropertyError

TAG = {"Key": "k", "Value": "v"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"Prefix": ""}),
        ({"Prefix": "p/"}, {"Prefix": "p/"}),
        ({"TagFilters": [TAG]}, {"Tag": TAG}),
        ({"ObjectSizeGreaterThan": "5"}, {"ObjectSizeGreaterThan": 5}),
        ({"Prefix": "p/", "TagFilters": [TAG]}, {"And": {"Prefix": "p/", "Tags": [TAG]}}),
        ({"TagFilters": [TAG, TAG]}, {"And": {"Tags": [TAG, TAG]}}),
        (
            {"ObjectSizeGreaterThan": "5", "ObjectSizeLessThan": "9"},
            {"And": {"ObjectSizeGreaterThan": 5, "ObjectSizeLessThan": 9}},
        ),
    ],
)
def test_conditions_of_a_lifecycle_rule_become_one_filter(given: dict[str, Any], expected: dict[str, Any]) -> None:
    (rule,) = documents.lifecycle({"Rules": [{"Status": "Enabled", **given}]})["Rules"]

    assert rule == {"Status": "Enabled", "Filter": expected}


def test_actions_of_a_lifecycle_rule_have_s3s_names() -> None:
    given = {
        "Id": "r", "Status": "Enabled", "ExpirationInDays": 9,
        "Transition": {"StorageClass": "GLACIER", "TransitionDate": "2030-01-31T00:00:00Z"},
        "NoncurrentVersionTransitions": [{"StorageClass": "GLACIER", "TransitionInDays": 3}],
        "NoncurrentVersionExpiration": {"NoncurrentDays": 30, "NewerNoncurrentVersions": 2},
        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1},
    }  # fmt: skip

    (rule,) = documents.lifecycle({"Rules": [given]})["Rules"]

    assert rule == {
        "ID": "r", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 9},
        "Transitions": [{"StorageClass": "GLACIER", "Date": 1_896_048_000_000}],
        "NoncurrentVersionTransitions": [{"StorageClass": "GLACIER", "NoncurrentDays": 3}],
        "NoncurrentVersionExpiration": {"NoncurrentDays": 30, "NewerNoncurrentVersions": 2},
        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1},
    }  # fmt: skip


@pytest.mark.parametrize("rule", [{"ExpirationDate": "soon"}, {"ObjectSizeLessThan": "few"}])
def test_value_of_a_lifecycle_rule_that_cannot_be_read_is_refused_by_name(rule: dict[str, str]) -> None:
    (name,) = rule

    with pytest.raises(PropertyError, match=f"^{name}: "):
        documents.lifecycle({"Rules": [{"Status": "Enabled", **rule}]})


@pytest.mark.parametrize(
    ("convert", "given", "expected"),
    [
        (
            documents.encryption,
            {"ServerSideEncryptionConfiguration": [
                {"BucketKeyEnabled": True, "ServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}}
            ]},
            {"Rules": [
                {"BucketKeyEnabled": True, "ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}}
            ]},
        ),
        (
            documents.cors,
            {"CorsRules": [{"Id": "c", "AllowedMethods": ["GET"], "AllowedOrigins": ["*"], "ExposedHeaders": ["ETag"],
                            "MaxAge": 5}]},
            {"CORSRules": [{"ID": "c", "AllowedMethods": ["GET"], "AllowedOrigins": ["*"], "ExposeHeaders": ["ETag"],
                            "MaxAgeSeconds": 5}]},
        ),
        (
            documents.notification,
            {
                "QueueConfigurations": [{
                    "Event": "s3:ObjectCreated:*", "Queue": "q",
                    "Filter": {"S3Key": {"Rules": [{"Name": "suffix", "Value": ".csv"}]}},
                }],
                "LambdaConfigurations": [{"Event": "s3:ObjectRemoved:*", "Function": "f"}],
                "EventBridgeConfiguration": {"EventBridgeEnabled": True},
            },
            {
                "QueueConfigurations": [{
                    "QueueArn": "q", "Events": ["s3:ObjectCreated:*"],
                    "Filter": {"Key": {"FilterRules": [{"Name": "suffix", "Value": ".csv"}]}},
                }],
                "LambdaFunctionConfigurations": [{"LambdaFunctionArn": "f", "Events": ["s3:ObjectRemoved:*"]}],
                "EventBridgeConfiguration": {},
            },
        ),
        (documents.notification, {"EventBridgeConfiguration": {"EventBridgeEnabled": False}}, {}),
        (
            documents.public_access,
            {"BlockPublicAcls": True},
            {"BlockPublicAcls": True, "IgnorePublicAcls": False, "BlockPublicPolicy": False,
             "RestrictPublicBuckets": False},
        ),
        (
            documents.inventory,
            {"Id": "i", "Enabled": True, "IncludedObjectVersions": "All", "ScheduleFrequency": "Daily",
             "Prefix": "p", "Destination": {"BucketArn": "a", "Format": "CSV", "BucketAccountId": "1"}},
            {"Id": "i", "IsEnabled": True, "IncludedObjectVersions": "All", "Schedule": {"Frequency": "Daily"},
             "Filter": {"Prefix": "p"},
             "Destination": {"S3BucketDestination": {"Bucket": "a", "Format": "CSV", "AccountId": "1"}}},
        ),
        (documents.metrics, {"Id": "m", "Prefix": "p"}, {"Id": "m", "Filter": {"Prefix": "p"}}),
    ],
)  # fmt: skip
def test_properties_become_s3s_documents(
    convert: Callable[[Any], dict[str, Any]], given: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert convert(given) == expected


@pytest.mark.parametrize(("given", "target"), [({}, "own"), ({"DestinationBucketName": "other"}, "other")])
def test_logs_of_access_go_to_the_bucket_itself_unless_another_is_named(given: dict[str, str], target: str) -> None:
    found = documents.logging({**given, "LogFilePrefix": "p/"}, "own")

    assert found == {"LoggingEnabled": {"TargetBucket": target, "TargetPrefix": "p/"}}
