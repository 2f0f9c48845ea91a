"""The steps around each run of a function: assume its role before; write its log lines and metrics after.

Invocations, events and mappings share this module. The function's role writes the logs, so a role without permission
leaves no logs, as on AWS.
"""

from __future__ import annotations

from redrive.core.arn import Arn
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.delivery.sources.roles import RoleSession
from redrive.services.lambda_.model.function import Function
from redrive.services.lambda_.model.metrics import DURATION, ERRORS, INVOCATIONS, THROTTLES, series_of
from redrive.services.lambda_.model.report import LogEvent, log_events, puts
from redrive.store.api import Transaction

PRINCIPAL = "lambda.amazonaws.com"


def assume_function_role(
    tx: Transaction, *, role_arn: str, function_arn: str, function_name: str, request_id: str
) -> Caller:
    """Assume the function's role as Lambda, and return the caller. Errors: ServiceError AccessDenied."""
    session = RoleSession(role_arn, PRINCIPAL, function_name, function_arn)
    return session.caller(tx, Arn.parse(function_arn).region, request_id=request_id)


def function_caller(tx: Transaction, function: Function, request_id: str) -> Caller:
    """Return the caller that acts for a function. Errors: ServiceError AccessDenied."""
    return assume_function_role(
        tx, role_arn=function.role, function_arn=function.arn, function_name=function.name, request_id=request_id
    )


def run_caller(tx: Transaction, ran: Invocation, request_id: str) -> Caller:
    """Return the caller that acts for a run, also if the function has changed or is gone. Errors: as above."""
    return assume_function_role(
        tx, role_arn=ran.role_arn, function_arn=ran.unqualified_arn, function_name=ran.function_name,
        request_id=request_id,
    )  # fmt: skip


def record_run(tx: Transaction, invocation: Invocation, result: InvocationResult) -> None:
    """Count a run that has ended, and write its log lines."""
    _count_run(tx, invocation.function_arn, result)
    _write_logs(tx, invocation, result)


def count(tx: Transaction, function_arn: str, name: str, value: float = 1.0) -> None:
    """Add a value to a function's metric with this AWS name."""
    for series in series_of(function_arn, name):
        tx.metrics.count(series, tx.now, value)


def _count_run(tx: Transaction, function_arn: str, result: InvocationResult) -> None:
    """Count a run as an invocation, unless it was throttled or failed outside of the function.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
    """
    if result.status is InvocationStatus.SERVICE_ERROR:
        return
    is_throttled = result.status is InvocationStatus.THROTTLED
    count(tx, function_arn, THROTTLES, float(is_throttled))
    if not is_throttled:
        count(tx, function_arn, INVOCATIONS)
        count(tx, function_arn, ERRORS, float(result.status is InvocationStatus.FUNCTION_ERROR))
        count(tx, function_arn, DURATION, result.duration_ms)


def _write_logs(tx: Transaction, invocation: Invocation, result: InvocationResult) -> None:
    """Write the lines of a run to its log stream; nothing if it never ran, or its role may not write.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs.html
    """
    if result.status not in (InvocationStatus.OK, InvocationStatus.FUNCTION_ERROR) or not result.log_stream:
        return
    events = log_events(invocation, result, tx.now)
    try:
        caller = run_caller(tx, invocation, invocation.request_id)
        for batch in puts(events):
            _put(tx, caller, invocation.log_group, result.log_stream, batch)
    except ServiceError:
        # The run is over and answered. AWS also drops logs that it may not write.
        return


def _put(tx: Transaction, caller: Caller, group: str, stream: str, events: list[LogEvent]) -> None:
    """Write events; a missing group or stream is created."""
    params: dict[str, object] = {
        "logGroupName": group,
        "logStreamName": stream,
        "logEvents": [{"timestamp": event.at, "message": event.text} for event in events],
    }
    try:
        tx.services.call(tx, caller, "logs", "PutLogEvents", params)
    except ServiceError as error:
        if error.code != "ResourceNotFoundException":
            raise
        _create_unless_there(tx, caller, "CreateLogGroup", {"logGroupName": group})
        _create_unless_there(tx, caller, "CreateLogStream", {"logGroupName": group, "logStreamName": stream})
        tx.services.call(tx, caller, "logs", "PutLogEvents", params)


def _create_unless_there(tx: Transaction, caller: Caller, operation: str, params: dict[str, object]) -> None:
    try:
        tx.services.call(tx, caller, "logs", operation, params)
    except ServiceError as error:
        if error.code != "ResourceAlreadyExistsException":
            raise
