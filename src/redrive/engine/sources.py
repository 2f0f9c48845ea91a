"""The sources of deliveries besides Lambda. A source's module is imported with the first of its deliveries.

A test compares the names here with those of the sources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from redrive.delivery.sources.source import Source
from redrive.engine.settings import Settings


def late_sources(settings: Settings) -> Mapping[str, Callable[[], Source]]:
    """What makes each source, by its name."""
    return {
        # In alphabetical order.
        "cloudwatch": _alarms,
        "dynamodb": _streaming_destinations,
        "events": _rules,
        "logs.subscription": _log_subscriptions,
        "s3": _buckets,
        "scheduler": lambda: _schedules(settings),
        "sns": _topics,
        "stepfunctions": _state_machines,
    }


def _alarms() -> Source:
    from redrive.services.cloudwatch.source import CloudWatchSource

    return CloudWatchSource()


def _streaming_destinations() -> Source:
    from redrive.services.dynamodb.destinations import DestinationSource

    return DestinationSource()


def _rules() -> Source:
    from redrive.services.events.api_calls import ApiCalls
    from redrive.services.events.source import EventsSource

    return EventsSource(ApiCalls())


def _log_subscriptions() -> Source:
    from redrive.services.logs.subscriptions import SubscriptionSource

    return SubscriptionSource()


def _buckets() -> Source:
    from redrive.services.s3.source import S3Source

    return S3Source()


def _schedules(settings: Settings) -> Source:
    from redrive.services.scheduler.source import SchedulerSource

    return SchedulerSource(settings.execution_ids)


def _topics() -> Source:
    from redrive.services.sns.source import SnsSource

    return SnsSource()


def _state_machines() -> Source:
    from redrive.services.stepfunctions.source import StatesSource

    return StatesSource()
