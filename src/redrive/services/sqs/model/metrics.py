"""The metrics of queues and their units.

Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from redrive.core.arn import Arn
from redrive.core.documents import dump_json
from redrive.core.scope import Scope
from redrive.store.tables.metrics import Series, Watched

NAMESPACE = "AWS/SQS"


@dataclass(frozen=True, slots=True)
class QueueMetrics:
    """The metrics of one queue. The first five count events; the others are measured each minute."""

    sent: Series
    sent_bytes: Series
    received: Series
    empty_receives: Series
    deleted: Series
    visible: Series
    in_flight: Series
    delayed: Series
    oldest_age_s: Series


@functools.lru_cache(maxsize=4_096)
def metrics_of(queue_arn: str) -> QueueMetrics:
    """The metrics of the queue with this ARN."""
    arn = Arn.parse(queue_arn)
    queue = Watched(str(Scope(arn.account, arn.region)), NAMESPACE, dump_json({"QueueName": arn.resource}))
    return QueueMetrics(
        sent=Series(queue, "NumberOfMessagesSent", "Count"),
        sent_bytes=Series(queue, "SentMessageSize", "Bytes"),
        received=Series(queue, "NumberOfMessagesReceived", "Count"),
        empty_receives=Series(queue, "NumberOfEmptyReceives", "Count"),
        deleted=Series(queue, "NumberOfMessagesDeleted", "Count"),
        visible=Series(queue, "ApproximateNumberOfMessagesVisible", "Count"),
        in_flight=Series(queue, "ApproximateNumberOfMessagesNotVisible", "Count"),
        delayed=Series(queue, "ApproximateNumberOfMessagesDelayed", "Count"),
        oldest_age_s=Series(queue, "ApproximateAgeOfOldestMessage", "Seconds"),
    )
