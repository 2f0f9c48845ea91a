"""The entries of PutEvents: their sizes, and what is wrong with one.

Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEventsRequestEntry.html
"""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.documents import Document
from redrive.services.events.limits import TIME_BYTES

AWS_SOURCES = "aws."
"""What the sources of AWS's own events begin with."""

_REQUIRED = ("Source", "DetailType", "Detail")


def entry_bytes(entry: Mapping[str, object]) -> int:
    """The size of an entry as AWS counts it: its texts in UTF-8, and 14 bytes for a time.

    Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevents.html
    """
    size = TIME_BYTES if entry.get("Time") is not None else 0
    for name in _REQUIRED:
        text = entry.get(name)
        if isinstance(text, str):
            size += len(text) if text.isascii() else len(text.encode())
    resources = entry.get("Resources")
    return size + sum(len(one.encode()) for one in resources) if isinstance(resources, list) else size


def fault_of(entry: Mapping[str, object]) -> Document | None:
    """The result of an entry that cannot be accepted, whatever its Detail says; None if nothing is wrong so far."""
    for name in _REQUIRED:
        if not entry.get(name):
            reason = f"Parameter {name} is not valid. Reason: {name} is a required argument."
            return {"ErrorCode": "InvalidArgument", "ErrorMessage": reason}
    if str(entry["Source"]).startswith(AWS_SOURCES):
        return {"ErrorCode": "NotAuthorizedForSourceException", "ErrorMessage": "Not authorized for the source."}
    return None
