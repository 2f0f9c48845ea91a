"""Encryption: what a bucket does by default, keys of KMS, and keys of customers (SSE-C)."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest

from tests.unit.services.s3.desk import Desk, allow


@pytest.fixture(autouse=True)
def _a_bucket(desk: Desk) -> None:
    desk.bucket()


@pytest.fixture
def key(desk: Desk) -> str:
    """The ARN of a key of KMS."""
    return str(desk.world.client("kms").create_key()["KeyMetadata"]["Arn"])


def by_default(algorithm: str, key: str | None = None, **more: Any) -> dict[str, Any]:
    named = {} if key is None else {"KMSMasterKeyID": key}
    return {"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": algorithm, **named}, **more}]}


def customer_key(secret: bytes) -> Any:
    return {
        "SSECustomerAlgorithm": "AES256", "SSECustomerKey": base64.b64encode(secret).decode(),
        "SSECustomerKeyMD5": base64.b64encode(hashlib.md5(secret, usedforsecurity=False).digest()).decode(),
    }  # fmt: skip


def set_default(desk: Desk, configuration: dict[str, Any]) -> None:
    desk.call("PutBucketEncryption", Bucket="docs", ServerSideEncryptionConfiguration=configuration)


def test_every_object_is_encrypted_at_least_by_s3s_own_keys(desk: Desk) -> None:
    written = desk.put("a")

    assert written["ServerSideEncryption"] == "AES256"
    assert desk.call("HeadObject", Bucket="docs", Key="a")["ServerSideEncryption"] == "AES256"


def test_object_under_kms_shows_the_arn_of_its_key(key: str, desk: Desk) -> None:
    written = desk.put("a", ServerSideEncryption="aws:kms", SSEKMSKeyId=key.rpartition("/")[2])

    read = desk.call("GetObject", Bucket="docs", Key="a")

    shown = {name: read[name] for name in ("ServerSideEncryption", "SSEKMSKeyId")}
    assert shown == {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": key}
    assert written["SSEKMSKeyId"] == key
    assert "BucketKeyEnabled" not in read


def test_object_under_kms_without_a_key_has_the_key_that_aws_manages(desk: Desk) -> None:
    written = desk.put("a", ServerSideEncryption="aws:kms")

    (alias,) = [one for one in desk.world.client("kms").list_aliases()["Aliases"] if one["AliasName"] == "alias/aws/s3"]
    assert written["SSEKMSKeyId"].endswith(alias["TargetKeyId"])


def test_bucket_encrypts_by_its_default_where_a_request_says_nothing(key: str, desk: Desk) -> None:
    set_default(desk, by_default("aws:kms", key, BucketKeyEnabled=True))

    written, plain = desk.put("a"), desk.put("b", ServerSideEncryption="AES256")

    assert (written["ServerSideEncryption"], written["SSEKMSKeyId"]) == ("aws:kms", key)
    assert written["BucketKeyEnabled"] is True
    assert plain["ServerSideEncryption"] == "AES256"


def test_deleted_default_is_that_of_a_new_bucket(key: str, desk: Desk) -> None:
    set_default(desk, by_default("aws:kms", key))

    desk.call("DeleteBucketEncryption", Bucket="docs")

    assert desk.call("GetBucketEncryption", Bucket="docs")["ServerSideEncryptionConfiguration"] == {
        "Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}, "BucketKeyEnabled": False}]
    }


@pytest.mark.parametrize(
    ("configuration", "code"),
    [
        ({"Rules": []}, "MalformedXML"),
        ({"Rules": [by_default("AES256")["Rules"][0]] * 2}, "MalformedXML"),
        (by_default("DES"), "MalformedXML"),
        (by_default("AES256", "alias/x"), "InvalidArgument"),
    ],
)
def test_invalid_default_is_refused(configuration: dict[str, Any], code: str, desk: Desk) -> None:
    params: Any = {"Bucket": "docs", "ServerSideEncryptionConfiguration": configuration}

    assert desk.code("PutBucketEncryption", **params) == code


def test_disabled_key_refuses_writes_and_reads(key: str, desk: Desk) -> None:
    desk.put("a", ServerSideEncryption="aws:kms", SSEKMSKeyId=key)

    desk.world.client("kms").disable_key(KeyId=key)

    written = desk.refusal(
        "PutObject", Bucket="docs", Key="b", Body=b"", ServerSideEncryption="aws:kms", SSEKMSKeyId=key
    )
    read = desk.refusal("GetObject", Bucket="docs", Key="a")
    assert written.code == read.code == "KMS.DisabledException"
    assert written.message == read.message == f"{key} is disabled."
    assert desk.code("HeadObject", Bucket="docs", Key="a") == ""


def test_key_that_waits_for_its_deletion_refuses_reads_and_an_unknown_one_writes(key: str, desk: Desk) -> None:
    desk.put("a", ServerSideEncryption="aws:kms", SSEKMSKeyId=key)
    unknown: Any = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "0" * 8 + "-0000-0000-0000-" + "0" * 12}

    desk.world.client("kms").schedule_key_deletion(KeyId=key)

    assert desk.code("GetObject", Bucket="docs", Key="a") == "KMS.KMSInvalidStateException"
    assert desk.code("PutObject", Bucket="docs", Key="b", Body=b"", **unknown) == "KMS.NotFoundException"


def test_reading_under_kms_needs_a_permission_of_the_key_as_well(key: str, desk: Desk) -> None:
    desk.put("a", ServerSideEncryption="aws:kms", SSEKMSKeyId=key)
    without = desk.role("without", allow("s3:GetObject"))
    having = desk.role("having", allow(["s3:GetObject", "kms:Decrypt"]))

    refused = desk.refusal("GetObject", without, Bucket="docs", Key="a")

    assert refused.code == "AccessDenied"
    assert "kms:Decrypt" in refused.message
    assert desk.code("GetObject", having, Bucket="docs", Key="a") == ""


def test_key_policy_sees_the_object_in_the_encryption_context_and_the_bucket_with_a_bucket_key(
    key: str, desk: Desk
) -> None:
    def writer(name: str, arn: str) -> Any:
        seen = {"StringEquals": {"kms:EncryptionContext:aws:s3:arn": arn}}
        return desk.role(name, allow("s3:PutObject"), allow("kms:GenerateDataKey", Condition=seen))

    one, all_ = writer("one", "arn:aws:s3:::docs/a"), writer("all", "arn:aws:s3:::docs")
    given = {"Bucket": "docs", "Body": b"", "ServerSideEncryption": "aws:kms", "SSEKMSKeyId": key}

    assert desk.code("PutObject", one, Key="a", **given) == ""
    assert desk.code("PutObject", one, Key="b", **given) == "AccessDenied"
    assert desk.code("PutObject", all_, Key="a", **given) == "AccessDenied"
    assert desk.code("PutObject", all_, Key="a", **given, BucketKeyEnabled=True) == ""


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"ServerSideEncryption": "DES"}, "InvalidArgument"),
        ({"SSEKMSKeyId": "alias/x"}, "InvalidArgument"),
        ({"ServerSideEncryption": "AES256", "SSEKMSKeyId": "alias/x"}, "InvalidArgument"),
        ({**customer_key(b"1" * 32), "SSECustomerAlgorithm": "DES"}, "InvalidEncryptionAlgorithmError"),
        ({**customer_key(b"1" * 32), "SSECustomerKeyMD5": "x"}, "InvalidArgument"),
        (customer_key(b"1" * 31), "InvalidArgument"),
        ({"SSECustomerAlgorithm": "AES256"}, "InvalidArgument"),
        ({"SSECustomerKey": "x"}, "InvalidArgument"),
    ],
)
def test_encryption_that_makes_no_sense_is_refused(params: dict[str, Any], code: str, desk: Desk) -> None:
    assert desk.code("PutObject", Bucket="docs", Key="a", Body=b"", **params) in (code, "ValidationException")


def test_object_under_a_customers_key_is_read_with_that_key_alone(desk: Desk) -> None:
    right, wrong = customer_key(b"1" * 32), customer_key(b"2" * 32)
    written = desk.put("a", **right)

    without = desk.refusal("GetObject", Bucket="docs", Key="a")
    other = desk.refusal("GetObject", Bucket="docs", Key="a", **wrong)

    assert desk.call("GetObject", Bucket="docs", Key="a", **right)["Body"] == b"x"
    assert written["SSECustomerKeyMD5"] == right["SSECustomerKeyMD5"]
    assert "ServerSideEncryption" not in written
    assert (without.code, without.http_status) == ("InvalidRequest", 400)
    assert (other.code, other.http_status) == ("AccessDenied", 403)
    assert desk.code("HeadObject", Bucket="docs", Key="a") == "InvalidRequest"


def test_key_for_an_object_that_has_none_does_not_apply(desk: Desk) -> None:
    desk.put("a")

    assert desk.code("GetObject", Bucket="docs", Key="a", **customer_key(b"1" * 32)) == "InvalidRequest"


def test_bucket_that_blocks_keys_of_customers_refuses_them(desk: Desk) -> None:
    set_default(desk, by_default("AES256", BlockedEncryptionTypes={"EncryptionType": ["SSE-C"]}))

    assert desk.code("PutObject", Bucket="docs", Key="a", Body=b"", **customer_key(b"1" * 32)) == "AccessDenied"


def encoded(context: object) -> str:
    return base64.b64encode(json.dumps(context).encode()).decode()


def test_added_encryption_context_reaches_kms_at_the_write_and_at_the_read(key: str, desk: Desk) -> None:
    def role(name: str, team: str) -> Any:
        seen = {"StringEquals": {"kms:EncryptionContext:team": team}}
        return desk.role(
            name, allow(["s3:PutObject", "s3:GetObject"]), allow(["kms:GenerateDataKey", "kms:Decrypt"], Condition=seen)
        )

    blue, red = role("blue", "blue"), role("red", "red")
    context = encoded({"team": "blue"})
    given: Any = {"Bucket": "docs", "ServerSideEncryption": "aws:kms", "SSEKMSKeyId": key}

    written = desk.call("PutObject", blue, Key="a", Body=b"text", SSEKMSEncryptionContext=context, **given)

    assert written["SSEKMSEncryptionContext"] == context
    assert desk.code("PutObject", red, Key="b", Body=b"", SSEKMSEncryptionContext=context, **given) == "AccessDenied"
    assert "SSEKMSEncryptionContext" not in desk.call("GetObject", blue, Bucket="docs", Key="a")
    assert desk.code("GetObject", red, Bucket="docs", Key="a") == "AccessDenied"
    desk.call("CopyObject", Key="c", CopySource="docs/a", **given)
    assert desk.code("GetObject", blue, Bucket="docs", Key="c") == "AccessDenied"


@pytest.mark.parametrize("context", ["%%%", encoded(["a"]), encoded({"a": 1}), base64.b64encode(b"\xff").decode()])
def test_encryption_context_that_is_no_map_of_texts_is_refused(context: str, desk: Desk) -> None:
    params: Any = {"Bucket": "docs", "Key": "a", "Body": b"", "SSEKMSEncryptionContext": context}

    assert desk.code("PutObject", ServerSideEncryption="aws:kms", **params) == "InvalidArgument"


def test_encryption_context_is_for_kms_alone(desk: Desk) -> None:
    params: Any = {"Bucket": "docs", "Key": "a", "Body": b"", "SSEKMSEncryptionContext": encoded({"team": "blue"})}

    assert desk.code("PutObject", **params) == "InvalidArgument"
    assert desk.code("PutObject", ServerSideEncryption="AES256", **params) == "InvalidArgument"


def test_part_needs_the_key_of_its_upload(key: str, desk: Desk) -> None:
    begun = desk.call("CreateMultipartUpload", Bucket="docs", Key="a", ServerSideEncryption="aws:kms", SSEKMSKeyId=key)
    part: Any = {"Bucket": "docs", "Key": "a", "UploadId": begun["UploadId"], "PartNumber": 1, "Body": b"text"}
    without, having = (
        desk.role("without", allow("s3:PutObject")),
        desk.role("having", allow(["s3:PutObject", "kms:Decrypt"])),
    )

    assert desk.code("UploadPart", without, **part) == "AccessDenied"
    assert desk.call("UploadPart", having, **part)["ETag"]
    desk.world.client("kms").disable_key(KeyId=key)
    assert desk.code("UploadPart", having, **part) == "KMS.DisabledException"


@pytest.mark.parametrize("operation", ["PutObject", "CreateMultipartUpload", "CopyObject"])
def test_event_holds_are_refused_by_name(operation: str, desk: Desk) -> None:
    desk.put("a")
    more: Any = {"CopySource": "docs/a"} if operation == "CopyObject" else {}

    refused = desk.refusal(operation, Bucket="docs", Key="b", ObjectLockEventHold="ON", **more)

    assert (refused.code, refused.members["Header"]) == ("NotImplemented", "x-amz-object-lock-event-hold")
