"""Checks of a request that come first: empty parameters, ranges, the entries of a batch.

For other services, the wire checks the shapes of requests. SQS has its own error messages, so it checks its own.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.sqs import limits

NOT_OF_THIS_QUEUE_TYPE = "The request include parameter that is not valid for this queue type."
"""AWS's message when a parameter is for FIFO queues only, and the queue is a standard queue."""

_ID = re.compile(rf"[!-~]{{1,{limits.MESSAGE_ID_LENGTH_MAX}}}")
_BATCH_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{limits.BATCH_ID_LENGTH_MAX}}}")

# Batch answers use other names for these error codes than the errors of whole requests.
_ENTRY_CODES: Mapping[str, str] = {
    "InvalidParameterValueException": "InvalidParameterValue",
    "MissingRequiredParameterException": "MissingParameter",
    "UnsupportedOperation": "AWS.SimpleQueueService.UnsupportedOperation",
}


def missing_parameter(name: str) -> ServiceError:
    """Build the error for a request that lacks a parameter."""
    return ServiceError("MissingRequiredParameterException", f"The request must contain the parameter {name}.")


def invalid_parameter(message: str) -> ServiceError:
    """Build the error for a parameter, with a message of the caller's."""
    return ServiceError("InvalidParameterValueException", message)


def invalid_value(value: object, parameter: str, reason: str) -> ServiceError:
    """Build the error for a parameter's value, with AWS's usual sentence."""
    return invalid_parameter(f"Value {value} for parameter {parameter} is invalid. Reason: {reason}")


def check_range(value: int, parameter: str, low: int, high: int, reason: str) -> None:
    """Refuse a number outside its range. Errors: InvalidParameterValueException."""
    if not low <= value <= high:
        raise invalid_value(value, parameter, reason)


def check_id(value: str, parameter: str) -> None:
    """Refuse a text that cannot be a group id, deduplication id or attempt id.

    Errors: InvalidParameterValueException.
    """
    if not _ID.fullmatch(value):
        reason = f"{parameter} can only include alphanumeric and punctuation characters. 1 to 128 in length."
        raise invalid_value(value, parameter, reason)


def check_page_size(max_results: int | None) -> int:
    """Return the number of results on a page of a list. Errors: InvalidParameterValueException."""
    if max_results is None:
        return limits.LIST_RESULTS_MAX
    reason = "MaxResults must be an integer between 1 and 1000."
    check_range(max_results, "MaxResults", 1, limits.LIST_RESULTS_MAX, reason)
    return max_results


def encode_token(name: str) -> str:
    """Return the NextToken of a page whose last result has this name."""
    return base64.urlsafe_b64encode(name.encode()).decode()


def decode_token(token: str | None) -> str:
    """Return the name after which the next page begins. Errors: InvalidParameterValueException."""
    try:
        return base64.b64decode(token or "", altchars=b"-_", validate=True).decode()
    except ValueError:
        raise invalid_value(token, "NextToken", "It is not a token that this operation gave.") from None


def check_batch(entries: Sequence[Document], entry_shape: str) -> None:
    """Refuse a batch as a whole: too few or too many entries, or ids that are missing, malformed or repeated.

    Errors: EmptyBatchRequest; TooManyEntriesInBatchRequest; MissingRequiredParameterException; InvalidBatchEntryId;
    BatchEntryIdsNotDistinct.
    """
    if not entries:
        raise ServiceError("EmptyBatchRequest", f"There should be at least one {entry_shape} in the request.")
    if len(entries) > limits.BATCH_ENTRIES_MAX:
        raise ServiceError(
            "TooManyEntriesInBatchRequest",
            f"Maximum number of entries per request are {limits.BATCH_ENTRIES_MAX}. You have sent {len(entries)}.",
        )
    seen: set[str] = set()
    for position, entry in enumerate(entries, start=1):
        entry_id = entry.get("Id")
        if entry_id is None:
            raise missing_parameter(f"{entry_shape}.{position}.Id")
        if not _BATCH_ID.fullmatch(entry_id):
            raise ServiceError(
                "InvalidBatchEntryId",
                "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "
                f"It can be at most {limits.BATCH_ID_LENGTH_MAX} letters long.",
            )
        if entry_id in seen:
            raise ServiceError("BatchEntryIdsNotDistinct", f"Id {entry_id} repeated.")
        seen.add(entry_id)


def check_entries_have(entries: Sequence[Document], entry_shape: str, member: str) -> None:
    """Refuse a batch in which an entry lacks a required member. Errors: MissingRequiredParameterException."""
    for position, entry in enumerate(entries, start=1):
        if entry.get(member) in (None, ""):
            raise missing_parameter(f"{entry_shape}.{position}.{member}")


def failed_entry(id: str, error: ServiceError) -> Document:
    """A failed entry, in the form of a batch answer."""
    return {
        "Id": id,
        "SenderFault": error.fault == "client",
        "Code": _ENTRY_CODES.get(error.code, error.code),
        "Message": error.message,
    }


def batch_answer(successful: Sequence[Document], failed: Sequence[Document]) -> Document:
    """The answer of a batch operation; an empty list is left out."""
    return {key: entries for key, entries in (("Successful", successful), ("Failed", failed)) if entries}
