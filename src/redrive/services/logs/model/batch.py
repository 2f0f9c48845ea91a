"""Check a batch of PutLogEvents as a whole, and decide which of its events are accepted.

Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.services.logs import limits
from redrive.services.logs.model.group import invalid_parameter

ENTITY_KEYS = frozenset({"Type", "ResourceType", "Identifier", "Name", "Environment"})


@dataclass(frozen=True, slots=True)
class Batch:
    """The accepted events, and AWS's report about the rejected ones."""

    accepted: Sequence[Document]
    rejected: Document | None

    @property
    def bytes(self) -> int:
        """The size of the accepted events in bytes, as AWS counts."""
        return sum(event_bytes(event["message"]) for event in self.accepted)


def event_bytes(message: str) -> int:
    """Return the size of an event in bytes, as AWS counts."""
    return len(message.encode()) + limits.EVENT_OVERHEAD_BYTES


def sort_out(events: Sequence[Document], *, now: Instant, kept_since: Instant) -> Batch:
    """Check a batch; leave out events that are too old, expired or too new. Errors: InvalidParameterException."""
    size = sum(event_bytes(event["message"]) for event in events)
    if size > limits.BATCH_BYTES_MAX:
        raise invalid_parameter(f"Upload too large: {size} bytes exceeds limit of {limits.BATCH_BYTES_MAX}")
    times: list[Instant] = [event["timestamp"] for event in events]
    if any(earlier > later for earlier, later in pairwise(times)):
        raise invalid_parameter("Log events in a single PutLogEvents request must be in chronological order.")
    too_old = sum(at < now - limits.EVENT_AGE_MS_MAX for at in times)
    expired = sum(at < kept_since for at in times)
    valid_until = sum(at <= now + limits.EVENT_FUTURE_MS_MAX for at in times)
    valid_from = max(too_old, expired)
    valid = times[valid_from:valid_until]
    if valid and valid[-1] - valid[0] > limits.BATCH_SPAN_MS_MAX:
        raise invalid_parameter(
            "The batch of log events in a single PutLogEvents request cannot span more than 24 hours."
        )
    rejected: Document = {}
    if too_old:
        rejected["tooOldLogEventEndIndex"] = too_old
    if expired > too_old:
        rejected["expiredLogEventEndIndex"] = expired
    if valid_until < len(times):
        rejected["tooNewLogEventStartIndex"] = valid_until
    return Batch(events[valid_from:valid_until], rejected or None)


def rejected_entity(entity: Document | None) -> Document | None:
    """Return why an entity is rejected, or None. The events are accepted in both cases; entities are not stored."""
    if entity is None:
        return None
    keys: Mapping[str, str] = entity.get("keyAttributes") or {}
    if "Type" not in keys:
        return {"errorType": "MissingRequiredFields"}
    return None if set(keys) <= ENTITY_KEYS else {"errorType": "InvalidKeyAttributes"}
