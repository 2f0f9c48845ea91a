"""Logging configurations of machines.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/cw-logs.html
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.stepfunctions.model.history import KeptEvent, shown_event

OFF = "OFF"

_ERRORS = ("Failed", "TimedOut", "Aborted")
_FATAL = frozenset({"ExecutionFailed", "ExecutionTimedOut", "ExecutionAborted"})


def check_logging(configuration: Document | None) -> None:
    """Errors: InvalidLoggingConfiguration."""
    if not configuration or configuration.get("level", OFF) == OFF:
        return
    destinations = configuration.get("destinations") or []
    if len(destinations) != 1:
        raise _invalid("Must specify exactly one Log Destination.")
    if not log_group_of(configuration):
        raise _invalid("Log Destination must be a CloudWatch Logs log group ARN that ends with :*.")


def is_logged(configuration: Document, event: KeptEvent) -> bool:
    """Whether an event is written at the configuration's level."""
    kind = str(event[3])
    match configuration.get("level", OFF):
        case "ALL":
            return True
        case "ERROR":
            return kind.endswith(_ERRORS)
        case "FATAL":
            return kind in _FATAL
        case _:
            return False


def record_of(event: KeptEvent, arn: str, redrives: int, *, with_data: bool) -> Document:
    """An event as a log has it."""
    shown = shown_event(event, with_data=with_data)
    details: Document = next((value for name, value in shown.items() if name.endswith("Details")), {})
    return {
        "id": str(shown["id"]), "type": shown["type"], "details": details,
        "previous_event_id": str(shown["previousEventId"]), "event_timestamp": str(shown["timestamp"]),
        "execution_arn": arn, "redrive_count": str(redrives),
    }  # fmt: skip


def log_group_of(configuration: Document) -> str:
    """The name of the log group to which events go; empty if there is none."""
    for destination in configuration.get("destinations") or []:
        arn = str((destination.get("cloudWatchLogsLogGroup") or {}).get("logGroupArn", ""))
        parts = arn.split(":")
        if len(parts) >= 7 and parts[2] == "logs" and parts[5] == "log-group":
            return parts[6]
    return ""


def _invalid(text: str) -> ServiceError:
    return ServiceError("InvalidLoggingConfiguration", f"Invalid Logging Configuration: {text}")
