"""The report is written under the order's key: twice leaves what once leaves.

trigger: sqs
rule: safe
"""

import json

import boto3

reports = boto3.resource("dynamodb").Table("reports")


def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        reports.put_item(Item={"id": order["id"], "amount": order["amount"]})
