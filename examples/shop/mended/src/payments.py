"""The payment service."""

import json
import os
import urllib.request


def charge(order_id, amount):
    request = urllib.request.Request(
        f"{os.environ['PAYMENTS_URL']}/charges/{order_id}",
        data=json.dumps({"amount": amount}).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['PAYMENTS_KEY']}",
            "Content-Type": "application/json",
        },
        method="PUT",
    )
    with urllib.request.urlopen(request, timeout=5) as response:
        return json.load(response)
