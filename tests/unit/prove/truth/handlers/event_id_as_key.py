"""The event's id is the key, and a producer that publishes its event again gives it another id.

trigger: eventbridge
event: {"source": "shop", "detail-type": "placed", "detail": {"order_id": "order-1"}}
rule: repeated
cause: key of the delivery
change: safe
"""

import boto3

invoices = boto3.resource("dynamodb").Table("invoices")


def handler(event, context):
    invoices.put_item(Item={"id": event["id"], "order": event["detail"]["order_id"]})
