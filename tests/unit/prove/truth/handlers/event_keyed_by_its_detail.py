"""The invoice stands under the order that the event's detail names.

trigger: eventbridge
event: {"source": "shop", "detail-type": "placed", "detail": {"order_id": "order-1"}}
rule: safe
"""

import boto3

invoices = boto3.resource("dynamodb").Table("invoices")


def handler(event, context):
    order = event["detail"]["order_id"]
    invoices.put_item(Item={"id": order, "event": event["detail-type"]})
