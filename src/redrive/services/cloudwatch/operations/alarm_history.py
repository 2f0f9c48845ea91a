"""DescribeAlarmHistory."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.cloudwatch import limits
from redrive.services.cloudwatch.model.alarm import alarm_arn
from redrive.services.cloudwatch.model.metric import validation_error
from redrive.services.cloudwatch.model.tokens import read_token, write_token
from redrive.store.api import Transaction

_ASCENDING = "TimestampAscending"


@operation("DescribeAlarmHistory")
def describe_alarm_history(
    tx: Transaction, caller: Caller, *, alarm_name: str | None = None, alarm_contributor_id: str | None = None,
    alarm_types: Sequence[str] | None = None, history_item_type: str | None = None,
    start_date: Instant | None = None, end_date: Instant | None = None, max_records: int | None = None,
    next_token: str | None = None, scan_by: str | None = None,
) -> Document:  # fmt: skip
    """List what has happened to alarms, deleted ones included: the newest first, unless asked otherwise.

    Errors: ValidationError (dates in the wrong order); InvalidNextToken.
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DescribeAlarmHistory.html
    """
    arn = alarm_arn(caller.scope, alarm_name or "*")
    tx.services.authorize(tx, caller, "cloudwatch:DescribeAlarmHistory", arn)
    start, end = start_date or 0, tx.now + 1 if end_date is None else end_date
    if start > end:
        raise validation_error("The parameter StartDate must not be later than the parameter EndDate.")
    request = [
        alarm_name, alarm_contributor_id, alarm_types, history_item_type, start_date, end_date, scan_by
    ]  # fmt: skip
    found = tx.alarm_history.between(
        str(caller.scope), max(start, tx.now - limits.HISTORY_KEPT_MS), end, alarm=alarm_name
    )
    types = alarm_types or (("MetricAlarm",) if alarm_name is None else None)
    shown = [
        item
        for item in found
        if history_item_type in (None, item.type)
        and (types is None or item.alarm_type in types)
        and alarm_contributor_id is None
    ]
    if scan_by != _ASCENDING:
        shown.reverse()
    offset = _offset(next_token, request, [item.id for item in shown])
    following = offset + (max_records or limits.HISTORY_PER_PAGE)
    page = [
        {
            "AlarmName": item.alarm, "AlarmType": item.alarm_type, "Timestamp": item.at,
            "HistoryItemType": item.type, "HistorySummary": item.summary, "HistoryData": item.data,
        }
        for item in shown[offset:following]
    ]  # fmt: skip
    token = write_token(request, shown[following - 1].id) if len(shown) > following else None
    return {"AlarmHistoryItems": page, "NextToken": token}


def _offset(token: str | None, request: object, ids: Sequence[str]) -> int:
    """Where a page begins: after the item that the token names. Items that came since do not move the pages."""
    if token is None:
        return 0
    last = read_token(token, request)
    if last not in ids:
        raise ServiceError("InvalidNextToken", "The specified next token is invalid.")
    return ids.index(str(last)) + 1
