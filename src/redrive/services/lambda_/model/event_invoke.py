"""Asynchronous events: their configuration, retries and final records. No transaction, no clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.documents import Document, load_json
from redrive.core.retry import (
    Backoff,
    Delivered,
    Exhausted,
    Failed,
    FailureKind,
    GiveUp,
    Outcome,
    RetryPolicy,
    Succeeded,
)
from redrive.delivery.sources.letters import Letter, attribute, cut
from redrive.languages import letters
from redrive.services.lambda_.limits import (
    ERROR_MESSAGE_BYTES_MAX,
    ERROR_WAITS_MS,
    EVENT_AGE_S_MAX,
    EVENT_RETRIES_MAX,
    THROTTLE_WAIT_FIRST_MS,
    THROTTLE_WAIT_MAX_MS,
)
from redrive.services.lambda_.model.function import LATEST
from redrive.services.lambda_.model.report import error_member

UNHANDLED = "Unhandled"
"""The `code` of a function's own failure; its `message` is the function's error document."""


@dataclass(frozen=True, slots=True)
class EventInvokeConfig:
    """How the events of a function, or of one of its versions or aliases, are retried, and where their records go.

    `name` is the function's name, with a colon and the qualifier if the configuration is that of a version or an alias.
    """

    KIND: ClassVar[str] = "lambda.event_invoke_config"

    name: str
    function_arn: str
    modified_at: Instant
    retries_max: int | None = None
    age_s_max: int | None = None
    on_success_arn: str = ""
    on_failure_arn: str = ""

    @property
    def qualifier(self) -> str:
        """The qualifier whose events are configured: $LATEST for those of the unqualified function."""
        return self.name.partition(":")[2] or LATEST


def config_name(function_name: str, qualifier: str | None) -> str:
    """The stored name of the configuration for a qualifier."""
    return function_name if qualifier in (None, "", LATEST) else f"{function_name}:{qualifier}"


def event_retry_policy(config: EventInvokeConfig | None) -> RetryPolicy:
    """Function errors retry after 1 min and 2 min; throttles after 1 s, 2 s, 4 s … 5 min until the event is too old.

    No retry begins at the instant when the event reaches its maximum age, or later.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
    """
    retries = None if config is None else config.retries_max
    age_s = None if config is None else config.age_s_max
    return RetryPolicy(
        retries_max=EVENT_RETRIES_MAX if retries is None else retries,
        age_ms_max=(EVENT_AGE_S_MAX if age_s is None else age_s) * SECOND_MS - 1,
        backoff=Backoff(jitter=0.0, steps_ms=ERROR_WAITS_MS),
        throttle_backoff=Backoff(first_ms=THROTTLE_WAIT_FIRST_MS, cap_ms=THROTTLE_WAIT_MAX_MS, jitter=0.0),
        throttles_count=False,
    )


def event_invoke_config(config: EventInvokeConfig) -> Document:
    """The configuration in AWS's form."""
    document: Document = {
        "FunctionArn": f"{config.function_arn}:{config.qualifier}",
        "LastModified": config.modified_at,
        "DestinationConfig": {
            "OnSuccess": {"Destination": config.on_success_arn} if config.on_success_arn else {},
            "OnFailure": {"Destination": config.on_failure_arn} if config.on_failure_arn else {},
        },
    }
    if config.retries_max is not None:
        document["MaximumRetryAttempts"] = config.retries_max
    if config.age_s_max is not None:
        document["MaximumEventAgeInSeconds"] = config.age_s_max
    return document


def dead_letter(request_id: str, payload: str, failed: Failed) -> Letter:
    """Build the dead letter of an event: the event itself and its error.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html
    """
    message = error_member(failed.message, "errorMessage") if failed.code == UNHANDLED else failed.message
    text = cut(message, ERROR_MESSAGE_BYTES_MAX)
    names = letters.LAMBDA
    attributes: Document = {
        names.id: attribute(request_id),
        names.code: attribute(_STATUS.get(failed.code, "500"), type="Number"),
    }
    if text:
        attributes[names.message] = attribute(text)
    return Letter(names, payload, attributes)


_STATUS = {
    UNHANDLED: "200",
    "RecursiveInvocationException": "400",
    "TooManyRequestsException": "429",
    "ResourceNotFoundException": "404",
}


def destination_record(
    *, request_id: str, qualified_arn: str, executed_version: str, payload: str, runs: int, outcome: Outcome,
    verdict: Delivered | GiveUp, now: Instant,
) -> Document:  # fmt: skip
    """Build the record that a destination receives when an event has ended.

    The record has no response if the last attempt did not run the function. A stopped function counts as not run.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html
    """
    record: Document = {
        "version": "1.0",
        "timestamp": _iso_ms(now),
        "requestContext": {
            "requestId": request_id,
            "functionArn": qualified_arn,
            "condition": "ZeroReservedConcurrency" if is_stopped(outcome) else _condition(verdict),
            "approximateInvokeCount": runs - 1 if is_stopped(outcome) else runs,
        },
        "requestPayload": load_json(payload),
    }
    match outcome:
        case Succeeded(result):
            record["responseContext"] = {"statusCode": 200, "executedVersion": executed_version}
            record["responsePayload"] = _json_or_text(result["Payload"])
        case Failed(code=code, message=message) if code == UNHANDLED:
            record["responseContext"] = {
                "statusCode": 200, "executedVersion": executed_version, "functionError": UNHANDLED,
            }  # fmt: skip
            record["responsePayload"] = _json_or_text(message)
        case Failed():
            pass
    return record


def is_stopped(outcome: Outcome) -> bool:
    """Whether an event ended because its function has a reserved concurrency of 0.

    Other throttled events are retried.
    """
    if not isinstance(outcome, Failed):
        return False
    return outcome.code == "TooManyRequestsException" and outcome.kind is FailureKind.PERMANENT


def _condition(verdict: Delivered | GiveUp) -> str:
    match verdict:
        case Delivered():
            return "Success"
        case GiveUp(Exhausted.AGE):
            return "EventAgeExceeded"
        case GiveUp():
            return "RetriesExhausted"


def _json_or_text(text: str) -> object:
    try:
        return load_json(text)
    except ValueError:
        return text


def _iso_ms(at: Instant) -> str:
    return f"{datetime.fromtimestamp(at // 1000, UTC):%Y-%m-%dT%H:%M:%S}.{at % 1000:03d}Z"
