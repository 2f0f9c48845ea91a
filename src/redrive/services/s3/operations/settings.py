"""The operations on settings of a bucket that are kept, and change nothing that redrive does.

Logging, transfer acceleration and payment by requesters are answered as AWS answers them; no access logs are written,
there is no other endpoint that would be faster, and nobody pays.
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.s3.access import bucket_of
from redrive.services.s3.changing import set_setting
from redrive.services.s3.model.bucket import BUCKETS, Bucket
from redrive.services.s3.model.errors import invalid_request, malformed_xml
from redrive.store.api import Transaction

_ACCELERATION, _PAYMENT, _LOGGING = "AccelerateConfiguration", "RequestPaymentConfiguration", "BucketLoggingStatus"
_STATES = ("Enabled", "Suspended")
_PAYERS = ("Requester", "BucketOwner")


@operation("PutBucketAccelerateConfiguration")
def put_bucket_accelerate_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, accelerate_configuration: Document,
    expected_bucket_owner: str | None = None, checksum_algorithm: str | None = None,  # noqa: ARG001
) -> Document:  # fmt: skip
    """Keep whether transfers of a bucket are accelerated.

    Errors: NoSuchBucket; AccessDenied; MalformedXML; InvalidRequest (a name with dots).
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketAccelerateConfiguration.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutAccelerateConfiguration", expected_owner=expected_bucket_owner)
    if accelerate_configuration.get("Status") not in _STATES:
        raise malformed_xml()
    if "." in bucket:
        raise invalid_request("S3 Transfer Acceleration is not supported for buckets with periods (.) in their names")
    set_setting(tx, found, _ACCELERATION, {"Status": accelerate_configuration["Status"]})
    return {}


@operation("GetBucketAccelerateConfiguration")
def get_bucket_accelerate_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None,
    request_payer: str | None = None,  # noqa: ARG001
) -> Document:  # fmt: skip
    """Return whether transfers of a bucket are accelerated; nothing if nobody has ever said it.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketAccelerateConfiguration.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetAccelerateConfiguration", expected_owner=expected_bucket_owner)
    return dict(found.settings.get(_ACCELERATION, {}))


@operation("PutBucketRequestPayment")
def put_bucket_request_payment(
    tx: Transaction, caller: Caller, *, bucket: str, request_payment_configuration: Document,
    content_md5: str | None = None, checksum_algorithm: str | None = None,  # noqa: ARG001
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Keep who pays for requests.

    Errors: NoSuchBucket; AccessDenied; MalformedXML.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketRequestPayment.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutBucketRequestPayment", expected_owner=expected_bucket_owner)
    if request_payment_configuration.get("Payer") not in _PAYERS:
        raise malformed_xml()
    set_setting(tx, found, _PAYMENT, {"Payer": request_payment_configuration["Payer"]})
    return {}


@operation("GetBucketRequestPayment")
def get_bucket_request_payment(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Return who pays for requests: the bucket's owner, unless told.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketRequestPayment.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetBucketRequestPayment", expected_owner=expected_bucket_owner)
    return dict(found.settings.get(_PAYMENT, {"Payer": "BucketOwner"}))


@operation("PutBucketLogging")
def put_bucket_logging(
    tx: Transaction, caller: Caller, *, bucket: str, bucket_logging_status: Document,
    content_md5: str | None = None, checksum_algorithm: str | None = None,  # noqa: ARG001
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Keep where the access logs of a bucket would go. An empty document takes that away.

    Errors: NoSuchBucket; AccessDenied; InvalidTargetBucketForLogging; CrossLocationLoggingProhibitted.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketLogging.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutBucketLogging", expected_owner=expected_bucket_owner)
    wanted: Document | None = bucket_logging_status.get("LoggingEnabled")
    if wanted is None:
        set_setting(tx, found, _LOGGING, None)
        return {}
    _check_target(tx, found, str(wanted["TargetBucket"]))
    set_setting(tx, found, _LOGGING, {"LoggingEnabled": wanted})
    return {}


@operation("GetBucketLogging")
def get_bucket_logging(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Return where the access logs of a bucket would go.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketLogging.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetBucketLogging", expected_owner=expected_bucket_owner)
    return dict(found.settings.get(_LOGGING, {}))


def _check_target(tx: Transaction, bucket: Bucket, name: str) -> None:
    """The target has to be a bucket of the same account and Region."""
    target = tx.resources.get(Bucket, BUCKETS, name)
    members = {"TargetBucket": name}
    if target is None or target.account != bucket.account:
        message = "The target bucket for logging does not exist"
        if target is not None:
            message = "The owner for the bucket to be logged and the target bucket must be the same."
        raise ServiceError("InvalidTargetBucketForLogging", message, http_status=400, members=members)
    if target.region != bucket.region:
        message = "Cross S3 location logging not allowed. "
        raise ServiceError("CrossLocationLoggingProhibitted", message, http_status=403, members=members)
