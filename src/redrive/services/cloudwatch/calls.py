"""How alarms call what their actions name: as CloudWatch, for the alarm. The target's own policy decides.

Sources: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Notify_Users_Alarm_Changes.html,
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-actions-Lambda.html
"""

from __future__ import annotations

from redrive.core.entropy import new_row_id
from redrive.core.scope import Caller, Scope
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

TOPIC_PRINCIPAL = "cloudwatch.amazonaws.com"
FUNCTION_PRINCIPAL = "lambda.alarms.cloudwatch.amazonaws.com"


def action_kind(arn: str) -> str | None:
    """The service that an action calls: `sns` or `lambda`; None for those that redrive does not perform."""
    service = arn.split(":", 3)[2] if arn.count(":") >= 5 else ""
    return service if service in ("sns", "lambda") else None


def alarm_caller(tx: Transaction, delivery: Delivery, principal: str) -> Caller:
    """CloudWatch, which acts for an alarm."""
    region = delivery.target_arn.split(":", 4)[3]
    return Caller(
        Scope(delivery.scope.account, region), new_row_id(tx.entropy, tx.now), service=principal,
        source_arn=delivery.source_arn,
    )  # fmt: skip
