"""The metrics of functions: per function, per qualified name of a function, and per account.

`OffsetLag` is missing: AWS has it for mappings from Kafka, which are not here.
Source: https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
"""

from __future__ import annotations

import functools

from redrive.core.arn import Arn
from redrive.core.scope import Scope
from redrive.store.tables.metrics import Series, Watched, dimensions_text

NAMESPACE = "AWS/Lambda"

INVOCATIONS = "Invocations"
ERRORS = "Errors"
THROTTLES = "Throttles"
DURATION = "Duration"
CONCURRENT = "ConcurrentExecutions"
UNRESERVED = "UnreservedConcurrentExecutions"
PROVISIONED = "ProvisionedConcurrentExecutions"
PROVISIONED_INVOCATIONS = "ProvisionedConcurrencyInvocations"
PROVISIONED_SPILLOVER = "ProvisionedConcurrencySpilloverInvocations"
PROVISIONED_USE = "ProvisionedConcurrencyUtilization"
RECURSIVE_DROPPED = "RecursiveInvocationsDropped"
EVENTS_RECEIVED = "AsyncEventsReceived"
EVENT_AGE = "AsyncEventAge"
EVENTS_DROPPED = "AsyncEventsDropped"
DEAD_LETTER_ERRORS = "DeadLetterErrors"
DESTINATION_FAILURES = "DestinationDeliveryFailures"
ITERATOR_AGE = "IteratorAge"

URL_REQUESTS = "UrlRequestCount"
URL_4XX = "Url4xxCount"
URL_5XX = "Url5xxCount"
URL_LATENCY = "UrlRequestLatency"

_IN_MILLISECONDS = frozenset({DURATION, EVENT_AGE, ITERATOR_AGE, URL_LATENCY})


@functools.lru_cache(maxsize=4_096)
def series_of(function_arn: str, name: str) -> tuple[Series, ...]:
    """Return the series of a function's metric; the ARN may have a version or an alias."""
    arn = Arn.parse(function_arn)
    scope = Scope(arn.account, arn.region)
    resource = arn.resource.removeprefix("function:")
    function = resource.partition(":")[0]
    unit = "Milliseconds" if name in _IN_MILLISECONDS else "Count"
    named = {"FunctionName": function, "Resource": resource}
    about = (dimensions_text(named), dimensions_text({"FunctionName": function}), dimensions_text({}))
    return tuple(Series(Watched(str(scope), NAMESPACE, dimensions), name, unit) for dimensions in about)


@functools.lru_cache(maxsize=4_096)
def series_of_version(function_arn: str, executed_version: str, name: str) -> Series:
    """Return the series of one version among the runs of an alias."""
    whole = series_of(function_arn, name)[0]
    arn = Arn.parse(function_arn)
    resource = arn.resource.removeprefix("function:")
    named = {
        "FunctionName": resource.partition(":")[0], "Resource": resource, "ExecutedVersion": executed_version,
    }  # fmt: skip
    return Series(Watched(whole.watched.scope, NAMESPACE, dimensions_text(named)), name, whole.unit)
