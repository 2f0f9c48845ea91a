"""Log groups and log streams: their stored form, their ARNs, and their form in answers."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import DAY_MS, Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.services.logs import limits

RESERVED_PREFIX = "aws/"


class GroupClass(enum.Enum):
    """The class of a log group, which decides its price and features on AWS."""

    STANDARD = "STANDARD"
    INFREQUENT_ACCESS = "INFREQUENT_ACCESS"
    DELIVERY = "DELIVERY"
    ESSENTIALS = "ESSENTIALS"


@dataclass(frozen=True, slots=True)
class LogGroup:
    """A log group. `id` distinguishes it from an earlier group of the same name."""

    KIND: ClassVar[str] = "log-group"
    IS_STATE: ClassVar[bool] = True

    name: str
    id: str
    created_at: Instant
    group_class: GroupClass = GroupClass.STANDARD
    retention_days: int | None = None
    kms_key_id: str | None = None
    is_protected: bool = False
    stored_bytes: int = 0
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def kept_days(self) -> int | None:
        """How many days events are kept, None for ever. Delivery groups always keep events for one day."""
        return limits.DELIVERY_RETENTION_DAYS if self.group_class is GroupClass.DELIVERY else self.retention_days

    def kept_since(self, now: Instant) -> Instant:
        """Return the instant before which events have expired."""
        return 0 if self.kept_days is None else now - self.kept_days * DAY_MS

    def arn(self, scope: Scope) -> str:
        """The ARN without `:*`."""
        return group_arn(scope, self.name)

    def described(self, scope: Scope) -> Document:
        """The group as DescribeLogGroups shows it."""
        return {
            "logGroupName": self.name,
            "creationTime": self.created_at,
            "retentionInDays": self.kept_days,
            "metricFilterCount": 0,
            "arn": f"{self.arn(scope)}:*",
            "logGroupArn": self.arn(scope),
            "storedBytes": self.stored_bytes,
            "kmsKeyId": self.kms_key_id,
            "logGroupClass": self.group_class.value,
            "deletionProtectionEnabled": self.is_protected,
        }

    def described_briefly(self, scope: Scope) -> Document:
        """The group as DescribeLogGroups shows it for a search by pattern."""
        return {"logGroupName": self.name, "creationTime": self.created_at, "arn": f"{self.arn(scope)}:*"}


@dataclass(frozen=True, slots=True)
class LogStream:
    """A log stream. Its resource name begins with its group's id, so that a group's streams sort together."""

    KIND: ClassVar[str] = "log-stream"
    IS_STATE: ClassVar[bool] = True

    group_id: str
    stream_name: str
    created_at: Instant
    first_event_at: Instant | None = None
    last_event_at: Instant | None = None
    ingested_at: Instant | None = None
    stored_bytes: int = 0
    uploads: int = 0

    @property
    def name(self) -> str:
        return stream_key(self.group_id, self.stream_name)

    @property
    def sequence_token(self) -> str | None:
        """A token that changes with each upload. Like AWS, we return it but never check it."""
        return self.next_token if self.uploads else None

    @property
    def next_token(self) -> str:
        """The token that PutLogEvents returns, also if it accepted no event."""
        return f"{self.uploads:056d}"

    def described(self, arn_of_group: str) -> Document:
        """The stream as DescribeLogStreams shows it. Since 2019, AWS reports zero stored bytes for streams."""
        return {
            "logStreamName": self.stream_name,
            "creationTime": self.created_at,
            "firstEventTimestamp": self.first_event_at,
            "lastEventTimestamp": self.last_event_at,
            "lastIngestionTime": self.ingested_at,
            "uploadSequenceToken": self.sequence_token,
            "arn": f"{arn_of_group}:log-stream:{self.stream_name}",
            "storedBytes": 0,
        }


def stream_key(group_id: str, stream_name: str) -> str:
    """Return the resource name of a stream."""
    return f"{group_id}/{stream_name}"


def group_arn(scope: Scope, name: str) -> str:
    """Return the ARN of a log group, without `:*`."""
    return f"arn:aws:logs:{scope.region}:{scope.account}:log-group:{name}"


def policy_arn(scope: Scope, group_name: str, stream_name: str = "") -> str:
    """Return the ARN for policies on a group or one of its streams; the pattern `…:log-group:NAME:*` matches it."""
    return f"{group_arn(scope, group_name)}:log-stream:{stream_name}"


def group_name_of(scope: Scope, name: str | None, identifier: str | None) -> str:
    """Return the group's name from a call, which has a name, or an identifier that may be an ARN.

    Errors: InvalidParameterException; ResourceNotFoundException.
    """
    if name is not None and identifier is not None:
        raise invalid_parameter("LogGroup name and LogGroup ARN are mutually exclusive parameters.")
    if name is not None:
        return name
    if identifier is None:
        raise invalid_parameter("Either LogGroup name or LogGroup identifier must be specified.")
    if not identifier.startswith("arn:"):
        return identifier
    return group_name_of_arn(scope, identifier)


def group_name_of_arn(scope: Scope, arn: str) -> str:
    """Return the group's name from an ARN.

    Errors: InvalidParameterException; ResourceNotFoundException for another account's group.
    """
    head, separator, name = arn.partition(":log-group:")
    if not separator or not name or not head.startswith("arn:"):
        raise invalid_parameter(f"Invalid log group ARN: {arn}")
    if group_arn(scope, name) != arn:
        raise no_such_group()
    return name


def check_tags(tags: Mapping[str, str]) -> None:
    """Refuse tags whose keys are reserved for AWS. Errors: InvalidParameterException."""
    for key in tags:
        if key.lower().startswith("aws:"):
            raise invalid_parameter(f"Tag key {key} is reserved: keys that begin with aws: belong to AWS.")


def invalid_parameter(message: str) -> ServiceError:
    """Build the error for an invalid parameter."""
    return ServiceError("InvalidParameterException", message)


def no_such_group() -> ServiceError:
    """Build the error for a group that does not exist."""
    return ServiceError("ResourceNotFoundException", "The specified log group does not exist.")


def no_such_stream() -> ServiceError:
    """Build the error for a stream that does not exist."""
    return ServiceError("ResourceNotFoundException", "The specified log stream does not exist.")
