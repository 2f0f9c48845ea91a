"""Adds a delivery to the stock: its supplier puts a file into the bucket."""

import json
from urllib.parse import unquote_plus

import boto3
import tables

s3 = boto3.client("s3")


def handler(event, _context):
    stock = tables.stock()
    for record in event["Records"]:
        bucket = record["s3"]["bucket"]["name"]
        key = unquote_plus(record["s3"]["object"]["key"])
        delivery = json.load(s3.get_object(Bucket=bucket, Key=key)["Body"])
        stock.update_item(
            Key={"sku": delivery["sku"]},
            UpdateExpression="ADD quantity :delivered",
            ExpressionAttributeValues={":delivered": delivery["quantity"]},
        )
