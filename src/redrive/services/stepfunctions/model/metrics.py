"""The metrics of Step Functions: of machines, and of what tasks call.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/procedure-cw-metrics.html
"""

from __future__ import annotations

import functools

from redrive.core.scope import Scope
from redrive.services.stepfunctions.model.progress import ABORTED, FAILED, SUCCEEDED, TIMED_OUT
from redrive.services.stepfunctions.model.resources import Kind, read_resource
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


@functools.lru_cache(maxsize=4_096)
def series_of_task(scope: Scope, resource: str, name: str) -> SeriesGroup:
    """The series of a metric of what tasks call; `name` is the end of AWS's name: `Started`, `RunTime`."""
    found = read_resource(resource)
    assert found is not None, "a task that was scheduled has a resource"
    one, many, dimension = _OF_KIND.get(found.kind, _OF_INTEGRATION)
    is_time = name.endswith("Time")
    watched = Watched(str(scope), NAMESPACE, dimensions_text({dimension: resource}))
    return SeriesGroup(Series(watched, (one if is_time else many) + name, "Milliseconds" if is_time else "Count"))


_OF_INTEGRATION = ("ServiceIntegration", "ServiceIntegrations", "ServiceIntegrationResourceArn")
_OF_KIND = {
    Kind.ACTIVITY: ("Activity", "Activities", "ActivityArn"),
    Kind.FUNCTION: ("LambdaFunction", "LambdaFunctions", "LambdaFunctionArn"),
}
