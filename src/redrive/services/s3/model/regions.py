"""Regions of buckets: where a bucket is made, and what a caller hears who looks for a bucket in another Region.

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html and
https://docs.aws.amazon.com/AmazonS3/latest/userguide/Redirects.html
"""

from __future__ import annotations

import re

from redrive.core.documents import Document
from redrive.core.errors import ServiceError

FIRST = "us-east-1"
"""The Region that is written as no Region."""

REGION_HEADER = "x-amz-bucket-region"
"""The header of an answer that says where a bucket is, as a member of an error."""

_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-\d")
_OLD_NAMES = {"EU": "eu-west-1"}


def is_region(text: str) -> bool:
    """Whether a text has the form of a Region's name."""
    return _REGION.fullmatch(text) is not None


def region_of_new(configuration: Document | None, caller_region: str) -> str:
    """The Region in which a bucket is made.

    Errors: InvalidLocationConstraint; IllegalLocationConstraintException.
    """
    given = (configuration or {}).get("LocationConstraint") or None
    if given is None:
        if caller_region == FIRST:
            return FIRST
        raise _incompatible("unspecified")
    region = _OLD_NAMES.get(given, str(given))
    if region == FIRST or not is_region(region):
        raise ServiceError(
            "InvalidLocationConstraint",
            "The specified location-constraint is not valid",
            http_status=400,
            members={"LocationConstraint": given},
        )
    # The endpoint of the first Region makes buckets everywhere; the others do so at home.
    if caller_region not in (FIRST, region):
        raise _incompatible(given)
    return region


def _incompatible(constraint: str) -> ServiceError:
    message = (
        f"The {constraint} location constraint is incompatible for the region specific endpoint this request was "
        "sent to."
    )
    return ServiceError("IllegalLocationConstraintException", message, http_status=400)


def wrong_region(bucket: str, region: str, signed_for: str, host: str) -> ServiceError:
    """What a caller hears whose request was signed for another Region than the bucket's.

    An endpoint of one Region redirects for good; an endpoint without a Region, such as a server's own address, says
    which Region it expects in the signature. AWS's SDKs follow both: they sign for the Region in the answer.
    """
    header = {REGION_HEADER: region}
    name = host.partition(":")[0]
    if name.endswith(f"s3.{signed_for}.amazonaws.com") and signed_for != FIRST:
        return ServiceError(
            "PermanentRedirect",
            "The bucket you are attempting to access must be addressed using the specified endpoint. "
            "Please send all future requests to this endpoint.",
            http_status=301,
            members={"Endpoint": f"{bucket}.s3.{region}.amazonaws.com", "Bucket": bucket, "Region": region, **header},
        )
    message = f"The authorization header is malformed; the region '{signed_for}' is wrong; expecting '{region}'"
    return ServiceError("AuthorizationHeaderMalformed", message, http_status=400, members={"Region": region, **header})
