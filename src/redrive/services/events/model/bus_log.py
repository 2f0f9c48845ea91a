"""The records that a bus writes about its events, step by step.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-logs-schema.html
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_json
from redrive.services.events.limits import LOG_RECORD_BYTES_MAX
from redrive.services.events.model.bus import BusReference
from redrive.services.events.model.event import Event

STREAM = "EventBridgeEventBusLogs"
"""The log stream of all records of a bus in a group."""

FULL = "FULL"

INGESTED = "EVENT_INGEST_SUCCESS"
NOT_INGESTED = "EVENT_INGEST_FAILURE"
RECEIVED = "EVENT_RECEIPT"
MATCH_BEGUN = "RULE_MATCH_START"
MATCHED = "RULE_MATCH"
NOTHING_MATCHED = "NO_STANDARD_RULES_MATCHED"
BEGUN = "INVOCATION_START"
DELAYED = "INVOCATION_THROTTLE_START"
ATTEMPT_BEGUN = "INVOCATION_ATTEMPT_START"
ATTEMPT_SUCCEEDED = "INVOCATION_ATTEMPT_SUCCESS"
ATTEMPT_RETRIED = "INVOCATION_ATTEMPT_RETRYABLE_FAILURE"
ATTEMPT_THROTTLED = "INVOCATION_ATTEMPT_THROTTLE"
ATTEMPT_REFUSED = "INVOCATION_ATTEMPT_PERMANENT_FAILURE"
SUCCEEDED = "INVOCATION_SUCCESS"
FAILED = "INVOCATION_FAILURE"
DEAD_LETTERED = "INVOCATION_DLQ"

_ERROR, _INFO, _TRACE = "ERROR", "INFO", "TRACE"
_LEVEL_OF: Mapping[str, str] = {
    NOT_INGESTED: _ERROR, ATTEMPT_RETRIED: _ERROR, ATTEMPT_THROTTLED: _ERROR, ATTEMPT_REFUSED: _ERROR, FAILED: _ERROR,
    DEAD_LETTERED: _ERROR,
    INGESTED: _INFO, RECEIVED: _INFO, MATCHED: _INFO, NOTHING_MATCHED: _INFO, SUCCEEDED: _INFO, DELAYED: _INFO,
    MATCH_BEGUN: _TRACE, BEGUN: _TRACE, ATTEMPT_BEGUN: _TRACE, ATTEMPT_SUCCEEDED: _TRACE,
}  # fmt: skip
_WRITTEN_AT: Mapping[str, frozenset[str]] = {
    _ERROR: frozenset({_ERROR}), _INFO: frozenset({_ERROR, _INFO}), _TRACE: frozenset({_ERROR, _INFO, _TRACE}),
}  # fmt: skip
"""The levels of the records that a bus of each level writes; OFF writes none."""

_DETAIL_FIELDS = ("event_detail", "target_input", "target_properties", "target_response_body")
"""What a record of `IncludeDetail: NONE` leaves out, and what one that is too long drops first."""

_UUID_DIGITS = 32


def log_type(level: str) -> str:
    """The type of log, as delivery sources name it, that has the records of a level."""
    return f"{level}_LOGS"


def levels_written(config: Document | None) -> frozenset[str]:
    """The levels of the records that a bus with this LogConfig writes."""
    return _WRITTEN_AT.get(str((config or {}).get("Level", "OFF")), frozenset())


@dataclass(frozen=True, slots=True)
class BusLog:
    """What is to be written about the events of one bus: the records by their level, in order.

    `levels` are those that the bus writes and somebody takes.
    """

    bus: BusReference
    levels: frozenset[str]
    is_full: bool
    at: Instant
    records: dict[str, list[Document]] = field(default_factory=dict)

    def add(
        self, message_type: str, details: Document, *, event_id: str = "", invocation_id: str = "",
        request_id: str = "", error: Document | None = None,
    ) -> None:  # fmt: skip
        """Add a record, if its level is written."""
        level = _LEVEL_OF[message_type]
        if level not in self.levels:
            return
        ids = {"request_id": request_id, "event_id": event_id, "invocation_id": invocation_id}
        shown = {name: value for name, value in details.items() if value is not None}
        if not self.is_full:
            shown = {name: value for name, value in shown.items() if name not in _DETAIL_FIELDS}
        record: Document = {
            "resource_arn": self.bus.arn, "event_bus_name": self.bus.name,
            **{name: value for name, value in ids.items() if value}, "message_timestamp_ms": self.at,
            "message_type": message_type, "log_level": level, "details": shown,
            **({"error": error} if error else {}),
        }  # fmt: skip
        self.records.setdefault(log_type(level), []).append(_fitting(record))


def event_details(event: Event, *, source_time: Instant) -> Document:
    """The details of a step with an event."""
    document = event.document
    return {
        "caller_account_id": document["account"], "source_time_ms": source_time, "source": document["source"],
        "detail_type": document["detail-type"], "resources": document["resources"],
        "event_detail": dump_json(document["detail"]),
    }  # fmt: skip


def invocation_id(delivery_id: str) -> str:
    """The id of an invocation: the same in all records about one delivery."""
    digits = hashlib.sha256(delivery_id.encode()).hexdigest()[:_UUID_DIGITS]
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _fitting(record: Document) -> Document:
    """A record that is not too long: what is dropped of its details is named."""
    if len(dump_json(record)) <= LOG_RECORD_BYTES_MAX // 4 or len(dump_json(record).encode()) <= LOG_RECORD_BYTES_MAX:
        return record
    details = record["details"]
    left = {name: value for name, value in details.items() if name not in _DETAIL_FIELDS}
    return {**record, "details": left, "dropped_fields": [name for name in details if name not in left]}
