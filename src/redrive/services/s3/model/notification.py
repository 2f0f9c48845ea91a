"""The notification configuration of a bucket: its stored form, and which events it asks for.

Stored is AWS's document with the names of the SDKs, as GetBucketNotificationConfiguration answers it.
Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketNotificationConfiguration.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from redrive.core.documents import Document

SETTING = "NotificationConfiguration"
EVENT_BRIDGE = "EventBridgeConfiguration"


class Kind(NamedTuple):
    """A kind of destination: the list that has its configurations, the member with the ARN, and its name in XML."""

    list: str
    arn: str
    element: str
    service: str


QUEUE = Kind("QueueConfigurations", "QueueArn", "Queue", "sqs")
TOPIC = Kind("TopicConfigurations", "TopicArn", "Topic", "sns")
FUNCTION = Kind("LambdaFunctionConfigurations", "LambdaFunctionArn", "CloudFunction", "lambda")
KINDS = (TOPIC, QUEUE, FUNCTION)
"""In the order of AWS's document."""

_CREATED = ("Put", "Post", "Copy", "CompleteMultipartUpload")
_FAMILIES: Mapping[str, tuple[str, ...]] = {
    "s3:ObjectCreated": _CREATED,
    "s3:ObjectRemoved": ("Delete", "DeleteMarkerCreated"),
    "s3:ObjectRestore": ("Post", "Completed", "Delete"),
    "s3:ObjectTagging": ("Put", "Delete"),
    "s3:ObjectAnnotation": ("Put", "Delete"),
    "s3:LifecycleExpiration": ("Delete", "DeleteMarkerCreated"),
    "s3:Replication": (
        "OperationFailedReplication", "OperationNotTracked", "OperationMissedThreshold",
        "OperationReplicatedAfterThreshold",
    ),
}  # fmt: skip
_ALONE = (
    "s3:ReducedRedundancyLostObject", "s3:LifecycleTransition", "s3:IntelligentTiering", "s3:ObjectAcl:Put",
    "s3:ObjectRetention:Put",
)  # fmt: skip
EVENTS: frozenset[str] = frozenset(
    [*_ALONE, *(f"{family}:{name}" for family, names in _FAMILIES.items() for name in ("*", *names))]
)
"""The event types that a configuration may name."""


@dataclass(frozen=True, slots=True)
class Destination:
    """One configuration: which events of which keys go to which destination."""

    kind: Kind
    id: str
    arn: str
    events: tuple[str, ...]
    prefix: str = ""
    suffix: str = ""

    def wants(self, event: str, key: str) -> bool:
        """Whether an event (`ObjectCreated:Put`) of a key, as the key is and not encoded, goes to the destination."""
        if not key.startswith(self.prefix) or not key.endswith(self.suffix):
            return False
        return any(covers(asked, f"s3:{event}") for asked in self.events)


def covers(asked: str, event: str) -> bool:
    """Whether an event type, perhaps with `*` at its end, has this one among its members."""
    return asked == event or (asked.endswith(":*") and event.startswith(asked[:-1]))


def destinations_of(configuration: Document) -> Iterator[Destination]:
    """The configurations of a document that was checked, in AWS's order."""
    for kind in KINDS:
        for one in configuration.get(kind.list, ()):
            values = filter_values(one)
            yield Destination(
                kind, str(one["Id"]), str(one[kind.arn]), tuple(one["Events"]), values.get("Prefix", ""),
                values.get("Suffix", ""),
            )  # fmt: skip


def filter_rules(configuration: Document) -> list[Document]:
    """The filter rules of one configuration; empty if it has none."""
    key: Document = (configuration.get("Filter") or {}).get("Key") or {}
    return list(key.get("FilterRules") or ())


def filter_values(configuration: Document) -> dict[str, str]:
    """The values of a configuration's filter rules, by their stored names `Prefix` and `Suffix`."""
    return {str(rule["Name"]).capitalize(): str(rule["Value"]) for rule in filter_rules(configuration)}
