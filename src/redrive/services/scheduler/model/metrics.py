"""The metrics of EventBridge Scheduler, per schedule group and per account.

Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/monitoring-cloudwatch.html
"""

from __future__ import annotations

import functools

from redrive.core.retry import Failed, FailureKind, Outcome
from redrive.core.scope import Scope
from redrive.store.tables.metrics import Series, SeriesGroup, Watched, dimensions_text

NAMESPACE = "AWS/Scheduler"

ATTEMPTS = "InvocationAttemptCount"
THROTTLED = "InvocationThrottleCount"
TARGET_ERRORS = "TargetErrorCount"
TARGET_THROTTLES = "TargetErrorThrottledCount"
DROPPED = "InvocationDroppedCount"
DEAD_LETTERED = "InvocationsSentToDeadLetterCount"
DEAD_LETTERED_TRUNCATED = f"{DEAD_LETTERED}_Truncated_MessageSizeExceeded"
DEAD_LETTER_FAILED = "InvocationsFailedToBeSentToDeadLetterCount"


@functools.lru_cache(maxsize=4_096)
def series_of(scope: Scope, group_name: str, *names: str) -> SeriesGroup:
    """Return two series for each of these metrics: one of the group, and one of the account without a dimension."""
    group = Watched(str(scope), NAMESPACE, dimensions_text({"ScheduleGroup": group_name}))
    account = Watched(str(scope), NAMESPACE, dimensions_text({}))
    return SeriesGroup(*(Series(watched, name, "Count") for name in names for watched in (group, account)))


def of_attempt(outcome: Outcome) -> tuple[str, ...]:
    """Return the metrics that count this attempt."""
    match outcome:
        case Failed(kind=FailureKind.THROTTLED):
            return (ATTEMPTS, TARGET_ERRORS, TARGET_THROTTLES)
        case Failed():
            return (ATTEMPTS, TARGET_ERRORS)
        case _:
            return (ATTEMPTS,)
