"""The function of all modes: it fails at a poisoned order, and does not know who calls it.

It logs one line for each attempt: what it was given, and how it ends.
"""

import base64
import json


def orders_in(event):
    """The orders of an event, whoever has made it."""
    for record in event.get("Records", ()):
        if "kinesis" in record:
            yield json.loads(base64.b64decode(record["kinesis"]["data"]))
        elif "dynamodb" in record:
            image = record["dynamodb"]["NewImage"]
            yield {"order": image["order"]["S"], "poisoned": "poisoned" in image}
        else:
            yield json.loads(record["body"])
    if "Records" not in event:
        yield event


def handler(event, context):
    records = event.get("Records", [{}])
    orders = list(orders_in(event))
    poisoned = [order["order"] for order in orders if order["poisoned"]]
    error = f"order {poisoned[0]} cannot be done" if poisoned else None
    attempt = {
        "request": context.aws_request_id,
        "from": records[0].get("eventSource"),
        "orders": [order["order"] for order in orders],
        "received": records[0].get("attributes", {}).get("ApproximateReceiveCount"),
        "error": error,
    }
    print(json.dumps({"attempt": attempt}))
    if error:
        raise ValueError(error)
    return {"done": attempt["orders"]}
