"""The environment keeps a rate that nothing changes: which run has read it makes no difference.

trigger: sqs
rule: safe
"""

import functools
import json

import boto3

tables = boto3.resource("dynamodb")


@functools.cache
def rate(country):
    return tables.Table("rates").get_item(Key={"country": country}).get("Item", {}).get("rate", 1)


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        tables.Table("orders").put_item(Item={"id": order["id"], "owed": order["amount"] * rate("de")})
