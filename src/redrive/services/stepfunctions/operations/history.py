"""The history of executions."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.pages import encode_token
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.stepfunctions.limits import PAGE_DEFAULT
from redrive.services.stepfunctions.model.history import shown_event
from redrive.services.stepfunctions.model.requests import read_page
from redrive.services.stepfunctions.operations.executions import the_row
from redrive.store.api import Transaction


@operation("GetExecutionHistory")
def get_execution_history(
    tx: Transaction, caller: Caller, *, execution_arn: str, max_results: int | None = None,
    reverse_order: bool = False, next_token: str | None = None, include_execution_data: bool = True,
) -> Document:  # fmt: skip
    """Show a page of an execution's events, in their order or the latest first.

    Errors: InvalidArn; ExecutionDoesNotExist; InvalidToken.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_GetExecutionHistory.html
    """
    tx.services.authorize(tx, caller, "states:GetExecutionHistory", execution_arn)
    row = the_row(tx, execution_arn)
    asked = ("GetExecutionHistory", execution_arn, str(reverse_order))
    token, limit = read_page(next_token, *asked), max_results or PAGE_DEFAULT
    if reverse_order:
        last = int(token) if token else row.events
        first = max(1, last - limit + 1)
        rest = str(first - 1) if first > 1 else ""
    else:
        first = int(token) if token else 1
        last = min(row.events, first + limit - 1)
        rest = str(last + 1) if last < row.events else ""
    events = tx.executions.events(row.id, first=first, last=last, reverse=reverse_order)
    answer: Document = {"events": [shown_event(event, with_data=include_execution_data) for event in events]}
    if rest:
        answer["nextToken"] = encode_token(rest, *asked)
    return answer
