"""Invoke: run a function now, or accept an event and run it soon."""

from __future__ import annotations

import base64
import binascii

from redrive.core.documents import Document, load_json
from redrive.core.errors import Bug, ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import EventStream, Outside, StreamedOutside, operation
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.services.lambda_.limits import (
    EVENT_PAYLOAD_BYTES_MAX,
    INVOKE_ASYNC_BYTES_MAX,
    SYNC_PAYLOAD_BYTES_MAX,
    TRACE_HEADER_CHARACTERS_MAX,
)
from redrive.services.lambda_.model.event_invoke import (
    UNHANDLED,
    EventInvokeConfig,
    config_name,
    event_retry_policy,
)
from redrive.services.lambda_.model.function import (
    Function,
    FunctionReference,
    function_invocation,
    function_not_found,
    invalid_parameter,
    is_recursive,
    lambda_error,
    recursive,
    refuse_given,
    throttled,
)
from redrive.services.lambda_.model.metrics import EVENTS_RECEIVED, RECURSIVE_DROPPED, THROTTLES
from redrive.services.lambda_.model.recursion import without_lineage
from redrive.services.lambda_.model.report import log_events, log_tail
from redrive.services.lambda_.operations.functions import check_active, invocable_reference
from redrive.services.lambda_.runs import count, record_run, run_refused
from redrive.services.lambda_.source import SOURCE
from redrive.services.lambda_.streamed_answers import ending, piece_event
from redrive.services.lambda_.versions import choose_version
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import OUTSIDE, Delivery

EVENTS = "events.amazonaws.com"

STOPPED = "ReservedFunctionConcurrentInvocationLimitExceeded"
"""The reason in the error if a function has a reserved concurrency of 0."""


@operation("Invoke")
def invoke(
    tx: Transaction, caller: Caller, *,
    function_name: str, invocation_type: str = "RequestResponse", log_type: str = "None",
    client_context: str | None = None, durable_execution_name: str | None = None, payload: bytes = b"",
    qualifier: str | None = None, tenant_id: str | None = None,
) -> Document | Outside | ServiceError:  # fmt: skip
    """Run a function and return its answer; or, with `InvocationType` Event, accept the event and answer at once.

    Errors: ResourceNotFoundException; InvalidRequestContentException (the payload is not JSON);
    RequestTooLargeException (over 6 MB, or 1 MB for an event); TooManyRequestsException (no concurrency left);
    RecursiveInvocationException (the chain of requests has run the function 16 times);
    ResourceConflictException (the function is Pending; an event is still accepted); ServiceException (the run failed
    outside of the function).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
    """
    reference, function = _invoked(tx, caller, function_name, qualifier, tenant_id)
    refuse_given(DurableExecutionName=durable_execution_name)
    event = _event(payload, invocation_type)
    if invocation_type == "DryRun":
        return {"StatusCode": 204}
    if invocation_type == "Event":
        _promise(tx, caller, reference, function, event)
        return {"StatusCode": 202}
    invocation = _begin(tx, caller, reference, function, event, client_context)
    if isinstance(invocation, ServiceError):
        return invocation
    return Outside(invocation, lambda later, result: _answer(later, invocation, result, with_tail=log_type == "Tail"))


@operation("InvokeWithResponseStream")
def invoke_with_response_stream(
    tx: Transaction, caller: Caller, *,
    function_name: str, invocation_type: str = "RequestResponse", log_type: str = "None",
    client_context: str | None = None, qualifier: str | None = None, payload: bytes = b"",
    tenant_id: str | None = None,
) -> StreamedOutside | EventStream | ServiceError:  # fmt: skip
    """Run a function and send its answer while the function writes it.

    A function that fails ends the stream with an error in its last event.

    Errors: as Invoke with `InvocationType` RequestResponse.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_InvokeWithResponseStream.html
    """
    reference, function = _invoked(tx, caller, function_name, qualifier, tenant_id)
    event = _event(payload, invocation_type)
    if invocation_type == "DryRun":
        return EventStream("EventStream", {"StatusCode": 204}, ())
    invocation = _begin(tx, caller, reference, function, event, client_context)
    if isinstance(invocation, ServiceError):
        return invocation
    with_tail = log_type == "Tail"
    return StreamedOutside(
        invocation,
        {"StatusCode": 200, "ExecutedVersion": invocation.version},
        piece_event,
        lambda later, result: ending(later, invocation, result, with_tail=with_tail),
    )


def _invoked(
    tx: Transaction, caller: Caller, function_name: str, qualifier: str | None, tenant_id: str | None
) -> tuple[FunctionReference, Function]:
    """The function that a call names, in the version that runs. Errors: as Invoke."""
    reference = invocable_reference(tx, caller, function_name, qualifier)
    if tenant_id is not None:
        raise invalid_parameter(
            "The invoked function is not enabled with tenancy configuration. "
            "Remove the tenant ID from your request and try again."
        )
    function = choose_version(tx, reference.scope, reference.name, reference.qualifier)
    if function is None:
        raise function_not_found(reference.version_arn)
    return reference, function


def _begin(
    tx: Transaction, caller: Caller, reference: FunctionReference, function: Function, event: bytes,
    client_context: str | None,
) -> Invocation | ServiceError:  # fmt: skip
    """The run of a function whose answer the caller awaits, or why it may not run now. Errors: as Invoke."""
    check_active(tx, function)
    trace_header = _trace_header(caller)
    if is_recursive(function, trace_header):
        count(tx, reference.qualified_arn, RECURSIVE_DROPPED)
        return recursive()
    if function.reserved == 0:
        count(tx, reference.qualified_arn, THROTTLES)
        return throttled(STOPPED)
    return function_invocation(
        function,
        caller.request_id,
        event,
        function_arn=reference.qualified_arn,
        client_context=_client_context(client_context),
        trace_header=trace_header,
    )


@operation("InvokeAsync")
def invoke_async(tx: Transaction, caller: Caller, *, function_name: str, invoke_args: bytes) -> Document:
    """Accept an event, as Invoke does with `InvocationType` Event; the event has at most 256 KB.

    Errors: as Invoke.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_InvokeAsync.html
    """
    if len(invoke_args) > INVOKE_ASYNC_BYTES_MAX:
        raise lambda_error(
            "InvalidRequestContentException", f"Request must be smaller than {INVOKE_ASYNC_BYTES_MAX} bytes."
        )
    accepted = invoke(tx, caller, function_name=function_name, invocation_type="Event", payload=invoke_args)
    assert isinstance(accepted, dict), "events are accepted in the store"
    return {"Status": accepted["StatusCode"]}


def _event(payload: bytes, invocation_type: str) -> bytes:
    """Return the function's event after the checks of size and JSON; an empty payload becomes an empty object."""
    if invocation_type == "Event" and len(payload) > EVENT_PAYLOAD_BYTES_MAX:
        raise lambda_error(
            "RequestTooLargeException",
            f"{len(payload)} byte payload is too large for the Event invocation type "
            f"(limit {EVENT_PAYLOAD_BYTES_MAX} bytes)",
        )
    if len(payload) > SYNC_PAYLOAD_BYTES_MAX:
        raise lambda_error(
            "RequestTooLargeException",
            f"Request must be smaller than {SYNC_PAYLOAD_BYTES_MAX} bytes for the InvokeFunction operation",
        )
    if not payload:
        return b"{}"
    try:
        load_json(payload)
    except (ValueError, RecursionError) as error:
        raise lambda_error(
            "InvalidRequestContentException", f"Could not parse request body into json: {error}"
        ) from None
    return payload


def _client_context(text: str | None) -> str | None:
    """Decode the client context from base64 to JSON text, which the runtime reads."""
    if not text:
        return None
    try:
        decoded = base64.b64decode(text, validate=True).decode()
        load_json(decoded)
    except (binascii.Error, ValueError):
        raise lambda_error(
            "InvalidRequestContentException", "Client context must be a valid Base64-encoded JSON object."
        ) from None
    return decoded


def _trace_header(caller: Caller) -> str:
    """The trace of the request, if its header can be a header and a variable again; empty if it cannot, or is none.

    Loops through buses are not told as loops: AWS looks for those through queues, topics, buckets and functions alone.
    """
    header = caller.trace_header
    if len(header) > TRACE_HEADER_CHARACTERS_MAX or not header.isascii() or not header.isprintable():
        return ""
    return without_lineage(header) if EVENTS in (caller.service, caller.invoked_by) else header


def _promise(tx: Transaction, caller: Caller, reference: FunctionReference, function: Function, event: bytes) -> None:
    """Create the delivery of an accepted event. The function may be in another account than the caller."""
    scope, invoked_arn = reference.scope, reference.qualified_arn
    config = tx.resources.get(EventInvokeConfig, scope, config_name(reference.name, reference.qualifier))
    document = {"Payload": event.decode()}
    trace = _trace_header(caller)
    if trace:
        document["Trace"] = trace
    if tx.cause is not None:
        document |= {"Execution": tx.cause.execution_id, "Cause": tx.cause.delivery_id}
    is_new = tx.deliveries.put(
        Delivery(
            id=caller.request_id,
            scope=scope,
            source=SOURCE,
            source_arn=function.arn,
            target_arn=invoked_arn,
            document=document,
            policy=event_retry_policy(config),
            place=OUTSIDE,
            due_at=tx.now,
            first_at=tx.now,
            function=function.arn,
        )
    )
    if not is_new:
        raise Bug(f"request id {caller.request_id} is that of an open delivery: the event would be lost")
    count(tx, invoked_arn, EVENTS_RECEIVED)
    tx.notify("due")


def _answer(
    tx: Transaction, invocation: Invocation, result: InvocationResult, *, with_tail: bool
) -> Document | ServiceError:  # fmt: skip
    """Build the caller's answer for a run that has ended."""
    record_run(tx, invocation, result)
    answer: Document = {"StatusCode": 200, "ExecutedVersion": invocation.version, "Payload": result.payload}
    match result.status:
        case InvocationStatus.THROTTLED | InvocationStatus.SERVICE_ERROR:
            return run_refused(result)
        case InvocationStatus.FUNCTION_ERROR:
            answer["FunctionError"] = UNHANDLED
        case InvocationStatus.OK:
            pass
    if with_tail:
        answer["LogResult"] = log_tail(log_events(invocation, result, tx.now))
    return answer
