"""The metrics of EventBridge: per rule, per bus, per source of events, and per account.

A rule of the default bus has the dimension `RuleName`; a rule of another bus has `EventBusName`, too.
Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-monitoring.html
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from redrive.core.scope import Scope
from redrive.services.events.model.bus import DEFAULT_BUS
from redrive.services.events.model.rule import name_of_arn
from redrive.store.tables.metrics import Series, SeriesGroup, Watched, dimensions_text

NAMESPACE = "AWS/Events"
SERIES_KEPT = 8_192

MATCHED = "MatchedEvents"
TRIGGERED = "TriggeredRules"
CREATED = "InvocationsCreated"
ATTEMPTS = "InvocationAttempts"
SUCCESSFUL_ATTEMPTS = "SuccessfulInvocationAttempts"
RETRIES = "RetryInvocationAttempts"
THROTTLED = "ThrottledRules"
INVOCATIONS = "Invocations"
FAILED = "FailedInvocations"
LOOPED = "DeadLetterInvocations"
DEAD_LETTERED = "InvocationsSentToDlq"
DEAD_LETTER_FAILED = "InvocationsFailedToBeSentToDlq"
START_LATENCY = "IngestionToInvocationStartLatency"
COMPLETE_LATENCY = "IngestionToInvocationCompleteLatency"
SUCCESS_LATENCY = "IngestionToInvocationSuccessLatency"

CALLS = "PutEventsApproximateCallCount"
CALLS_SUCCEEDED = "PutEventsApproximateSuccessCount"
CALLS_FAILED = "PutEventsApproximateFailedCount"
ENTRIES = "PutEventsEntriesCount"
ENTRIES_FAILED = "PutEventsFailedEntriesCount"
REQUEST_BYTES = "PutEventsRequestSize"

DELIVERED_AT_ONCE = (ATTEMPTS, SUCCESSFUL_ATTEMPTS, INVOCATIONS)
LATENCIES_AT_ONCE = (START_LATENCY, COMPLETE_LATENCY, SUCCESS_LATENCY)
"""What a delivery counts whose first attempt succeeds: once each, and how long it took."""

_ACCOUNT, _BUS, _RULE, _EVENT_SOURCE = "account", "bus", "rule", "event source"
_EVERYWHERE = (_ACCOUNT, _BUS, _RULE)

_COUNTED_FOR: Mapping[str, tuple[str, ...]] = {
    MATCHED: (_ACCOUNT, _BUS, _EVENT_SOURCE),
    TRIGGERED: _EVERYWHERE,
    CREATED: (_ACCOUNT,),
    ATTEMPTS: _EVERYWHERE,
    SUCCESSFUL_ATTEMPTS: _EVERYWHERE,
    RETRIES: _EVERYWHERE,
    THROTTLED: (_ACCOUNT, _RULE),
    INVOCATIONS: (_ACCOUNT, _RULE),
    FAILED: (_RULE,),
    LOOPED: (_RULE,),
    DEAD_LETTERED: (_ACCOUNT, _RULE),
    DEAD_LETTER_FAILED: (_ACCOUNT, _RULE),
    START_LATENCY: _EVERYWHERE,
    COMPLETE_LATENCY: _EVERYWHERE,
    SUCCESS_LATENCY: _EVERYWHERE,
    CALLS: (_ACCOUNT,),
    CALLS_SUCCEEDED: (_ACCOUNT,),
    CALLS_FAILED: (_ACCOUNT,),
    ENTRIES: (_ACCOUNT,),
    ENTRIES_FAILED: (_ACCOUNT,),
    REQUEST_BYTES: (_ACCOUNT,),
}
_UNITS: Mapping[str, str] = {
    START_LATENCY: "Milliseconds", COMPLETE_LATENCY: "Milliseconds", SUCCESS_LATENCY: "Milliseconds",
    REQUEST_BYTES: "Bytes",
}  # fmt: skip


@functools.lru_cache(maxsize=SERIES_KEPT)
def of_rule(scope: Scope, bus_name: str, rule_name: str, *names: str) -> SeriesGroup:
    """Return the series of these metrics for a rule, its bus and its account, as far as AWS has them."""
    named = {"RuleName": rule_name} if bus_name == DEFAULT_BUS else {"EventBusName": bus_name, "RuleName": rule_name}
    return _group(scope, names, {_ACCOUNT: {}, _BUS: {"EventBusName": bus_name}, _RULE: named})


@functools.lru_cache(maxsize=SERIES_KEPT)
def of_rule_arn(scope: Scope, rule_arn: str, *names: str) -> SeriesGroup:
    """Return the same for the rule with this ARN."""
    bus_name, _, rule_name = name_of_arn(rule_arn).rpartition("/")
    return of_rule(scope, bus_name, rule_name, *names)


@functools.lru_cache(maxsize=SERIES_KEPT)
def of_bus(scope: Scope, bus_name: str, event_source: str, *names: str) -> SeriesGroup:
    """Return the series of these metrics for a bus, a source of events, and the account."""
    dimensions = {_ACCOUNT: {}, _BUS: {"EventBusName": bus_name}, _EVENT_SOURCE: {"EventSourceName": event_source}}
    return _group(scope, names, dimensions)


@functools.lru_cache(maxsize=SERIES_KEPT)
def of_account(scope: Scope, *names: str) -> SeriesGroup:
    """Return the series of these metrics for the account alone."""
    return _group(scope, names, {_ACCOUNT: {}})


def _group(scope: Scope, names: tuple[str, ...], dimensions: Mapping[str, Mapping[str, str]]) -> SeriesGroup:
    watched = {
        level: Watched(str(scope), NAMESPACE, dimensions_text(of_level)) for level, of_level in dimensions.items()
    }
    return SeriesGroup(
        *(
            Series(watched[level], name, _UNITS.get(name, "Count"))
            for name in names
            for level in _COUNTED_FOR[name]
            if level in watched
        )
    )
