"""What becomes of a file that failed: again after 60, 300 and 900 seconds, then people are told.

The stages are the article's (listing_recovery.py), with what it lacks.
"""

from __future__ import annotations

import json
import os
from typing import Any

import boto3
from listing_recovery import ErrorRecoveryManager


class Recovery(ErrorRecoveryManager):
    """The article's class, with the methods that it calls and does not have."""

    def schedule_retry(self, event: dict[str, Any], attempt_count: int) -> None:
        """Send the event to the queue of retries, where it waits."""
        again = {**event["event"], "redelivery": attempt_count + 1}
        boto3.client("sqs").send_message(
            QueueUrl=os.environ["RETRIES"], MessageBody=json.dumps(again), DelaySeconds=self.retry_delays[attempt_count]
        )

    def escalate_to_manual_intervention(self, event: dict[str, Any]) -> None:
        """Tell people."""
        key = event["event"]["detail"]["object"]["key"]
        boto3.client("sns").publish(
            TopicArn=os.environ["TOPIC"], Subject=f"{key} was not imported", Message=json.dumps(event, indent=2)
        )

    def recreate_missing_resource(self, event: dict[str, Any]) -> None:
        """Nothing here can make what is missing: people can."""
        self.escalate_to_manual_intervention(event)


def recover(event: dict[str, Any], _context: Any) -> None:
    """Take dead letters of the processor: the body is its event, the error stands in the message attributes."""
    for letter in event["Records"]:
        failed = json.loads(letter["body"])
        message = letter["messageAttributes"]["ErrorMessage"]["stringValue"]
        Recovery().handle_failed_event({"event": failed, "errorMessage": message}, failed.get("redelivery", 0))


def retry(event: dict[str, Any], _context: Any) -> None:
    """Give an event to the processor once more, as EventBridge does it: asynchronously."""
    for message in event["Records"]:
        boto3.client("lambda").invoke(
            FunctionName=os.environ["PROCESSOR"], InvocationType="Event", Payload=message["body"].encode()
        )
