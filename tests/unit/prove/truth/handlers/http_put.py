"""PUT sets the order's state, which is the same when it is set twice.

trigger: sqs
rule: safe
"""

import json
import urllib.request


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        request = urllib.request.Request(
            f"https://api.example.com/orders/{order['id']}",
            data=json.dumps({"state": "paid"}).encode(),
            headers={"Content-Type": "application/json"},
            method="PUT",
        )
        urllib.request.urlopen(request, timeout=5).read()
