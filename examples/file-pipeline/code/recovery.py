"""What becomes of an event that did not start the state machine: again after 60, 300 and 900 s, mended, or people told.

The stages are the article's. The error stands in the attributes of the dead letter, and the execution has a name that
follows from the file, so that a start whose answer was lost is not a second execution.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import boto3
from botocore.exceptions import ClientError

ARN = "arn:aws:states:us-east-1:000000000000:stateMachine"
NAME = "csv-processor"
RULE = "s3-to-stepfunctions"
ROLE = "arn:aws:iam::000000000000:role/file-pipeline"
STAGES_S = (60, 300, 900)
TRANSIENT = ("THROTTLING", "SDK_CLIENT_ERROR", "Throttling", "Internal", "ServiceUnavailable", "TooManyRequests")
CONFIGURATION = ("DoesNotExist", "INVALID_PARAMETER", "NO_RESOURCE")
"""What EventBridge writes into a dead letter is its own code: INVALID_PARAMETER if the machine does not exist."""

events, s3, sfn, sns, sqs = (boto3.client(name) for name in ("events", "s3", "stepfunctions", "sns", "sqs"))


def execution_name(event: dict[str, Any]) -> str:
    """The name of the execution for a file: the same for the same content of the same file."""
    one = event["detail"]["object"]
    text = f"{event['detail']['bucket']['name']}#{one['key']}#{one['etag']}"
    return hashlib.sha256(text.encode()).hexdigest()


def handler(batch: dict[str, Any], _context: Any) -> None:
    """Take dead letters of the rule, and events whose stage has come."""
    for message in batch["Records"]:
        attributes, body = message["messageAttributes"], json.loads(message["body"])
        if "ERROR_CODE" in attributes:
            recover(body, attributes["ERROR_CODE"]["stringValue"], 0)
            continue
        try:
            start(body["event"])
        except ClientError as error:
            recover(body["event"], error.response["Error"]["Code"], body["stage"])


def recover(event: dict[str, Any], code: str, stage: int) -> None:
    """One failed start: wait for the next stage, mend, or tell people and park the event for them."""
    if any(word in code for word in CONFIGURATION):
        mended = remediate()
        tell(f"{event['detail']['object']['key']}: {code}; {mended}")
        start(event)
    elif any(word in code for word in TRANSIENT) and stage < len(STAGES_S):
        send("retry-queue", {"event": event, "stage": stage + 1}, STAGES_S[stage])
    else:
        send("parked", {"event": event, "stage": 0}, 0)
        tell(f"{event['detail']['object']['key']}: {code} after {stage} stages; it is parked")


def start(event: dict[str, Any]) -> None:
    """Start the execution of a file; one that has failed goes on. Errors: ClientError."""
    name = execution_name(event)
    try:
        sfn.start_execution(stateMachineArn=f"{ARN}:{NAME}", name=name, input=json.dumps(event))
    except sfn.exceptions.ExecutionAlreadyExists:
        arn = f"{ARN.replace('stateMachine', 'execution')}:{NAME}:{name}"
        if sfn.describe_execution(executionArn=arn).get("redriveStatus") == "REDRIVABLE":
            sfn.redrive_execution(executionArn=arn)


def remediate() -> str:
    """Make the machine again if it is gone, and have the rule name it. Says what was done."""
    did = "nothing was to be mended"
    try:
        sfn.describe_state_machine(stateMachineArn=f"{ARN}:{NAME}")
    except sfn.exceptions.StateMachineDoesNotExist:
        definition = s3.get_object(Bucket="releases", Key="machine.asl.json")["Body"].read().decode()
        sfn.create_state_machine(name=NAME, definition=definition, roleArn=ROLE)
        did = "the machine was made again"
    (target,) = events.list_targets_by_rule(Rule=RULE)["Targets"]
    if target["Arn"] != f"{ARN}:{NAME}":
        events.put_targets(Rule=RULE, Targets=[target | {"Arn": f"{ARN}:{NAME}"}])
        did = "the rule names the machine again"
    return did


def send(queue: str, body: dict[str, Any], delay_s: int) -> None:
    """Send an event to a queue."""
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody=json.dumps(body), DelaySeconds=delay_s)


def tell(text: str) -> None:
    """Tell people."""
    sns.publish(TopicArn="arn:aws:sns:us-east-1:000000000000:escalations", Message=text)
