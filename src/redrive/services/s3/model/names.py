"""Names of buckets: which are valid.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
"""

from __future__ import annotations

import re

from redrive.core.errors import ServiceError
from redrive.services.s3.model.errors import invalid_argument

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]|\.(?!\.)){1,61}[a-z0-9]")
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_PREFIXES = ("xn--", "sthree-", "amzn-s3-demo-")
_SUFFIXES = ("-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3")
REGIONAL = "account-regional"


def check_name(name: str, namespace: str | None, account: str, region: str) -> None:
    """Refuse an invalid name. Errors: InvalidBucketName; InvalidArgument (a namespace that S3 does not have)."""
    if not is_valid_name(name):
        raise invalid_bucket_name(name)
    if namespace not in (None, "global", REGIONAL):
        raise invalid_argument(
            f"Invalid x-amz-bucket-namespace header: {namespace}", "x-amz-bucket-namespace", namespace
        )
    if namespace == REGIONAL and not name.endswith(f"-{account}-{region}-an"):
        raise invalid_bucket_name(name)


def is_valid_name(name: str) -> bool:
    """Whether a bucket may have a name."""
    return (
        _NAME.fullmatch(name) is not None
        and _ADDRESS.fullmatch(name) is None
        and not name.startswith(_PREFIXES)
        and not name.endswith(_SUFFIXES)
    )


def invalid_bucket_name(name: str) -> ServiceError:
    """The error for a name that no bucket can have."""
    return ServiceError(
        "InvalidBucketName", "The specified bucket is not valid.", http_status=400, members={"BucketName": name}
    )
