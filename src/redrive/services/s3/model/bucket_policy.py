"""Policies of buckets: which are valid.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucket-policies.html
"""

from __future__ import annotations

import json

from redrive.core.errors import ServiceError
from redrive.languages.iam import Policy, PolicyError, PolicyKind, parse_policy
from redrive.services.s3.limits import POLICY_BYTES_MAX
from redrive.services.s3.model.bucket import bucket_arn


def check_policy(policy: str, bucket: str) -> None:
    """Refuse an invalid policy, and one about something else than this bucket. Errors: MalformedPolicy."""
    if len(policy.encode()) > POLICY_BYTES_MAX:
        message = f"Policy exceeds the maximum allowed document size of {POLICY_BYTES_MAX} bytes."
        raise ServiceError("PolicyTooLarge", message, http_status=400)
    if not policy.lstrip().startswith("{"):
        raise _malformed("Policies must be valid JSON and the first byte must be '{'")
    try:
        document = json.loads(policy)
    except (ValueError, RecursionError):
        raise _malformed("Policies must be valid JSON and the first byte must be '{'") from None
    if "Statement" not in document:
        raise _malformed("Missing required field Statement")
    try:
        parsed = parse_policy(policy, PolicyKind.RESOURCE)
    except PolicyError as error:
        invalid = "Invalid principal in policy" if "principal" in error.message else error.message
        raise _malformed(invalid) from None
    _check_subject(parsed, bucket)


def _check_subject(policy: Policy, bucket: str) -> None:
    arn = bucket_arn(bucket)
    for statement in policy.statements:
        for pattern in statement.resources.patterns if statement.resources else ():
            place = pattern.partition("/")[0]
            if place != arn and not _covers(place, arn):
                raise _malformed("Policy has invalid resource")
        for action in statement.actions.patterns:
            if action != "*" and not action.lower().startswith("s3:") and not action.startswith("s3express:"):
                raise _malformed("Policy has invalid action")


def _covers(pattern: str, arn: str) -> bool:
    """Whether a pattern with wildcards may mean this bucket."""
    fixed = pattern.partition("*")[0].partition("?")[0].partition("${")[0]
    return fixed != pattern and arn.startswith(fixed)


def _malformed(message: str) -> ServiceError:
    return ServiceError("MalformedPolicy", message, http_status=400)
