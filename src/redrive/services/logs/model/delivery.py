"""Deliveries of vended logs, as they are stored: which resource's logs go where.

A source is a resource that writes logs of one type, a destination is where logs can go. A delivery connects the two.
Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/AWS-logs-and-resource-policy.html
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope

PRINCIPAL = "delivery.logs.amazonaws.com"
"""Who writes vended logs, as resource policies name it."""

POLICY_NAME = "AWSLogDeliveryWrite20150319"
"""The policy that CreateDelivery writes for those who have none."""

_ARN_PARTS = 6

_LOG_TYPES: Mapping[str, frozenset[str]] = {"events": frozenset({"ERROR_LOGS", "INFO_LOGS", "TRACE_LOGS"})}
"""The types of logs of the services whose logs are really written here. Other services' sources are only stored."""


class DestinationType(enum.Enum):
    """Where logs can go. Here only log groups get any: the other services do not exist."""

    CWL = "CWL"
    S3 = "S3"
    FH = "FH"
    XRAY = "XRAY"


_TYPE_OF_SERVICE = {"logs": DestinationType.CWL, "s3": DestinationType.S3, "firehose": DestinationType.FH}


@dataclass(frozen=True, slots=True)
class DeliverySource:
    """A resource that writes logs of one type."""

    KIND: ClassVar[str] = "logs.delivery_source"

    name: str
    resource_arn: str
    log_type: str
    configuration: Document | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    def arn(self, scope: Scope) -> str:
        """The source's ARN."""
        return source_arn(scope, self.name)

    def described(self, scope: Scope) -> Document:
        """The source as AWS shows it."""
        return {
            "name": self.name, "arn": self.arn(scope), "resourceArns": [self.resource_arn],
            "service": service_of(self.resource_arn), "logType": self.log_type,
            **({"tags": dict(self.tags)} if self.tags else {}),
            **({"deliverySourceConfiguration": self.configuration} if self.configuration else {}),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeliveryDestination:
    """A log group, bucket or stream to which logs can go; `resource_arn` is empty for X-Ray."""

    KIND: ClassVar[str] = "logs.delivery_destination"

    name: str
    type: DestinationType
    resource_arn: str = ""
    output_format: str | None = None
    role_arn: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    def arn(self, scope: Scope) -> str:
        """The destination's ARN."""
        return destination_arn(scope, self.name)

    def described(self, scope: Scope) -> Document:
        """The destination as AWS shows it."""
        configured = {"destinationResourceArn": self.resource_arn} if self.resource_arn else None
        return {
            "name": self.name, "arn": self.arn(scope), "deliveryDestinationType": self.type.value,
            **({"outputFormat": self.output_format} if self.output_format else {}),
            **({"roleArn": self.role_arn} if self.role_arn else {}),
            **({"deliveryDestinationConfiguration": configured} if configured else {}),
            **({"tags": dict(self.tags)} if self.tags else {}),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class LogDelivery:
    """A source whose logs go to a destination. `settings` are the members that are only shown.

    What a log needs on its way is kept here as well, so that nothing else is read for it.
    """

    KIND: ClassVar[str] = "logs.delivery"

    id: str
    source_name: str
    destination_name: str
    type: DestinationType
    resource_arn: str
    log_type: str
    group_name: str = ""
    record_fields: tuple[str, ...] = ()
    settings: Document = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The delivery's id."""
        return self.id

    def arn(self, scope: Scope) -> str:
        """The delivery's ARN."""
        return delivery_arn(scope, self.id)

    def described(self, scope: Scope) -> Document:
        """The delivery as AWS shows it."""
        return {
            "id": self.id, "arn": self.arn(scope), "deliverySourceName": self.source_name,
            "deliveryDestinationArn": destination_arn(scope, self.destination_name),
            "deliveryDestinationType": self.type.value,
            **({"recordFields": list(self.record_fields)} if self.record_fields else {}),
            **self.settings, **({"tags": dict(self.tags)} if self.tags else {}),
        }  # fmt: skip


def source_arn(scope: Scope, name: str) -> str:
    """The ARN of a delivery source."""
    return f"arn:aws:logs:{scope.region}:{scope.account}:delivery-source:{name}"


def destination_arn(scope: Scope, name: str) -> str:
    """The ARN of a delivery destination."""
    return f"arn:aws:logs:{scope.region}:{scope.account}:delivery-destination:{name}"


def delivery_arn(scope: Scope, id: str) -> str:
    """The ARN of a delivery."""
    return f"arn:aws:logs:{scope.region}:{scope.account}:delivery:{id}"


def service_of(arn: str) -> str:
    """The service in an ARN, empty for what is no ARN."""
    parts = arn.split(":", _ARN_PARTS - 1)
    return parts[2] if len(parts) == _ARN_PARTS and parts[0] == "arn" else ""


def check_source(scope: Scope, resource_arn: str, log_type: str) -> None:
    """Refuse a source that cannot be. Errors: ValidationException."""
    service = service_of(resource_arn)
    parts = resource_arn.split(":", _ARN_PARTS - 1)
    if not service or parts[3] not in ("", scope.region) or parts[4] not in ("", scope.account):
        raise invalid(f"{resource_arn} is not the ARN of a resource of this account and Region.")
    if service in _LOG_TYPES and log_type not in _LOG_TYPES[service]:
        raise invalid(f"{log_type} is not a log type of {service}; its types are {', '.join(_LOG_TYPES[service])}.")


def type_of(resource_arn: str, written: str | None) -> DestinationType:
    """The type of a destination: that of its resource, or X-Ray, which has none. Errors: ValidationException."""
    if not resource_arn:
        if written != DestinationType.XRAY.value:
            raise invalid("deliveryDestinationConfiguration is required unless the destination is X-Ray.")
        return DestinationType.XRAY
    found = _TYPE_OF_SERVICE.get(service_of(resource_arn))
    if found is None or written not in (None, found.value):
        raise invalid(f"{resource_arn} is not the ARN of a log group, a bucket or a Firehose stream.")
    return found


def invalid(message: str) -> ServiceError:
    """Build the error for parameters that cannot be."""
    return ServiceError("ValidationException", message)


def conflict(message: str) -> ServiceError:
    """Build the error for what contradicts what is there."""
    return ServiceError("ConflictException", message)


def missing(what: str, name: str) -> ServiceError:
    """Build the error for a source, destination or delivery that does not exist."""
    return ServiceError("ResourceNotFoundException", f"{what} {name} does not exist.")
