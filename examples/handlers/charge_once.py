"""Charging a card once, even if the order is redriven days after its first try.

Why you would want it: payment services know an idempotency key again for a day or so, and an order may wait in a
dead-letter queue for two weeks. Redriven on Monday, an order that was charged on Friday, just before its function died,
would be charged again: the key is forgotten. An effect knows how long the key is remembered, and asks before it charges
when that is over.

Needs: ORDERS_LEDGER, the path of a file; PAYMENTS_URL, a service that takes an Idempotency-Key.
"""

import json
import os
import urllib.request
from datetime import timedelta

from redrive.handler import SqliteLedger, effect, idempotent, path, retry

ledger = SqliteLedger(os.environ["ORDERS_LEDGER"])
PAYMENTS_URL = os.environ["PAYMENTS_URL"]


@retry()
def call(method: str, url: str, body: object = None, headers: dict[str, str] | None = None) -> dict[str, object]:
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, content, headers or {}, method=method)
    with urllib.request.urlopen(request, timeout=5) as answer:
        found: dict[str, object] = json.load(answer)
        return found


def find_charge(_idempotency_key: str, order: str, _cents: int) -> object:
    charges = call("GET", f"{PAYMENTS_URL}/charges?order={order}")["charges"]
    return charges[0] if isinstance(charges, list) and charges else None


@effect("charge", key_memory=timedelta(hours=24), lookup=find_charge)
def charge(idempotency_key: str, order: str, cents: int) -> dict[str, object]:
    body = {"order": order, "cents": cents}
    return call("POST", f"{PAYMENTS_URL}/charges", body, {"Idempotency-Key": idempotency_key})


@idempotent(key=path("order"), ledger=ledger, payload=lambda event, _: [event["order"], event["cents"]])
def handler(event: dict[str, object], _context: object) -> dict[str, object]:
    receipt = charge(str(event["order"]), int(str(event["cents"])))
    return {"charge": receipt["id"]}
