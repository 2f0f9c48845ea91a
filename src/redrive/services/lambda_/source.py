"""Asynchronous events as deliveries: how they run, how failures count, and what happens at their end.

The delivery worker handles leases and retries; this module does not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from redrive.core.arn import Arn
from redrive.core.documents import Document, dump_json, load_json
from redrive.core.entropy import new_row_id
from redrive.core.errors import ServiceError
from redrive.core.retry import Delivered, Failed, FailureKind, GiveUp, Outcome, Succeeded
from redrive.core.scope import Caller
from redrive.delivery.history.records import End, Origin, record_destination
from redrive.delivery.outside.errand import Errand, Result
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus, trace_id
from redrive.delivery.sources.letters import Unwritten, Written, write_letter
from redrive.delivery.sources.source import Source
from redrive.delivery.sources.targets import queue_url
from redrive.services.lambda_.buckets import async_folder, put_record
from redrive.services.lambda_.limits import EVENT_LEASE_MS
from redrive.services.lambda_.model.event_invoke import (
    UNHANDLED,
    EventInvokeConfig,
    config_name,
    dead_letter,
    destination_record,
)
from redrive.services.lambda_.model.function import (
    LATEST,
    Function,
    function_invocation,
    function_not_found,
    is_recursive,
    lambda_error,
    qualifier_of,
    recursive,
)
from redrive.services.lambda_.model.metrics import (
    DEAD_LETTER_ERRORS,
    DESTINATION_FAILURES,
    EVENT_AGE,
    EVENTS_DROPPED,
    RECURSIVE_DROPPED,
    THROTTLES,
)
from redrive.services.lambda_.model.recursion import lineage_after, without_lineage
from redrive.services.lambda_.model.report import error_member
from redrive.services.lambda_.runs import count, function_caller, record_run
from redrive.services.lambda_.versions import choose_by_arn, find_version
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

SOURCE = "lambda"


class LambdaSource(Source):
    """The source of deliveries that stands for Lambda's internal queue of events.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-async.html
    """

    name = SOURCE
    lease_ms = EVENT_LEASE_MS

    def render(self, tx: Transaction, delivery: Delivery) -> Invocation:
        """Build the run of the event's function. All attempts have the same request id.

        Errors: ResourceNotFoundException (the function was deleted); TooManyRequestsException (the function is stopped:
        its reserved concurrency is 0); RecursiveInvocationException (a loop). All of them end the event.
        """
        function = choose_by_arn(tx, delivery.scope, delivery.target_arn)
        if function is None:
            raise function_not_found(delivery.target_arn)
        trace = str(delivery.document.get("Trace", ""))
        if is_recursive(function, trace):
            count(tx, delivery.target_arn, RECURSIVE_DROPPED)
            raise recursive()
        if function.reserved == 0:
            count(tx, delivery.target_arn, THROTTLES)
            raise lambda_error("TooManyRequestsException", "Rate Exceeded.")
        count(tx, delivery.target_arn, EVENT_AGE, tx.now - delivery.first_at)
        payload = str(delivery.document["Payload"]).encode()
        return function_invocation(function, delivery.id, payload, function_arn=delivery.target_arn, trace_header=trace)

    def origin(self, delivery: Delivery) -> Origin:
        """Return the execution that caused the event, or the event itself if it has no such cause."""
        document = delivery.document
        return Origin(document.get("Execution") or delivery.id, document.get("Cause") or "")

    def failure(self, error: ServiceError) -> Failed:
        """A refusal by `render` is permanent, except for a server error, which does not end the event."""
        kind = FailureKind.TRANSIENT if error.fault == "server" else FailureKind.PERMANENT
        return Failed(error.code, error.message, kind)

    def outcome(self, errand: Errand, result: Result) -> Outcome:
        """Function errors use up retries; throttles and errors outside of the function wait and use up none."""
        assert isinstance(errand, Invocation), "events run functions"
        assert isinstance(result, InvocationResult), "events run functions"
        return outcome_of(result, version=errand.version)

    def answered(self, tx: Transaction, delivery: Delivery, errand: Errand, result: Result) -> None:
        """Count the run and write its lines to its own log group, also if the function has changed or is gone."""
        assert isinstance(errand, Invocation), "events run functions"
        assert isinstance(result, InvocationResult), "events run functions"
        record_run(tx, errand, result)

    def reported(self, failed: Failed) -> Failed:
        return reported(failed)

    def settled(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp) -> End:
        """Write the dead letter under the function's role, if the function has a dead-letter queue."""
        if isinstance(verdict, GiveUp):
            count(tx, delivery.target_arn, EVENTS_DROPPED)
        function = _function(tx, delivery)
        if function is None or not isinstance(outcome, Failed) or not function.dead_letter_arn:
            return End.of(verdict)
        letter = dead_letter(delivery.id, str(delivery.document["Payload"]), outcome)
        match write_letter(tx, letter, function.dead_letter_arn, lambda _: _traced_caller(tx, delivery, function)):
            case Unwritten(queue_arn, error):
                count(tx, delivery.target_arn, DEAD_LETTER_ERRORS)
                why = f"the dead letter to {queue_arn} failed with {error.code}: {error.message}"
                return End.dropped(why, letter_arn=queue_arn)
            case Written(queue_arn, message_id):
                return End.dead_lettered(queue_arn, message_id)

    def followed(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp) -> None:
        """Send the record to the destination under the function's role; a failure is only counted and recorded."""
        function = _function(tx, delivery)
        if function is None:
            return
        qualifier = qualifier_of(delivery.target_arn)
        config = tx.resources.get(EventInvokeConfig, delivery.scope, config_name(function.name, qualifier))
        destination = _destination(config, verdict)
        if destination:
            record = dump_json(
                destination_record(
                    request_id=delivery.id, qualified_arn=f"{function.arn}:{qualifier or LATEST}",
                    executed_version=_executed_version(outcome), payload=str(delivery.document["Payload"]),
                    runs=delivery.attempts, outcome=outcome, verdict=verdict, now=tx.now,
                )
            )  # fmt: skip
            is_success = isinstance(verdict, Delivered)
            _send_record(tx, delivery, function, destination, record, is_success=is_success)


def outcome_of(result: InvocationResult, *, version: str = LATEST) -> Outcome:
    """Convert the result of a run of this version to an outcome of its delivery."""
    match result.status:
        case InvocationStatus.OK:
            return Succeeded({"Payload": _text(result), "Version": version})
        case InvocationStatus.FUNCTION_ERROR:
            return Failed(UNHANDLED, _text(result), FailureKind.TRANSIENT, version=version)
        case InvocationStatus.THROTTLED:
            return Failed("TooManyRequestsException", "Rate Exceeded.", FailureKind.THROTTLED)
        case InvocationStatus.SERVICE_ERROR:
            return Failed("ServiceException", result.error, FailureKind.THROTTLED)
        case _:
            assert_never(result.status)


def reported(failed: Failed) -> Failed:
    """Reduce a function's error document to its error message."""
    if failed.code != UNHANDLED:
        return failed
    return replace(failed, message=error_member(failed.message, "errorMessage"))


def _function(tx: Transaction, delivery: Delivery) -> Function | None:
    """Return the version that the event was for; its dead-letter queue and its role are used at the event's end."""
    name = delivery.source_arn.rsplit(":", 1)[-1]
    return find_version(tx, delivery.scope, name, qualifier_of(delivery.target_arn))


def _executed_version(outcome: Outcome) -> str:
    return str(outcome.result["Version"]) if isinstance(outcome, Succeeded) else outcome.version


def _text(result: InvocationResult) -> str:
    return result.payload.decode("utf-8", "replace")


def _destination(config: EventInvokeConfig | None, verdict: Delivered | GiveUp) -> str:
    if config is None:
        return ""
    return config.on_success_arn if isinstance(verdict, Delivered) else config.on_failure_arn


def _trace_after(delivery: Delivery, function: Function) -> str:
    """The trace header that goes on from a run: what its record causes belongs to the same chain of requests."""
    given = str(delivery.document.get("Trace", ""))
    header = without_lineage(given) or trace_id(delivery.id, delivery.first_at)
    return f"{header};Lineage={lineage_after(given, function.arn)}"


def _put_record(tx: Transaction, caller: Caller, bus_arn: str, record: str, *, is_success: bool) -> str:
    """Put a record on a bus, and return the event's id. Errors: ServiceError."""
    entry: Document = {
        "EventBusName": bus_arn,
        "Source": "lambda",
        "DetailType": f"Lambda Function Invocation Result - {'Success' if is_success else 'Failure'}",
        "Resources": [bus_arn, load_json(record)["requestContext"]["functionArn"]],
        "Detail": record,
    }
    (answer,) = tx.services.call(tx, caller, "events", "PutEvents", {"Entries": [entry]})["Entries"]
    if "EventId" not in answer:
        raise ServiceError(str(answer["ErrorCode"]), str(answer["ErrorMessage"]))
    return str(answer["EventId"])


def _send_record(
    tx: Transaction, delivery: Delivery, function: Function, destination: str, record: str, *, is_success: bool
) -> None:
    """Send a record to a destination as the function's role.

    The run's history notes the result; a failure is counted.
    """
    try:
        caller = _traced_caller(tx, delivery, function)
        match Arn.parse(destination).service:
            case "sqs":
                params: Document = {"QueueUrl": queue_url(destination), "MessageBody": record}
                led_to = str(tx.services.call(tx, caller, "sqs", "SendMessage", params)["MessageId"])
            case "sns":
                params = {"TopicArn": destination, "Message": record}
                led_to = str(tx.services.call(tx, caller, "sns", "Publish", params)["MessageId"])
            case "events":
                led_to = _put_record(tx, caller, destination, record, is_success=is_success)
            case "s3":
                led_to = put_record(tx, caller, destination, async_folder(function.name), record)
            case _:
                params = {"FunctionName": destination, "InvocationType": "Event", "Payload": record.encode()}
                tx.services.call(tx, caller, "lambda", "Invoke", params)
                led_to = caller.request_id
    except ServiceError as error:
        count(tx, delivery.target_arn, DESTINATION_FAILURES)
        record_destination(tx, delivery, destination, error=error)
    else:
        record_destination(tx, delivery, destination, led_to=led_to)


def _traced_caller(tx: Transaction, delivery: Delivery, function: Function) -> Caller:
    """Return the caller that acts for the function, in its region and in the event's chain of requests.

    Errors: ServiceError AccessDenied.
    """
    caller = function_caller(tx, function, new_row_id(tx.entropy, tx.now))
    return replace(caller, trace_header=_trace_after(delivery, function))
