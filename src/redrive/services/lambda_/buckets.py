"""Buckets that keep the records of what was given up, and Lambda's own checks of them.

Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html
"""

from __future__ import annotations

from datetime import UTC, datetime

from redrive.core.arn import Arn
from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.services.lambda_.model.function import Function, invalid_parameter
from redrive.services.lambda_.runs import function_caller
from redrive.store.api import Transaction


def async_folder(function_name: str) -> str:
    """Where a bucket keeps the records of a function's asynchronous events."""
    return f"aws/lambda/async/{function_name}"


def shard_folder(mapping_uuid: str, shard_id: str) -> str:
    """Where a bucket keeps the records of a shard's batches."""
    return f"aws/lambda/{mapping_uuid}/{shard_id}"


def put_record(tx: Transaction, caller: Caller, bucket_arn: str, folder: str, record: str) -> str:
    """Store a record, and return its key. Errors: ServiceError (S3's)."""
    key = f"{folder}/{_dated(tx.now)}-{new_uuid(tx.entropy)}"
    params = {
        "Bucket": Arn.parse(bucket_arn).resource, "Key": key, "Body": record.encode(),
        "ContentType": "application/json",
    }  # fmt: skip
    tx.services.call(tx, caller, "s3", "PutObject", params)
    return key


def _dated(now: Instant) -> str:
    moment = datetime.fromtimestamp(now // 1000, UTC)
    return f"{moment:%Y/%m/%d/%Y-%m-%dT%H.%M.%S}"


def check_bucket(tx: Transaction, caller: Caller, function: Function, bucket_arn: str, folder: str) -> None:
    """Check that there is a bucket into which the function's role may put records.

    Errors: InvalidParameterValueException.
    """
    if not _exists(tx, caller, bucket_arn):
        raise invalid_parameter(f"The destination ARN {bucket_arn} is invalid.")
    try:
        session = function_caller(tx, function, caller.request_id)
        policy = _policy(tx, caller, bucket_arn)
        tx.services.authorize(tx, session, "s3:PutObject", f"{bucket_arn}/{folder}/", policy=policy)
    except ServiceError:
        raise invalid_parameter(
            f"The function's execution role does not have permissions to call PutObject on {bucket_arn}"
        ) from None


def _exists(tx: Transaction, caller: Caller, bucket_arn: str) -> bool:
    """Whether there is a bucket, also if neither the caller nor the function's role may see it."""
    try:
        _ask(tx, caller, "HeadBucket", bucket_arn)
    except ServiceError as error:
        return error.http_status == 403
    return True


def _policy(tx: Transaction, caller: Caller, bucket_arn: str) -> str:
    try:
        return str(_ask(tx, caller, "GetBucketPolicy", bucket_arn)["Policy"])
    except ServiceError:
        return ""


def _ask(tx: Transaction, caller: Caller, operation: str, bucket_arn: str) -> Document:
    """Read something of a bucket as the account, whatever the caller may do."""
    account = Caller(caller.scope, caller.request_id)
    return tx.services.call(tx, account, "s3", operation, {"Bucket": Arn.parse(bucket_arn).resource})
