"""Looks at a dead-letter queue, and tells a topic what is in it and why. An empty queue is not told.

People get the runbook as the message's text; programs get the attribute `triage`, JSON: the letters of each cause.
"""

import json
import os
import time

import boto3

from redrive.deadletters import DeadLetterQueue, runbook

GROUPS_MAX = 20
"""How many causes the attribute has; the text has more."""

BYTES_MAX = 200_000
"""A message of SNS has 256 KiB at most, its attributes included."""


def handler(_event, _context):
    """Look once. Returns how many letters and causes there are."""
    name, logs = os.environ["QUEUE"], os.environ["LOGS"] == "yes"
    triage = DeadLetterQueue(name).triage(logs=logs, most=int(os.environ["LETTERS_MAX"]))
    found = {"queue": name, "letters": triage.count, "causes": len(triage.groups)}
    if triage.count:
        text = runbook(name, triage, int(time.time() * 1000), logs=logs, options=" --aws")
        told = found | {"groups": [summary(group) for group in triage.groups[:GROUPS_MAX]]}
        boto3.client("sns").publish(
            TopicArn=os.environ["TOPIC"],
            Subject=f"{triage.count} dead letters in {name}"[:100],
            Message=text.encode()[:BYTES_MAX].decode(errors="ignore"),
            MessageAttributes={"triage": {"DataType": "String", "StringValue": json.dumps(told)}},
        )
    return found


def summary(group):
    """A cause, for programs."""
    return {
        "letters": group.count,
        "source": group.cause.source_arn,
        "code": group.cause.code,
        "class": group.judgement.kind.value,
        "remedy": group.judgement.remedy.value,
    }
