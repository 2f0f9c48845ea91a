"""Lets a customer change the address of an order."""

import json

import tables


def handler(event, _context):
    order_id = event["pathParameters"]["order_id"]
    address = json.loads(event["body"])
    tables.orders().update_item(
        Key={"order_id": order_id},
        UpdateExpression="SET address = :address",
        ExpressionAttributeValues={":address": {"street": address["street"], "city": address["city"]}},
    )
    return {"statusCode": 204}
