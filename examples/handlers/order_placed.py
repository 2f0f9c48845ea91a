"""Answering an event of a bus once, in two functions that follow the same events.

Why you would want it: EventBridge delivers an event at least once, and Lambda's own queue runs a failed one again. The
event's id is the same each time. Two functions that keep their executions in one table must not take each other's
results: the prefix tells them apart, and without it the second one raises KeyShared instead of doing nothing.

Needs: EXECUTIONS_TABLE; a rule that invokes both functions.
"""

import os

from redrive.handler import DynamoDBLedger, event_id, idempotent

ledger = DynamoDBLedger(os.environ["EXECUTIONS_TABLE"])
letters: list[str] = []
parcels: list[str] = []


@idempotent(key=event_id(), ledger=ledger, prefix="confirm/")
def confirm(event: dict[str, dict[str, str]], _context: object) -> None:
    letters.append(event["detail"]["order"])


@idempotent(key=event_id(), ledger=ledger, prefix="ship/")
def ship(event: dict[str, dict[str, str]], _context: object) -> None:
    parcels.append(event["detail"]["order"])
