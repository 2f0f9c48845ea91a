"""What becomes of an event that did not start the state machine: again after 60, 300 and 900 s, mended, or people told.

The stages are the article's; EventBridge Scheduler starts the execution when a stage has come, and a start that fails
again is a dead letter again. The error stands in the attributes of the dead letter, and the execution has a name that
follows from the file, so that a start whose answer was lost is not a second execution.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

import boto3
from botocore.exceptions import ClientError

ARN = "arn:aws:states:us-east-1:000000000000:stateMachine"
NAME = "csv-processor"
RULE = "s3-to-stepfunctions"
ROLE = "arn:aws:iam::000000000000:role/file-pipeline"
RETRY_ROLE = "arn:aws:iam::000000000000:role/file-pipeline-retries"
DEAD_LETTERS = "arn:aws:sqs:us-east-1:000000000000:eventbridge-dlq"
STAGES_S = (60, 300, 900)
TRANSIENT = (
    "THROTTLING", "SDK_CLIENT_ERROR", "Throttling", "Internal", "ServiceUnavailable", "TooManyRequests", "Deleting",
)  # fmt: skip
CONFIGURATION = ("DoesNotExist", "INVALID_PARAMETER", "NO_RESOURCE")
"""What EventBridge writes into a dead letter is its own code: INVALID_PARAMETER if the machine does not exist."""

events, s3, scheduler, sfn, sns, sqs = (
    boto3.client(name) for name in ("events", "s3", "scheduler", "stepfunctions", "sns", "sqs")
)


def execution_name(event: dict[str, Any]) -> str:
    """The name of the execution for a file: the same for the same content of the same file."""
    one = event["detail"]["object"]
    text = f"{event['detail']['bucket']['name']}#{one['key']}#{one['etag']}"
    return hashlib.sha256(text.encode()).hexdigest()


def handler(batch: dict[str, Any], _context: Any) -> None:
    """Take dead letters of the rule and of the stages, and events that people have replayed."""
    for message in batch["Records"]:
        attributes, body = message["messageAttributes"], json.loads(message["body"])
        now_s = int(message["attributes"]["ApproximateFirstReceiveTimestamp"]) / 1000
        if "SCHEDULE_ARN" in attributes:
            stage = int(attributes["SCHEDULE_ARN"]["stringValue"].rpartition("-")[2])
            recover(json.loads(body["Input"]), attributes["ERROR_CODE"]["stringValue"], stage, now_s)
        elif "ERROR_CODE" in attributes:
            recover(body, attributes["ERROR_CODE"]["stringValue"], 0, now_s)
        else:
            restart(body["event"], now_s)


def recover(event: dict[str, Any], code: str, stage: int, now_s: float) -> None:
    """One failed start: wait for the next stage, mend, or tell people and park the event for them."""
    if "AlreadyExists" in code:
        go_on(event)
    elif any(word in code for word in CONFIGURATION):
        mended = remediate()
        tell(f"{event['detail']['object']['key']}: {code}; {mended}")
        restart(event, now_s)
    elif any(word in code for word in TRANSIENT) and stage < len(STAGES_S):
        start_later(event, stage + 1, now_s + STAGES_S[stage])
    else:
        send("parked", {"event": event})
        tell(f"{event['detail']['object']['key']}: {code} after {stage} stages; it is parked")


def restart(event: dict[str, Any], now_s: float) -> None:
    """Start the execution of a file now; a start that is refused begins with the first stage."""
    try:
        start(event)
    except ClientError as error:
        recover(event, error.response["Error"]["Code"], 0, now_s)


def start(event: dict[str, Any]) -> None:
    """Start the execution of a file; one that has failed goes on. Errors: ClientError."""
    try:
        sfn.start_execution(stateMachineArn=f"{ARN}:{NAME}", name=execution_name(event), input=json.dumps(event))
    except sfn.exceptions.ExecutionAlreadyExists:
        go_on(event)


def go_on(event: dict[str, Any]) -> None:
    """Let the execution of a file go on that has failed. One of a machine that is gone cannot: it starts anew."""
    name = execution_name(event)
    arn = f"{ARN.replace('stateMachine', 'execution')}:{NAME}:{name}"
    shown = sfn.describe_execution(executionArn=arn)
    if shown.get("redriveStatus") == "REDRIVABLE":
        sfn.redrive_execution(executionArn=arn)
    elif shown["status"] not in ("RUNNING", "SUCCEEDED"):
        sfn.start_execution(
            stateMachineArn=f"{ARN}:{NAME}", name=f"{name}-{shown['stopDate']:%s}", input=json.dumps(event)
        )


def start_later(event: dict[str, Any], stage: int, at_s: float) -> None:
    """Have the scheduler start the execution, once. A stage that was asked for already is not asked for twice."""
    name = execution_name(event)
    wanted = {"StateMachineArn": f"{ARN}:{NAME}", "Name": name, "Input": json.dumps(event)}
    try:
        scheduler.create_schedule(
            Name=f"start-{name[:32]}-{stage}", ActionAfterCompletion="DELETE", FlexibleTimeWindow={"Mode": "OFF"},
            ScheduleExpression=f"at({datetime.fromtimestamp(at_s, UTC):%Y-%m-%dT%H:%M:%S})",
            Target={
                "Arn": "arn:aws:scheduler:::aws-sdk:sfn:startExecution", "RoleArn": RETRY_ROLE,
                "Input": json.dumps(wanted), "RetryPolicy": {"MaximumRetryAttempts": 0},
                "DeadLetterConfig": {"Arn": DEAD_LETTERS},
            },
        )  # fmt: skip
    except scheduler.exceptions.ConflictException:
        return


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


def send(queue: str, body: dict[str, Any]) -> None:
    """Send an event to a queue."""
    sqs.send_message(QueueUrl=sqs.get_queue_url(QueueName=queue)["QueueUrl"], MessageBody=json.dumps(body))


def tell(text: str) -> None:
    """Tell people."""
    sns.publish(TopicArn="arn:aws:sns:us-east-1:000000000000:escalations", Message=text)
