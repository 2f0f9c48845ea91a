"""The invoice stands under the request id: a caller that invokes the function again gets a second invoice.

trigger: lambda
event: {"id": "order-1", "amount": 5}
rule: repeated
cause: key of the delivery
change: safe
"""

import boto3

invoices = boto3.resource("dynamodb").Table("invoices")


def handler(event, context):
    invoices.put_item(Item={"id": context.aws_request_id, "order": event["id"], "amount": event["amount"]})
