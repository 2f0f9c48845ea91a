"""Imports a file of which CloudTrail tells: reads the number in it. Until it is mended it cannot read `1,200`."""

import json
import os

import boto3


def handler(event, _):
    """Import the file, and print what was done with it."""
    named = event["detail"]["requestParameters"]
    told = {"key": named["key"], "source": event["source"], "id": event["id"], "eventID": event["detail"]["eventID"]}
    try:
        content = boto3.client("s3").get_object(Bucket=named["bucketName"], Key=named["key"])["Body"].read().decode()
        amount = int(content.replace(",", "") if os.environ["READS_COMMAS"] == "yes" else content)
    except Exception as error:
        print(json.dumps({"file": {**told, "did": f"failed: {type(error).__name__}: {error}"}}))
        raise
    print(json.dumps({"file": {**told, "did": f"imported {amount}"}}))
