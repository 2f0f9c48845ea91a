"""How endpoints are called: who calls, and to which execution a delivery belongs."""

from __future__ import annotations

from redrive.core.entropy import new_row_id
from redrive.core.scope import Caller, Scope
from redrive.delivery.history.records import Origin
from redrive.services.sns.model.topic import PRINCIPAL
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery


def service_caller(tx: Transaction, delivery: Delivery, region: str) -> Caller:
    """SNS, which calls for a topic. The policy of what is called decides."""
    topic_arn = delivery.source_arn.rpartition(":")[0]
    scope = Scope(delivery.scope.account, region)
    trace = str(delivery.document.get("trace", ""))
    return Caller(
        scope, new_row_id(tx.entropy, tx.now), service=PRINCIPAL, source_arn=topic_arn, trace_header=trace
    )  # fmt: skip


def origin_of(delivery: Delivery) -> Origin:
    """The execution that caused the message; otherwise all deliveries of a message are one execution, its id."""
    document = delivery.document
    return Origin(document.get("execution") or document["message"]["id"], document.get("cause") or "")
