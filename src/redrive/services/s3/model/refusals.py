"""The errors of S3 that several operations on buckets give, in S3's words.

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
"""

from __future__ import annotations

from redrive.core.errors import ServiceError

OWNER_DIGITS = 12


def access_denied(message: str = "Access Denied") -> ServiceError:
    """The error for a caller who may not do this."""
    return ServiceError("AccessDenied", message, http_status=403)


def not_set(code: str, message: str, bucket: str) -> ServiceError:
    """The error for a sub-resource that a bucket does not have."""
    return ServiceError(code, message, http_status=404, members={"BucketName": bucket})


def wrong_owner_form(owner: str) -> ServiceError:
    """The error for an expected owner that is no account."""
    message = f"The value of the expected bucket owner parameter must be an AWS Account ID... [{owner}]"
    return ServiceError("InvalidBucketOwnerAWSAccountID", message, http_status=400)


def not_offered(what: str, instead: str) -> ServiceError:
    """The refusal of what AWS has and redrive does not do. It names the thing, and says what to do."""
    return ServiceError("NotImplemented", f"redrive does not do {what}. {instead}", http_status=501)
