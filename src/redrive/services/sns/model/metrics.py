"""The metrics of topics.

Source: https://docs.aws.amazon.com/sns/latest/dg/sns-monitoring-using-cloudwatch.html
"""

from __future__ import annotations

import functools

from redrive.core.scope import Scope
from redrive.services.sns.model.topic import scope_of
from redrive.store.tables.metrics import Series, Watched, dimensions_text

NAMESPACE = "AWS/SNS"

PUBLISHED = "NumberOfMessagesPublished"
SIZE = "PublishSize"
DELIVERED = "NumberOfNotificationsDelivered"
FAILED = "NumberOfNotificationsFailed"
FILTERED = "NumberOfNotificationsFilteredOut"
FILTERED_ATTRIBUTES = "NumberOfNotificationsFilteredOut-MessageAttributes"
FILTERED_BODY = "NumberOfNotificationsFilteredOut-MessageBody"
FILTERED_NO_ATTRIBUTES = "NumberOfNotificationsFilteredOut-NoMessageAttributes"
FILTERED_INVALID_BODY = "NumberOfNotificationsFilteredOut-InvalidMessageBody"
REDRIVEN = "NumberOfNotificationsRedrivenToDlq"
NOT_REDRIVEN = "NumberOfNotificationsFailedToRedriveToDlq"


@functools.lru_cache(maxsize=8_192)
def series_of(topic_arn: str, name: str) -> Series:
    """The series of a metric of a topic."""
    scope: Scope = scope_of(topic_arn)
    topic = Watched(str(scope), NAMESPACE, dimensions_text({"TopicName": topic_arn.rpartition(":")[2]}))
    return Series(topic, name, "Bytes" if name == SIZE else "Count")
