"""The charge carries the order as its idempotency key, and the API remembers keys longer than a message lives.

trigger: sqs
given: {"http": [{"request": "POST https://api.example.com/charges", "body": {"id": "ch-1"}, "key_memory_h": 1000}]}
rule: safe
"""

import json
import urllib.request


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        request = urllib.request.Request(
            "https://api.example.com/charges",
            data=json.dumps({"amount": order["amount"]}).encode(),
            headers={"Content-Type": "application/json", "Idempotency-Key": order["id"]},
        )
        urllib.request.urlopen(request, timeout=5).read()
