"""Events of asynchronous invocations, as deliveries: how they run, how their failures count, what their end leaves.

Knows nothing of leases and retries themselves: those are the delivery worker's.
"""

from __future__ import annotations

from typing import assert_never

from redrive.core.arn import Arn
from redrive.core.documents import Document, dump_json
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.retry import Delivered, Failed, FailureKind, GiveUp, Outcome, RetryAt, Succeeded, Verdict
from redrive.delivery.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.services.lambda_.limits import EVENT_LEASE_MS
from redrive.services.lambda_.model import Function, function_invocation, function_not_found, lambda_error
from redrive.services.lambda_.model_event_invoke import (
    UNHANDLED,
    EventInvokeConfig,
    dead_letter_attributes,
    destination_record,
)
from redrive.services.lambda_.model_mapping import queue_url
from redrive.services.lambda_.model_metrics import (
    DEAD_LETTER_ERRORS,
    DESTINATION_FAILURES,
    EVENT_AGE,
    EVENTS_DROPPED,
)
from redrive.services.lambda_.model_report import error_member
from redrive.services.lambda_.workers_runs import count, function_caller, record_run
from redrive.store.api import Transaction
from redrive.store.tables.attempts import AttemptRecord
from redrive.store.tables.deliveries import Delivery

SOURCE = "lambda"


class LambdaSource:
    """Lambda's own queue of events.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-async.html
    """

    name = SOURCE
    lease_ms = EVENT_LEASE_MS

    def render(self, tx: Transaction, delivery: Delivery) -> Invocation:
        """The run of the event's function. The request id is the same at each attempt.

        Errors: ResourceNotFoundException (function deleted since); TooManyRequestsException (it is stopped: reserved
        concurrency 0). Both end the event.
        """
        function = _function(tx, delivery)
        if function is None:
            raise function_not_found(delivery.source_arn)
        if function.reserved == 0:
            raise lambda_error("TooManyRequestsException", "Rate Exceeded.")
        count(tx, delivery.target_arn, EVENT_AGE, tx.now - delivery.first_at)
        payload = str(delivery.document["Payload"]).encode()
        return function_invocation(function, delivery.id, payload, function_arn=delivery.target_arn)

    def failure(self, error: ServiceError) -> Failed:
        """What `render` refuses is refused for good; a defect of ours is not the event's end."""
        kind = FailureKind.TRANSIENT if error.fault == "server" else FailureKind.PERMANENT
        return Failed(error.code, error.message, kind)

    def outcome(self, result: InvocationResult) -> Outcome:
        """Errors of the function use up retries; throttles and errors outside of it wait without doing so."""
        match result.status:
            case InvocationStatus.OK:
                return Succeeded({"Payload": _text(result)})
            case InvocationStatus.FUNCTION_ERROR:
                return Failed(UNHANDLED, _text(result), FailureKind.TRANSIENT)
            case InvocationStatus.THROTTLED:
                return Failed("TooManyRequestsException", "Rate Exceeded.", FailureKind.THROTTLED)
            case InvocationStatus.SERVICE_ERROR:
                return Failed("ServiceException", result.error, FailureKind.THROTTLED)
            case _:
                assert_never(result.status)

    def answered(self, tx: Transaction, delivery: Delivery, result: InvocationResult) -> None:
        """Write the lines of a run that has result."""
        function = _function(tx, delivery)
        if function is not None:
            invocation = function_invocation(function, delivery.id, b"", function_arn=delivery.target_arn)
            record_run(tx, invocation, result)

    def attempted(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Verdict) -> None:
        """Write the attempt down."""
        code, message = "", ""
        if isinstance(outcome, Failed):
            code = outcome.code
            message = error_member(outcome.message, "errorMessage") if code == UNHANDLED else outcome.message
        match verdict:
            case Delivered():
                _record(tx, delivery, code, message, "delivered")
            case RetryAt(at):
                _record(tx, delivery, code, message, "retry", next_at=at)
            case GiveUp():
                _record(tx, delivery, code, message, "gave up")
            case _:
                assert_never(verdict)

    def settled(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp) -> None:
        """Tell the destination and write the dead letter, under the function's role; each failure is only recorded."""
        if isinstance(verdict, GiveUp):
            count(tx, delivery.target_arn, EVENTS_DROPPED)
        function = _function(tx, delivery)
        if function is None:
            return
        config = tx.resources.get(EventInvokeConfig, delivery.scope, function.name)
        if isinstance(outcome, Failed) and function.dead_letter_arn:
            letter: Document = {
                "QueueUrl": queue_url(function.dead_letter_arn),
                "MessageBody": delivery.document["Payload"],
                "MessageAttributes": dead_letter_attributes(delivery.id, outcome),
            }
            _tell(tx, delivery, function, ("sqs", "SendMessage", letter), failure=DEAD_LETTER_ERRORS)
        destination = _destination(config, verdict)
        if destination:
            record = dump_json(
                destination_record(
                    request_id=delivery.id, function_arn=function.arn, payload=str(delivery.document["Payload"]),
                    runs=delivery.attempts, outcome=outcome, verdict=verdict, now=tx.now,
                )
            )  # fmt: skip
            _send_record(tx, delivery, function, destination, record)


def _function(tx: Transaction, delivery: Delivery) -> Function | None:
    name = delivery.source_arn.rsplit(":", 1)[-1]
    return tx.resources.get(Function, delivery.scope, name)


def _text(result: InvocationResult) -> str:
    return result.payload.decode("utf-8", "replace")


def _destination(config: EventInvokeConfig | None, verdict: Delivered | GiveUp) -> str:
    if config is None:
        return ""
    return config.on_success_arn if isinstance(verdict, Delivered) else config.on_failure_arn


def _send_record(tx: Transaction, delivery: Delivery, function: Function, destination: str, record: str) -> None:
    match Arn.parse(destination).service:
        case "sqs":
            params: Document = {"QueueUrl": queue_url(destination), "MessageBody": record}
            call = ("sqs", "SendMessage", params)
        case _:
            params = {"FunctionName": destination, "InvocationType": "Event", "Payload": record.encode()}
            call = ("lambda", "Invoke", params)
    _tell(tx, delivery, function, call, failure=DESTINATION_FAILURES)


def _tell(
    tx: Transaction, delivery: Delivery, function: Function, call: tuple[str, str, Document], *, failure: str
) -> None:
    """Run an operation as the function's role. A failure is counted, and recorded under the name of its metric."""
    service, operation, params = call
    try:
        caller = function_caller(tx, function, new_uuid(tx.entropy))
        tx.services.call(tx, caller, service, operation, params)
    except ServiceError as error:
        count(tx, delivery.target_arn, failure)
        _record(tx, delivery, failure, error.message, "gave up")


def _record(
    tx: Transaction, delivery: Delivery, code: str, message: str, verdict: str, *, next_at: int | None = None
) -> None:
    tx.attempts.record(
        AttemptRecord(
            delivery_id=delivery.id, source_arn=delivery.source_arn, attempt=delivery.attempts, ended_at=tx.now,
            code=code, message=message, verdict=verdict, next_at=next_at,
        ),
    )  # fmt: skip
