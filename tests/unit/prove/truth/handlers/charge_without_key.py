"""The charge is posted without an idempotency key: an answer that is lost charges twice.

trigger: sqs
rule: repeated
cause: unrecorded
"""

import json
import urllib.request


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        request = urllib.request.Request(
            "https://api.example.com/charges",
            data=json.dumps({"amount": order["amount"]}).encode(),
            headers={"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=5).read()
