"""The operations on the notification configuration of a bucket; two of them have AWS's older form of the document."""

from __future__ import annotations

import base64
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.limits import Limits
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.s3.access import bucket_of
from redrive.services.s3.destinations import try_destinations
from redrive.services.s3.model.bucket import BUCKETS, Bucket
from redrive.services.s3.model.notification import KINDS, SETTING, Kind, destinations_of
from redrive.services.s3.model.notification_checks import checked
from redrive.store.api import Transaction


@operation("PutBucketNotificationConfiguration")
def put_bucket_notification_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, notification_configuration: Document,
    expected_bucket_owner: str | None = None, skip_destination_validation: bool | None = None,
) -> Document:  # fmt: skip
    """Replace the notification configuration of a bucket; an empty one ends all notifications.

    Each queue and topic gets a test event, unless the validation of destinations is left out.

    Errors: NoSuchBucket; AccessDenied; MalformedXML; InvalidArgument (a filter, an ARN, an overlap, a destination).
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketNotificationConfiguration.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutBucketNotification", expected_owner=expected_bucket_owner)
    _put(tx, caller, found, notification_configuration, is_checked=not skip_destination_validation)
    return {}


@operation("GetBucketNotificationConfiguration")
def get_bucket_notification_configuration(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:  # fmt: skip
    """Return the notification configuration of a bucket; empty if it has none.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketNotificationConfiguration.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetBucketNotification", expected_owner=expected_bucket_owner)
    return dict(found.settings.get(SETTING, {}))


@operation("PutBucketNotification")
def put_bucket_notification(
    tx: Transaction, caller: Caller, *, bucket: str, notification_configuration: Document,
    content_md5: str | None = None, checksum_algorithm: str | None = None,  # noqa: ARG001 - checked by the wire.
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Replace the notification configuration, in the older form: one destination of each kind at most.

    Errors: as PutBucketNotificationConfiguration.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketNotification.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutBucketNotification", expected_owner=expected_bucket_owner)
    given: Document = {}
    for kind in KINDS:
        one = notification_configuration.get(f"{kind.element}Configuration")
        if one is not None:
            given[kind.list] = [_from_older(kind, one)]
    _put(tx, caller, found, given, is_checked=True)
    return {}


@operation("GetBucketNotification")
def get_bucket_notification(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:  # fmt: skip
    """Return the notification configuration in the older form: the first destination of each kind.

    Errors: NoSuchBucket; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketNotification.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetBucketNotification", expected_owner=expected_bucket_owner)
    configuration = found.settings.get(SETTING, {})
    return {
        f"{kind.element}Configuration": _to_older(kind, configuration[kind.list][0])
        for kind in KINDS
        if configuration.get(kind.list)
    }


def _put(tx: Transaction, caller: Caller, bucket: Bucket, given: Document, *, is_checked: bool) -> None:
    stored = checked(
        given, region=bucket.region, new_id=lambda: base64.b64encode(new_uuid(tx.entropy).encode()).decode(),
        has_limits=tx.services.limits is Limits.STRICT,
    )  # fmt: skip
    if is_checked:
        try_destinations(tx, caller, bucket, destinations_of(stored))
    settings = {name: value for name, value in bucket.settings.items() if name != SETTING}
    if stored:
        settings[SETTING] = stored
    tx.resources.put(BUCKETS, replace(bucket, settings=settings))


def _from_older(kind: Kind, one: Document) -> Document:
    events = list(one.get("Events") or ()) or ([one["Event"]] if one.get("Event") else [])
    made: Document = {"Events": events}
    if one.get("Id"):
        made["Id"] = one["Id"]
    if one.get(kind.element):
        made[kind.arn] = one[kind.element]
    return made


def _to_older(kind: Kind, one: Document) -> Document:
    return {"Id": one["Id"], "Event": one["Events"][-1], "Events": one["Events"], kind.element: one[kind.arn]}
