"""The metrics of Step Functions, by machine.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/procedure-cw-metrics.html
"""

from __future__ import annotations

import functools

from redrive.core.scope import Scope
from redrive.services.stepfunctions.model.progress import ABORTED, FAILED, SUCCEEDED, TIMED_OUT
from redrive.store.tables.metrics import Series, SeriesGroup, Watched, dimensions_text

NAMESPACE = "AWS/States"

STARTED = "ExecutionsStarted"
TIME = "ExecutionTime"
OF_STATUS = {
    SUCCEEDED: "ExecutionsSucceeded", FAILED: "ExecutionsFailed", ABORTED: "ExecutionsAborted",
    TIMED_OUT: "ExecutionsTimedOut",
}  # fmt: skip


@functools.lru_cache(maxsize=4_096)
def series_of(scope: Scope, machine_arn: str, name: str) -> SeriesGroup:
    """The series of a metric of a machine."""
    watched = Watched(str(scope), NAMESPACE, dimensions_text({"StateMachineArn": machine_arn}))
    return SeriesGroup(Series(watched, name, "Milliseconds" if name == TIME else "Count"))
