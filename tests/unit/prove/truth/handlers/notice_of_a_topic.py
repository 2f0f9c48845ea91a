"""A notice of SNS is written under the order that its message names.

trigger: lambda
event: {"Records": [{"EventSource": "aws:sns", "Sns": {"MessageId": "m-1", "Message": "order-1"}}]}
rule: safe
"""

import boto3

notices = boto3.resource("dynamodb").Table("notices")


def handler(event, context):
    for record in event["Records"]:
        notices.put_item(Item={"id": record["Sns"]["Message"]})
