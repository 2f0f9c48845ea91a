"""Logging configurations of machines.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/cw-logs.html
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.errors import ServiceError

OFF = "OFF"


def check_logging(configuration: Document | None) -> None:
    """Errors: InvalidLoggingConfiguration."""
    if not configuration or configuration.get("level", OFF) == OFF:
        return
    destinations = configuration.get("destinations") or []
    if len(destinations) != 1:
        raise _invalid("Must specify exactly one Log Destination.")
    if not log_group_of(configuration):
        raise _invalid("Log Destination must be a CloudWatch Logs log group ARN that ends with :*.")


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
