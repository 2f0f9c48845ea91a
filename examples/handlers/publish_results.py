"""Asking another function with a circuit breaker, publishing what came of it, and counting the rest.

Why you would want it: PutEvents answers 200 although some events failed, so a function that only looks for exceptions
loses them. Here failed events are sent again, and those that stay behind make the function fail, which leaves its
message in the queue. A price function that is down is left alone for a minute instead of being called by every message.

Needs: EXECUTIONS_TABLE, BUS, and PRICE_FUNCTION, which may be called twice for one order.
"""

import json
import os
from typing import cast

import boto3

from redrive.handler import (
    CircuitBreaker,
    DynamoDBLedger,
    Metrics,
    SqsRecord,
    TokenBucket,
    idempotent,
    invoke_lambda,
    path,
    put_events,
    sqs_batch,
)

ledger = DynamoDBLedger(os.environ["EXECUTIONS_TABLE"])
prices = CircuitBreaker("prices", cells=ledger)
limiter = TokenBucket(rate_per_s=50, burst=50)
lambda_client, events_client = boto3.client("lambda"), boto3.client("events")


class NotPublished(Exception):
    """Some events stayed behind; the next delivery publishes again."""


@idempotent(key=path("body.order"), ledger=ledger, prefix="priced#")
def run(record: SqsRecord) -> dict[str, int]:
    order = json.loads(record["body"])
    answer = prices.call(invoke_lambda, lambda_client, os.environ["PRICE_FUNCTION"], order, repeatable=True)
    priced = cast("dict[str, dict[str, int]]", answer)["lines"]
    lines = [{"order": order["order"], "line": line, "cents": cents} for line, cents in priced.items()]
    entries = [
        {"Source": "orders", "DetailType": "Line Priced", "Detail": json.dumps(line), "EventBusName": os.environ["BUS"]}
        for line in lines
    ]
    report = put_events(events_client, entries, limiter=limiter)
    metrics = Metrics("Orders", {"Function": "publish"})
    metrics.add("EventsSent", len(report.sent))
    metrics.add("EventsLeft", len(report.left))
    metrics.write()
    if not report.is_complete:
        raise NotPublished(f"{len(report.left)} events: {report.left[0].code}")
    return {"lines": len(report.sent)}


handler = sqs_batch(run)
