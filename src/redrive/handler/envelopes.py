"""Types of the events that EventBridge delivers, directly or as the body of an SQS message.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-events-structure.html
"""

from __future__ import annotations

import json
from typing import Any, Generic, NotRequired, TypedDict, TypeVar

from redrive.handler.records import SqsRecord

D = TypeVar("D")

# Two names have hyphens, which only this form can write; it cannot be generic, so the class below adds the detail.
_Envelope = TypedDict(
    "_Envelope",
    {
        "version": str,
        "id": str,
        "detail-type": str,
        "source": str,
        "account": str,
        "time": str,
        "region": str,
        "resources": list[str],
        "replay-name": NotRequired[str],
    },
)

_REQUIRED = ("id", "detail-type", "source", "detail")
SHOWN_CHARS_MAX = 80


class EventBridgeEvent(_Envelope, Generic[D]):
    """An event of EventBridge, with the type of its detail.

        class Order(TypedDict):
            id: str

        def handler(event: EventBridgeEvent[Order], context: object) -> None:
            charge(event["detail"]["id"])

    `id` is the same in all deliveries of the event. `replay-name` is there only if an archive has replayed the event.
    """

    detail: D


def wrapped_event(record: SqsRecord) -> EventBridgeEvent[Any]:
    """The event in a message that a rule has sent to a queue, or to its dead-letter queue.

    A rule whose target has an input transformer sends something else. Errors: ValueError, which leaves the message in
    its queue, if the body is no event.
    """
    body = record["body"]
    try:
        event = json.loads(body)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise ValueError(f"message {record['messageId']} holds no event of EventBridge: {body[:SHOWN_CHARS_MAX]!r}")
    missing = [name for name in _REQUIRED if name not in event]
    if missing:
        raise ValueError(
            f"message {record['messageId']} holds no event of EventBridge: it has no {', '.join(missing)}; "
            "a rule sends the whole event if its target has no Input, InputPath or InputTransformer"
        )
    found: EventBridgeEvent[Any] = event  # type: ignore[assignment]  # Checked as far as it needs to be.
    return found
