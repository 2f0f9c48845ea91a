"""Each order is booked once, and two different orders at once read the same balance: one of them is gone.

trigger: sqs
concurrent: 2
faults: 0
rule: changed
cause: read, modify, write
"""

import json

import boto3

accounts = boto3.resource("dynamodb").Table("accounts")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        account = accounts.get_item(Key={"account": "acc"}).get("Item", {"balance": 0, "booked": []})
        if order["id"] not in account["booked"]:
            balance, booked = account["balance"] + order["amount"], [*account["booked"], order["id"]]
            accounts.put_item(Item={"account": "acc", "balance": balance, "booked": booked})
