"""Mappings from queues and streams to functions: their stored form, and that in answers. No transaction, no clock."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, field
from typing import ClassVar, TypedDict

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.services.lambda_.limits import (
    BATCH_SIZE_DEFAULT,
    POLLERS_MAX_DEFAULT,
    POLLERS_MIN,
    WINDOW_VISIBILITY_MARGIN_S,
)
from redrive.services.lambda_.model.filters import filters_document
from redrive.services.lambda_.model.function import invalid_parameter
from redrive.services.lambda_.model.stream_settings import StreamSettings, settings_document, stream_arn_of

REPORT_BATCH_ITEM_FAILURES = "ReportBatchItemFailures"
FIFO_SUFFIX = ".fifo"


@dataclass(frozen=True, slots=True)
class EventSourceMapping:
    """A mapping that sends the messages of a queue, or the records of a stream, to a function, in batches.

    `name` is the UUID. `function_arn` has a qualifier if the mapping was created with one. `last_result` is empty until
    the first batch. `filters` are patterns, one of which an item has to match. Mappings from streams have `stream`.
    """

    KIND: ClassVar[str] = "lambda.event_source_mapping"

    name: str
    arn: str
    source_arn: str
    function_name: str
    function_arn: str
    modified_at: Instant
    enabled: bool = True
    batch_size: int = BATCH_SIZE_DEFAULT
    window_s: int = 0
    concurrency_max: int | None = None
    reports_failures: bool = False
    metrics: tuple[str, ...] = ()
    kms_key_arn: str = ""
    tags: MappingOf[str, str] = field(default_factory=dict)
    last_result: str = ""
    filters: tuple[str, ...] = ()
    pollers_min: int | None = None
    pollers_max: int | None = None
    stream: StreamSettings | None = None

    @property
    def is_fifo(self) -> bool:
        """Whether the source is a FIFO queue."""
        return self.source_arn.endswith(FIFO_SUFFIX)

    @property
    def read_arn(self) -> str:
        """The ARN of the queue or the stream that is read: a consumer's is that of its stream."""
        return self.source_arn if self.stream is None else stream_arn_of(self.source_arn)

    @property
    def service(self) -> str:
        """The service of the source: `sqs`, `kinesis`, `dynamodb`."""
        return self.source_arn.split(":")[2]


def mapping_arn(region: str, account: str, uuid: str) -> str:
    """The ARN of a mapping."""
    return f"arn:aws:lambda:{region}:{account}:event-source-mapping:{uuid}"


class Pollers(TypedDict):
    """Provisioned pollers, as fields of a mapping."""

    pollers_min: int | None
    pollers_max: int | None


def read_pollers(config: Document | None) -> Pollers:
    """The pollers of a ProvisionedPollerConfig; an empty one removes them.

    Errors: InvalidParameterValueException (fewer than two, or more at least than at most).
    """
    if not config:
        return Pollers(pollers_min=None, pollers_max=None)
    least = config.get("MinimumPollers") or POLLERS_MIN
    most = config.get("MaximumPollers") or max(POLLERS_MAX_DEFAULT, least)
    if not POLLERS_MIN <= least <= most:
        raise invalid_parameter(
            f"MinimumPollers must be at least {POLLERS_MIN}, and at most MaximumPollers: {least} and {most} were given."
        )
    return Pollers(pollers_min=least, pollers_max=most)


def effective_visibility_s(*, visibility_s: int, window_s: int, timeout_s: int) -> int | None:
    """Return the visibility timeout that a batch needs, in seconds; None if the queue's own timeout is long enough.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
    """
    needed = window_s + timeout_s
    return needed + WINDOW_VISIBILITY_MARGIN_S if needed > visibility_s else None


def mapping_document(mapping: EventSourceMapping, *, state: str | None = None) -> Document:
    """A mapping in AWS's form; `state` is the temporary state in the answer to a change.

    Source: https://docs.aws.amazon.com/lambda/latest/api/API_EventSourceMappingConfiguration.html
    """
    document: Document = {
        "UUID": mapping.name,
        "BatchSize": mapping.batch_size,
        "MaximumBatchingWindowInSeconds": mapping.window_s,
        "EventSourceArn": mapping.source_arn,
        "FunctionArn": mapping.function_arn,
        "LastModified": mapping.modified_at,
        "State": state or ("Enabled" if mapping.enabled else "Disabled"),
        "StateTransitionReason": "USER_INITIATED" if mapping.stream is None else "User action",
        "FunctionResponseTypes": [REPORT_BATCH_ITEM_FAILURES] if mapping.reports_failures else [],
        "EventSourceMappingArn": mapping.arn,
    }
    if mapping.stream is not None:
        document.update(settings_document(mapping.stream))
        document["LastProcessingResult"] = "No records processed"
    if mapping.filters:
        document["FilterCriteria"] = filters_document(mapping.filters)
    if mapping.pollers_min is not None:
        document["ProvisionedPollerConfig"] = {
            "MinimumPollers": mapping.pollers_min, "MaximumPollers": mapping.pollers_max,
        }  # fmt: skip
    if mapping.concurrency_max is not None:
        document["ScalingConfig"] = {"MaximumConcurrency": mapping.concurrency_max}
    if mapping.metrics:
        document["MetricsConfig"] = {"Metrics": list(mapping.metrics)}
    if mapping.kms_key_arn:
        document["KMSKeyArn"] = mapping.kms_key_arn
    if mapping.last_result:
        document["LastProcessingResult"] = mapping.last_result
    return document
