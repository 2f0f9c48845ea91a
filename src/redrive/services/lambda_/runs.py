"""The steps around each run of a function: assume its role before; write its log lines and metrics after.

Invocations, events and mappings share this module. The function's role writes the logs, so a role without permission
leaves no logs, as on AWS.
"""

from __future__ import annotations

from redrive.core.arn import Arn
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.delivery.sources.roles import RoleSession
from redrive.services.lambda_.model.function import LATEST, Function, qualifier_of, throttled
from redrive.services.lambda_.model.metrics import (
    CONCURRENT,
    DURATION,
    ERRORS,
    INVOCATIONS,
    PROVISIONED,
    PROVISIONED_INVOCATIONS,
    PROVISIONED_SPILLOVER,
    PROVISIONED_USE,
    THROTTLES,
    UNRESERVED,
    series_of,
    series_of_version,
)
from redrive.services.lambda_.model.provisioned import ProvisionedConcurrency
from redrive.services.lambda_.model.report import LogEvent, log_events, puts
from redrive.services.lambda_.model.versions import qualified_name
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
    _count_run(tx, invocation, result)
    _write_logs(tx, invocation, result)


def run_refused(result: InvocationResult) -> ServiceError:
    """Build the error for a run that did not take place, for want of concurrency or for a reason of ours."""
    if result.status is InvocationStatus.THROTTLED:
        return throttled(result.error)
    return ServiceError("ServiceException", result.error, fault="server", members={"Type": "Service"})


def count(tx: Transaction, function_arn: str, name: str, value: float = 1.0) -> None:
    """Add a value to a function's metric with this AWS name."""
    for series in series_of(function_arn, name):
        tx.metrics.count(series, tx.now, value)


def _count_run(tx: Transaction, invocation: Invocation, result: InvocationResult) -> None:
    """Count a run as an invocation, unless it was throttled or failed outside of the function.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
    """
    if result.status is InvocationStatus.SERVICE_ERROR:
        return
    is_throttled = result.status is InvocationStatus.THROTTLED
    counted = {THROTTLES: float(is_throttled)}
    if not is_throttled:
        counted[INVOCATIONS] = 1.0
        counted[ERRORS] = float(result.status is InvocationStatus.FUNCTION_ERROR)
        counted[DURATION] = result.duration_ms
    function_arn = invocation.function_arn
    for name, value in counted.items():
        count(tx, function_arn, name, value)
    if result.concurrent:
        _count_concurrent(tx, function_arn, result)
    qualifier = qualifier_of(function_arn)
    if qualifier is None or qualifier == LATEST:
        return
    if qualifier != invocation.version:
        for name, value in counted.items():
            tx.metrics.count(series_of_version(function_arn, invocation.version, name), tx.now, value)
    if not is_throttled:
        _count_provisioned(tx, invocation, qualifier, result)


def _count_concurrent(tx: Transaction, function_arn: str, result: InvocationResult) -> None:
    """Count how many runs were under way: of the function for the function, of all for the account."""
    *of_function, of_account = series_of(function_arn, CONCURRENT)
    for series in of_function:
        tx.metrics.count(series, tx.now, float(result.concurrent))
    tx.metrics.count(of_account, tx.now, float(result.concurrent_in_all))
    # AWS has this metric for the account alone.
    tx.metrics.count(series_of(function_arn, UNRESERVED)[-1], tx.now, float(result.concurrent_unreserved))


def _count_provisioned(tx: Transaction, invocation: Invocation, qualifier: str, result: InvocationResult) -> None:
    """Count a run of a version or alias that has provisioned concurrency. What is over it has spilled over.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/monitoring-concurrency.html
    """
    arn = Arn.parse(invocation.function_arn)
    name = qualified_name(invocation.function_name, qualifier)
    config = tx.resources.get(ProvisionedConcurrency, Scope(arn.account, arn.region), name)
    if config is None or not config.is_ready(tx.now):
        return
    concurrent = max(result.concurrent, 1)
    used = min(concurrent, config.requested)
    is_spilled = concurrent > config.requested
    count(tx, invocation.function_arn, PROVISIONED_SPILLOVER if is_spilled else PROVISIONED_INVOCATIONS)
    count(tx, invocation.function_arn, PROVISIONED, float(used))
    count(tx, invocation.function_arn, PROVISIONED_USE, used / config.requested)


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
