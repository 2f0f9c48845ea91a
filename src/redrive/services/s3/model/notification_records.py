"""What S3 says of an event: the record for queues, topics and functions, and the detail for EventBridge.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html
Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/ev-events.html
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from urllib.parse import quote_plus

from redrive.core.clock import SECOND_MS, Instant, format_instant
from redrive.core.documents import Document, dump_json
from redrive.core.request_ids import host_id
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.happened import Happened

SUBJECT = "Amazon S3 Notification"
"""The subject of what S3 publishes to topics."""
LIFECYCLE = "Lifecycle Expiration"
"""The reason of what a lifecycle rule has deleted: nobody has asked for it then."""

_EMPTY_ETAG = "d41d8cd98f00b204e9800998ecf8427e"
_MARKER = ":DeleteMarkerCreated"

_DETAIL_TYPES: Mapping[str, str] = {
    "ObjectCreated": "Object Created",
    "ObjectRemoved": "Object Deleted",
    "LifecycleExpiration": "Object Deleted",
    "ObjectRestore:Post": "Object Restore Initiated",
    "ObjectRestore:Completed": "Object Restore Completed",
    "ObjectRestore:Delete": "Object Restore Expired",
    "LifecycleTransition": "Object Storage Class Changed",
    "IntelligentTiering": "Object Access Tier Changed",
    "ObjectAcl:Put": "Object ACL Updated",
    "ObjectTagging:Put": "Object Tags Added",
    "ObjectTagging:Delete": "Object Tags Deleted",
}


def customer_id(account: str) -> str:
    """The id of an account as S3's notifications have it: the same for each event of the account."""
    return "A" + base64.b32encode(hashlib.sha256(f"s3:{account}".encode()).digest())[:13].decode()


def encoded_key(key: str) -> str:
    """A key as records have it: as in a form, with `+` for a blank; slashes stay."""
    return quote_plus(key, safe="/")


def record_text(
    bucket: Bucket, happened: Happened, *, at: Instant, configuration_id: str, request_id: str, principal_id: str
) -> str:  # fmt: skip
    """The message about an event, with its one record."""
    by_lifecycle = happened.name.startswith("LifecycleExpiration:")
    record: Document = {
        "eventVersion": _version(happened.name),
        "eventSource": "aws:s3",
        "awsRegion": bucket.region,
        "eventTime": _time(at),
        "eventName": happened.name,
        "userIdentity": {"principalId": principal_id},
        "requestParameters": {"sourceIPAddress": "s3.amazonaws.com" if by_lifecycle else happened.source_ip},
        "responseElements": {"x-amz-request-id": request_id, "x-amz-id-2": host_id(request_id)},
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": configuration_id,
            "bucket": {
                "name": bucket.name,
                "ownerIdentity": {"principalId": customer_id(bucket.account)},
                "arn": bucket.arn,
            },
            "object": _object(happened),
        },
    }
    return dump_json({"Records": [record]})


def trial_text(bucket: str, *, at: Instant, request_id: str) -> str:
    """What S3 sends to each queue and topic of a new configuration."""
    return dump_json(
        {
            "Service": "Amazon S3",
            "Event": "s3:TestEvent",
            "Time": _time(at),
            "Bucket": bucket,
            "RequestId": request_id,
            "HostId": host_id(request_id),
        }
    )


def detail_type(name: str) -> str:
    """EventBridge's type for an event; empty if EventBridge is not told of such events."""
    return _DETAIL_TYPES.get(name) or _DETAIL_TYPES.get(name.partition(":")[0], "")


def detail_of(bucket: Bucket, happened: Happened, *, request_id: str, requester: str) -> Document:
    """What EventBridge is told of an event. `requester` is the account."""
    by_lifecycle = happened.reason == LIFECYCLE
    detail: Document = {"version": "0", "bucket": {"name": bucket.name}, "object": _bus_object(happened)}
    detail["request-id"] = request_id
    detail["requester"] = "s3.amazonaws.com" if by_lifecycle else requester
    if not by_lifecycle and happened.name != "ObjectRestore:Completed":
        detail["source-ip-address"] = happened.source_ip
    if happened.reason and detail_type(happened.name) in ("Object Created", "Object Deleted"):
        detail["reason"] = happened.reason
    if detail_type(happened.name) == "Object Deleted":
        is_marker = happened.name.endswith(_MARKER)
        detail["deletion-type"] = "Delete Marker Created" if is_marker else "Permanently Deleted"
    return detail


def _object(happened: Happened) -> Document:
    """The object of a record: each type of event has its own members."""
    name = happened.name
    told: Document = {"key": encoded_key(happened.key)}
    is_created = name.startswith(("ObjectCreated:", "ObjectRestore:"))
    if is_created and happened.size is not None:
        told["size"] = happened.size
    if name.endswith(_MARKER):
        told["eTag"] = happened.etag or _EMPTY_ETAG
    elif happened.etag is not None and not _is_removal(name):
        told["eTag"] = happened.etag
    if happened.version_id:
        told["versionId"] = happened.version_id
    if happened.sequencer is not None and not _is_about_settings(name):
        told["sequencer"] = happened.sequencer
    return told


def _bus_object(happened: Happened) -> Document:
    """The object of a detail."""
    kind = detail_type(happened.name)
    told: Document = {"key": happened.key}
    if kind in ("Object Created", "Object Restore Initiated", "Object Restore Completed"):
        told["size"] = happened.size
    if kind != "Object Deleted" and happened.etag is not None:
        told["etag"] = happened.etag
    if happened.version_id:
        told["version-id"] = happened.version_id
    if kind in ("Object Created", "Object Deleted") and happened.sequencer is not None:
        told["sequencer"] = happened.sequencer
    return told


def _time(at: Instant) -> str:
    """A time with its milliseconds."""
    return f"{format_instant(at)[:-1]}.{at % SECOND_MS:03}Z"


def _version(name: str) -> str:
    """The version of a record's shape. AWS raised it for each kind of event that came later."""
    return "2.3" if _is_about_settings(name) or name.startswith("LifecycleExpiration:") else "2.1"


def _is_removal(name: str) -> bool:
    return name.startswith(("ObjectRemoved:", "LifecycleExpiration:"))


def _is_about_settings(name: str) -> bool:
    return name.startswith(("ObjectTagging:", "ObjectAcl:", "ObjectRetention:", "ObjectAnnotation:"))
