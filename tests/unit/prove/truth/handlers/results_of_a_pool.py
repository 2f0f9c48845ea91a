"""Nobody asks the futures of a pool for their results, so an error in one of its threads is seen by nobody.

trigger: sqs
rule: lost
cause: dropped on an error path
"""

import json
from concurrent.futures import ThreadPoolExecutor

import boto3

orders = boto3.resource("dynamodb").Table("orders")


def handler(event, context):
    with ThreadPoolExecutor(4) as pool:
        for record in event["Records"]:
            pool.submit(orders.put_item, Item=json.loads(record["body"]))
