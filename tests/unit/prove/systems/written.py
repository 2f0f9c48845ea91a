"""Systems of known truth: SAM templates with their functions, written into a directory."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

HEAD = """
Transform: AWS::Serverless-2016-10-31
Globals: {Function: {Runtime: python3.12, Handler: app.handler, Timeout: 10}}
Resources:
"""

FORWARDS = """
import json, os, boto3

def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        for queue in os.environ["QUEUES"].split():
            boto3.client("sqs").send_message(QueueUrl=queue, MessageBody=json.dumps({"order": order["order"]}))
"""

PUTS_BY_ORDER = """
import json, os, boto3

def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item={"id": {"S": order["order"]}})
"""

COUNTS = """
import json, os, boto3

def handler(event, context):
    for record in event["Records"]:
        order = json.loads(record["body"])
        boto3.client("dynamodb").update_item(
            TableName=os.environ["TABLE"], Key={"id": {"S": "all"}}, UpdateExpression="ADD orders :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )
"""

SWALLOWS = """
import json, os, boto3

def handler(event, context):
    for record in event["Records"]:
        try:
            order = json.loads(record["body"])
            boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item={"id": {"S": order["order"]}})
        except Exception as error:
            print("failed", error)
"""


def queue(name: str, *, letters: str = "Dead") -> str:
    """A queue with dead letters after three receives."""
    policy = f"RedrivePolicy: {{deadLetterTargetArn: !GetAtt {letters}.Arn, maxReceiveCount: 3}}"
    return f"{name}: {{Type: AWS::SQS::Queue, Properties: {{VisibilityTimeout: 60, {policy}}}}}\n"


LETTERS = "DeadLetterQueue: {Type: SQS, TargetArn: !GetAtt Dead.Arn}"
"""A member of functions that events invoke."""


def function(name: str, event: str = "", variables: str = "", *, more: str = "") -> str:
    """A function with its code in a folder of its name."""
    return dedent(f"""
        {name}:
          Type: AWS::Serverless::Function
          Properties:
            CodeUri: {name}/
            Environment: {{Variables: {{{variables}}}}}
            Events: {{{event}}}
            {more}
    """)


def fed_by(queue: str) -> str:
    """The event of a function that a queue feeds."""
    return f"Fed: {{Type: SQS, Properties: {{Queue: !GetAtt {queue}.Arn, BatchSize: 1}}}}"


def written(directory: Path, *resources: str, **codes: str) -> Path:
    """Write a template and the code of its functions; returns the template."""
    for name, code in codes.items():
        (directory / name).mkdir()
        (directory / name / "app.py").write_text(code)
    template = directory / "template.yaml"
    template.write_text(HEAD + "".join(indent(dedent(one), "  ") for one in resources))
    return template


DEAD = "Dead: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600}}\n"


def table(name: str, more: str = "") -> str:
    """A table with the key `id`."""
    return (
        f"{name}: {{Type: AWS::DynamoDB::Table, Properties: {{BillingMode: PAY_PER_REQUEST, "
        f"AttributeDefinitions: [{{AttributeName: id, AttributeType: S}}], "
        f"KeySchema: [{{AttributeName: id, KeyType: HASH}}]{more}}}}}\n"
    )


STREAMED = ", StreamSpecification: {StreamViewType: NEW_AND_OLD_IMAGES}"
