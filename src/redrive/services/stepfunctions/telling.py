"""What executions tell: events for the default bus, when their status changes.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/eventbridge-integration.html
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.own_events import OwnEvent
from redrive.services.stepfunctions.executions import Live, row_of
from redrive.services.stepfunctions.model.execution import shown_execution
from redrive.store.api import Transaction

SOURCE = "aws.states"
STATUS_CHANGE = "Step Functions Execution Status Change"


def tell_status(tx: Transaction, live: Live) -> None:
    """Tell the default bus of the status of a standard execution."""
    if not live.execution.is_express:
        tx.services.publish_event(tx, live.execution.scope, lambda: _event(tx, live))


def _event(tx: Transaction, live: Live) -> OwnEvent:
    shown = shown_execution(row_of(live, tx.now), live.execution, live.progress.position, tx.now, with_data=True)
    absent = ("stopDate", "output", "error", "cause", "stateMachineVersionArn", "stateMachineAliasArn", "redriveDate")
    detail: Document = {**dict.fromkeys(absent), **shown}
    detail.setdefault("outputDetails", None)
    return OwnEvent(SOURCE, STATUS_CHANGE, detail, (live.arn,))
