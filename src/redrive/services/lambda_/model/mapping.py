"""Mappings from SQS queues to functions: their stored form and their form in answers. No transaction, no clock."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.services.lambda_.limits import BATCH_SIZE_DEFAULT, MAPPING_CONCURRENCY, WINDOW_VISIBILITY_MARGIN_S
from redrive.services.lambda_.model.function import Function

REPORT_BATCH_ITEM_FAILURES = "ReportBatchItemFailures"
FIFO_SUFFIX = ".fifo"


@dataclass(frozen=True, slots=True)
class EventSourceMapping:
    """A mapping that sends the messages of a queue to a function, in batches. `name` is the UUID.

    `function_arn` has a qualifier if the mapping was created with one. `last_result` is empty until the first batch.
    `cursor` is the position in the source, for sources that have positions.
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
    cursor: str = ""

    @property
    def is_fifo(self) -> bool:
        """Whether the source is a FIFO queue."""
        return self.source_arn.endswith(FIFO_SUFFIX)


def mapping_arn(region: str, account: str, uuid: str) -> str:
    """The ARN of a mapping."""
    return f"arn:aws:lambda:{region}:{account}:event-source-mapping:{uuid}"


def concurrency(mapping: EventSourceMapping, function: Function) -> int:
    """How many batches may run at once: the smaller of the mapping's bound and the function's reserved concurrency.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
    """
    most = MAPPING_CONCURRENCY if mapping.concurrency_max is None else mapping.concurrency_max
    return most if function.reserved is None else min(most, function.reserved)


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
        "StateTransitionReason": "USER_INITIATED",
        "FunctionResponseTypes": [REPORT_BATCH_ITEM_FAILURES] if mapping.reports_failures else [],
        "EventSourceMappingArn": mapping.arn,
    }
    if mapping.concurrency_max is not None:
        document["ScalingConfig"] = {"MaximumConcurrency": mapping.concurrency_max}
    if mapping.metrics:
        document["MetricsConfig"] = {"Metrics": list(mapping.metrics)}
    if mapping.kms_key_arn:
        document["KMSKeyArn"] = mapping.kms_key_arn
    if mapping.last_result:
        document["LastProcessingResult"] = mapping.last_result
    return document
