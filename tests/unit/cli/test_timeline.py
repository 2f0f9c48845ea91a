"""The events of an execution as sentences: who did what, and what came of it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from redrive.cli.timeline import Event, sentence

QUEUE = "arn:aws:sqs:us-east-1:000000000000:orders"
DEAD = "arn:aws:sqs:us-east-1:000000000000:orders-dlq"
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:work"
SCHEDULE = "arn:aws:scheduler:us-east-1:000000000000:schedule/default/nightly"
ATTEMPT: dict[str, Any] = {"event": "attempted", "kind": "scheduler", "attempt": 2, "delivery_id": "d"}
FAILED: dict[str, Any] = {**ATTEMPT, "code": "Throttled", "message": "slow down"}


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (
            {"event": "began", "kind": "scheduler", "source": SCHEDULE, "target": QUEUE},
            "schedule default/nightly fired for queue orders",
        ),
        (
            {"event": "began", "kind": "batch", "source": QUEUE, "target": FUNCTION, "delivery_id": "b-1"},
            "function work began batch b-1 from queue orders",
        ),
        (
            {"event": "began", "kind": "lambda", "target": FUNCTION, "delivery_id": "e-1", "cause": "b-1"},
            "function work accepted event e-1, because of b-1",
        ),
        (
            {"event": "began", "kind": "lambda", "target": f"{FUNCTION}:live", "delivery_id": "e-1"},
            "function work:live accepted event e-1",
        ),
        (
            {
                "event": "moved",
                "kind": "redrive",
                "plan": "plan.json",
                "why": "m-1",
                "led_to": "m-2",
                "source": DEAD,
                "target": QUEUE,
            },
            "dead letter m-1 was sent again from queue orders-dlq to queue orders as m-2, by plan.json",
        ),
        ({**ATTEMPT, "state": "delivered", "led_to": "m-1"}, "attempt 2 succeeded and sent message m-1"),
        ({**ATTEMPT, "state": "delivered"}, "attempt 2 succeeded"),
        (
            {**ATTEMPT, "state": "delivered", "log_stream": "s-1"},
            "attempt 2 succeeded; its lines are in log stream s-1",
        ),
        (
            {**FAILED, "state": "retrying", "next": "2025-01-01T00:00:02Z"},
            "attempt 2 failed with Throttled: slow down; the next attempt is at 2025-01-01T00:00:02Z",
        ),
        (
            {**FAILED, "state": "dead-lettered", "led_to": "m-2", "arn": DEAD},
            "attempt 2 failed with Throttled: slow down; dead letter m-2 went to queue orders-dlq",
        ),
        (
            {**FAILED, "state": "dropped", "why": "no dead-letter queue"},
            "attempt 2 failed with Throttled: slow down; the event was dropped: no dead-letter queue",
        ),
        ({**FAILED, "state": "gave up"}, "attempt 2 failed with Throttled: slow down; nothing is tried any more"),
        (
            {**FAILED, "kind": "batch", "state": "returned"},
            "batch d failed with Throttled: slow down; its messages went back",
        ),
        ({**ATTEMPT, "kind": "batch", "state": "returned", "why": "lease over"}, "batch d ended: lease over"),
        (
            {**ATTEMPT, "kind": "batch", "state": "delivered", "why": "records 1 to 3 (3 records)"},
            "batch d succeeded with records 1 to 3 (3 records)",
        ),
        (
            {
                "event": "attempted",
                "kind": "scheduler",
                "state": "missed",
                "source": SCHEDULE,
                "why": "nothing ran",
            },
            "schedule default/nightly did not fire: nothing ran",
        ),
        (
            {
                "event": "received",
                "delivery_id": "b-1",
                "led_to": "m-1",
                "receive_count": 3,
                "state": "returned",
            },
            "batch b-1 had message m-1 (receive 3) and gave it back",
        ),
        (
            {
                "event": "received",
                "delivery_id": "b-1",
                "led_to": "m-1",
                "receive_count": 1,
                "state": "delivered",
            },
            "batch b-1 had message m-1 (receive 1) and was done with it",
        ),
        (
            {"event": "told", "kind": "destination", "arn": QUEUE, "led_to": "m-3"},
            "destination queue orders was told by m-3",
        ),
        (
            {"event": "told", "kind": "destination", "arn": QUEUE, "code": "AccessDenied", "message": "no"},
            "destination queue orders was not told: AccessDenied: no",
        ),
        (
            {
                "event": "moved",
                "kind": "redrive policy",
                "source": QUEUE,
                "target": DEAD,
                "why": "m",
                "led_to": "m",
            },
            "the redrive policy moved message m from queue orders to queue orders-dlq",
        ),
        (
            {
                "event": "moved",
                "kind": "move task",
                "source": DEAD,
                "target": QUEUE,
                "why": "m-1",
                "led_to": "m-9",
            },
            "the move task moved message m-1 from queue orders-dlq to queue orders as message m-9",
        ),
    ],
)
def test_event_is_one_sentence(event: dict[str, Any], told: str) -> None:
    assert sentence(cast("Event", event)) == told


def test_what_is_no_arn_is_named_as_it_is() -> None:
    event = {"event": "told", "kind": "destination", "arn": "somewhere", "led_to": "m"}

    assert sentence(cast("Event", event)) == "destination somewhere was told by m"
