"""A ticket is `opened` before it is `assigned`, and one that nobody takes stays `opened`: a state, and no lease.

trigger: sqs
messages: [{"id": "t-1", "team": "ops"}, {"id": "t-2"}]
rule: safe
faults: 1
"""

import json

import boto3

tickets = boto3.resource("dynamodb").Table("tickets")


def handler(event, context):
    for record in event["Records"]:
        ticket = json.loads(record["body"])
        tickets.put_item(Item={"id": ticket["id"], "state": "opened"})
        if "team" in ticket:
            tickets.update_item(
                Key={"id": ticket["id"]},
                UpdateExpression="SET #state = :assigned",
                ExpressionAttributeNames={"#state": "state"},
                ExpressionAttributeValues={":assigned": "assigned"},
            )
