"""The dead letters of rules, and the codes with which EventBridge reports failures.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rule-dlq.html
"""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.error_codes import FAULTS, THROTTLES
from redrive.core.retry import Exhausted, Failed, FailureKind
from redrive.delivery.sources.letters import Letter, attribute, writable
from redrive.languages import letters
from redrive.services.events.model.targets import find_kind

HOP_DETECTED = "THIRD_ACCOUNT_HOP_DETECTED"
INVALID_JSON = "INVALID_JSON"
NO_PERMISSIONS = "NO_PERMISSIONS"
NO_RESOURCE = "NO_RESOURCE"

ERROR_MESSAGE_LENGTH_MAX = 1_000
"""How many characters of a target's error message a dead letter quotes."""

_MISSING = frozenset(
    {"ResourceNotFoundException", "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", "NotFoundException"}
)
_DENIED = frozenset({"AccessDenied", "AccessDeniedException", "KmsAccessDenied"})
_OWN_CODES = frozenset({HOP_DETECTED, INVALID_JSON, "CONNECTION_FAILURE", "ERROR_FROM_TARGET", "THROTTLING", "TIMEOUT"})
_LIMITS = frozenset({"LimitExceededException", "OverLimit"})
_BY_CODE: Mapping[str, str] = {
    "HttpNotAnswered": "CONNECTION_FAILURE", "SerializationException": "SDK_CLIENT_ERROR",
    "UnknownOperationException": "ERROR_FROM_TARGET",
}  # fmt: skip


def error_code(failed: Failed, target_arn: str) -> str:
    """The code under which EventBridge reports a failure, from the target's own code.

    A queue that refuses EventBridge is reported as missing, as was observed; docs/semantics/events.md.
    """
    code = failed.code
    if code in _OWN_CODES:
        return code
    if code in _DENIED:
        if "sts:AssumeRole" in failed.message:
            return "FAILED_TO_ASSUME_ROLE"
        return NO_RESOURCE if _is_queue(target_arn) else NO_PERMISSIONS
    if code in _MISSING:
        return NO_RESOURCE
    if code in _LIMITS:
        return "RESOURCE_LIMIT_EXCEEDED"
    if code in THROTTLES or failed.kind is FailureKind.THROTTLED:
        return "THROTTLING"
    if code in _BY_CODE:
        return _BY_CODE[code]
    if code in FAULTS or code == Exhausted.AGE.value:
        return "INTERNAL_ERROR"
    if code.startswith("Http"):
        return "ERROR_FROM_TARGET"
    return "INVALID_PARAMETER" if failed.kind is FailureKind.PERMANENT else "ERROR_FROM_TARGET"


def letter_of(
    event: str, failed: Failed, *, rule_arn: str, target_arn: str, exhausted: Exhausted | None, retries: int
) -> Letter:
    """Build the dead letter: the event as it came to the rule, and why it did not reach the target.

    A permanent failure has no EXHAUSTED_RETRY_CONDITION.
    """
    names = letters.RULES
    values = {
        names.source: rule_arn,
        names.target: target_arn,
        names.code: error_code(failed, target_arn),
        names.message: _message(failed, target_arn)[:ERROR_MESSAGE_LENGTH_MAX],
        **({names.exhausted: exhausted.value} if exhausted else {}),
        names.retries: str(retries),
    }
    return Letter(names, writable(event), {name: attribute(value) for name, value in values.items()})


def _message(failed: Failed, target_arn: str) -> str:
    """The text of the failure; a queue that refuses says the same as a queue that is missing."""
    if failed.code in _DENIED and _is_queue(target_arn) and "sts:AssumeRole" not in failed.message:
        return "The specified queue does not exist or you do not have access to it."
    return failed.message or failed.code


def _is_queue(target_arn: str) -> bool:
    kind = find_kind(target_arn)
    return kind is not None and kind.service == "sqs"
