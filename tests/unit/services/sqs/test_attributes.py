"""Queue attributes: their defaults, their ranges, what is refused, and what changing them does."""

from __future__ import annotations

import json

import pytest

DLQ_ARN = "arn:aws:sqs:us-east-1:000000000000:dead"


def redrive(target: object = DLQ_ARN, count: object = 3) -> dict[str, str]:
    return {"RedrivePolicy": json.dumps({"deadLetterTargetArn": target, "maxReceiveCount": count})}


def shown(call, queue: str) -> dict[str, str]:
    attributes: dict[str, str] = call("GetQueueAttributes", QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    return attributes


def test_new_queue_shows_aws_defaults(call, queue):
    assert shown(call, queue) == {
        "QueueArn": "arn:aws:sqs:us-east-1:000000000000:orders",
        "ApproximateNumberOfMessages": "0",
        "ApproximateNumberOfMessagesNotVisible": "0",
        "ApproximateNumberOfMessagesDelayed": "0",
        "CreatedTimestamp": "1735689600",
        "LastModifiedTimestamp": "1735689600",
        "DelaySeconds": "0",
        "MaximumMessageSize": "1048576",
        "MessageRetentionPeriod": "345600",
        "ReceiveMessageWaitTimeSeconds": "0",
        "VisibilityTimeout": "30",
        "SqsManagedSseEnabled": "true",
    }


def test_only_the_attributes_asked_for_are_shown(call, queue):
    asked = call("GetQueueAttributes", QueueUrl=queue, AttributeNames=["QueueArn", "Policy"])

    assert asked == {"Attributes": {"QueueArn": "arn:aws:sqs:us-east-1:000000000000:orders"}}
    assert call("GetQueueAttributes", QueueUrl=queue) == {}


@pytest.mark.parametrize("name", ["Colour", "FifoQueue", "ContentBasedDeduplication"])
def test_asking_for_an_unknown_attribute_is_refused(refusal, queue, name):
    answer = refusal("GetQueueAttributes", QueueUrl=queue, AttributeNames=[name])

    assert answer == ("InvalidAttributeName", f"Unknown Attribute {name}.")


@pytest.mark.parametrize("name", ["Colour", "FifoQueue", "QueueArn", "ApproximateNumberOfMessages"])
def test_setting_an_unknown_or_read_only_attribute_is_refused(refusal, queue, name):
    answer = refusal("SetQueueAttributes", QueueUrl=queue, Attributes={name: "false"})

    assert answer == ("InvalidAttributeName", f"Unknown Attribute {name}.")


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("DelaySeconds", (0, 900)),
        ("MaximumMessageSize", (1024, 1_048_576)),
        ("MessageRetentionPeriod", (60, 1_209_600)),
        ("ReceiveMessageWaitTimeSeconds", (0, 20)),
        ("VisibilityTimeout", (0, 43_200)),
    ],
)
def test_number_is_taken_within_its_range_and_refused_outside(call, refusal, queue, name, bounds):
    for value in bounds:
        call("SetQueueAttributes", QueueUrl=queue, Attributes={name: str(value)})
        assert shown(call, queue)[name] == str(value)
    for text in (str(bounds[0] - 1), str(bounds[1] + 1), "x", "", "1.5", "²", "9" * 5_000):
        answer = refusal("SetQueueAttributes", QueueUrl=queue, Attributes={name: text})
        assert answer == ("InvalidAttributeValue", f"Invalid value for the parameter {name}.")


def test_setting_moves_the_time_of_the_last_change(world, call, queue):
    world.advance(seconds=10)

    call("SetQueueAttributes", QueueUrl=queue, Attributes={"DelaySeconds": "1"})

    assert shown(call, queue)["LastModifiedTimestamp"] == "1735689610"
    assert shown(call, queue)["CreatedTimestamp"] == "1735689600"


def test_one_refused_attribute_leaves_all_as_they_were(call, refusal, queue):
    refusal("SetQueueAttributes", QueueUrl=queue, Attributes={"DelaySeconds": "1", "VisibilityTimeout": "-1"})

    assert shown(call, queue)["DelaySeconds"] == "0"


def test_policy_is_kept_as_given_and_taken_off_by_an_empty_one(call, queue):
    statement = '{ "Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*" }'
    policy = f'{{ "Version": "2012-10-17",  "Statement": {statement} }}'
    call("SetQueueAttributes", QueueUrl=queue, Attributes={"Policy": policy})
    assert shown(call, queue)["Policy"] == policy

    call("SetQueueAttributes", QueueUrl=queue, Attributes={"Policy": ""})
    assert "Policy" not in shown(call, queue)


def test_own_key_takes_the_place_of_the_managed_one(call, queue):
    call("SetQueueAttributes", QueueUrl=queue, Attributes={"KmsMasterKeyId": "alias/aws/sqs"})

    attributes = shown(call, queue)
    assert attributes["KmsMasterKeyId"] == "alias/aws/sqs"
    assert attributes["KmsDataKeyReusePeriodSeconds"] == "300"
    assert attributes["SqsManagedSseEnabled"] == "false"


def test_managed_encryption_takes_the_place_of_the_own_key(call, queue):
    call("SetQueueAttributes", QueueUrl=queue, Attributes={"KmsMasterKeyId": "k"})

    call("SetQueueAttributes", QueueUrl=queue, Attributes={"SqsManagedSseEnabled": "true"})

    assert "KmsMasterKeyId" not in shown(call, queue)


def test_both_kinds_of_encryption_at_once_are_refused(refusal, queue):
    both = {"KmsMasterKeyId": "k", "SqsManagedSseEnabled": "true"}

    assert refusal("SetQueueAttributes", QueueUrl=queue, Attributes=both)[0] == "InvalidAttributeValue"


def test_redrive_policy_is_shown_in_compact_form(call, queue):
    call("CreateQueue", QueueName="dead")

    call("SetQueueAttributes", QueueUrl=queue, Attributes=redrive(count="3"))

    assert shown(call, queue)["RedrivePolicy"] == f'{{"deadLetterTargetArn":"{DLQ_ARN}","maxReceiveCount":3}}'


def test_empty_redrive_policy_takes_it_off(call, queue):
    call("CreateQueue", QueueName="dead")
    call("SetQueueAttributes", QueueUrl=queue, Attributes=redrive())

    call("SetQueueAttributes", QueueUrl=queue, Attributes={"RedrivePolicy": ""})

    assert "RedrivePolicy" not in shown(call, queue)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "Redrive policy is not a valid JSON map."),
        ("[]", "Redrive policy is not a valid JSON map."),
        ('{"maxReceiveCount":1}', "Redrive policy does not contain mandatory attribute: deadLetterTargetArn."),
        (
            f'{{"deadLetterTargetArn":"{DLQ_ARN}","maxReceiveCount":0}}',
            "Invalid value for maxReceiveCount: 0, valid values are from 1 to 1000 both inclusive.",
        ),
        (
            f'{{"deadLetterTargetArn":"{DLQ_ARN}","maxReceiveCount":"many"}}',
            "Invalid value for maxReceiveCount: many, valid values are from 1 to 1000 both inclusive.",
        ),
        ('{"deadLetterTargetArn":"dead","maxReceiveCount":1}', "Invalid value for deadLetterTargetArn."),
    ],
)
def test_redrive_policy_that_cannot_be_read_is_refused(refusal, queue, text, reason):
    assert refusal("SetQueueAttributes", QueueUrl=queue, Attributes={"RedrivePolicy": text}) == (
        "InvalidParameterValueException",
        f"Value {text} for parameter RedrivePolicy is invalid. Reason: {reason}",
    )


@pytest.mark.parametrize(
    "target",
    [
        DLQ_ARN,
        "arn:aws:sqs:eu-west-1:000000000000:other",
        "arn:aws:sqs:us-east-1:111111111111:other",
    ],
)
def test_dead_letter_queue_that_is_missing_or_elsewhere_is_refused(call, refusal, queue, target):
    call("CreateQueue", QueueName="other")

    answer = refusal("SetQueueAttributes", QueueUrl=queue, Attributes=redrive(target))

    assert answer[0] == "InvalidParameterValueException"
    assert answer[1].startswith(f"Value {target} for parameter RedrivePolicy is invalid. Reason: ")


@pytest.mark.parametrize(
    "allow",
    [
        {"redrivePermission": "denyAll"},
        {"redrivePermission": "byQueue", "sourceQueueArns": ["arn:aws:sqs:us-east-1:000000000000:other"]},
    ],
)
def test_dead_letter_queue_may_refuse_a_source(call, refusal, queue, allow):
    call("CreateQueue", QueueName="dead", Attributes={"RedriveAllowPolicy": json.dumps(allow)})

    answer = refusal("SetQueueAttributes", QueueUrl=queue, Attributes=redrive())

    assert answer[0] == "InvalidParameterValueException"
    assert "RedriveAllowPolicy does not allow" in answer[1]


def test_dead_letter_queue_may_allow_a_source_by_name(call, queue):
    allow = {"redrivePermission": "byQueue", "sourceQueueArns": ["arn:aws:sqs:us-east-1:000000000000:orders"]}
    dead = call("CreateQueue", QueueName="dead", Attributes={"RedriveAllowPolicy": json.dumps(allow)})["QueueUrl"]

    call("SetQueueAttributes", QueueUrl=queue, Attributes=redrive())

    assert json.loads(shown(call, dead)["RedriveAllowPolicy"]) == allow
    assert call("ListDeadLetterSourceQueues", QueueUrl=dead) == {"queueUrls": [queue]}


@pytest.mark.parametrize(
    "allow",
    [
        "{",
        '{"redrivePermission":"some"}',
        '{"redrivePermission":"byQueue"}',
        '{"redrivePermission":"byQueue","sourceQueueArns":["x"]}',
        '{"redrivePermission":"allowAll","sourceQueueArns":["arn:aws:sqs:us-east-1:000000000000:q"]}',
    ],
)
def test_redrive_allow_policy_that_cannot_be_read_is_refused(refusal, queue, allow):
    answer = refusal("SetQueueAttributes", QueueUrl=queue, Attributes={"RedriveAllowPolicy": allow})

    assert answer[0] == "InvalidParameterValueException"


def test_source_queues_of_a_dead_letter_queue_come_in_pages(call):
    dead = call("CreateQueue", QueueName="dead")["QueueUrl"]
    for name in ("a", "b"):
        call("CreateQueue", QueueName=name, Attributes=redrive())

    first = call("ListDeadLetterSourceQueues", QueueUrl=dead, MaxResults=1)
    second = call("ListDeadLetterSourceQueues", QueueUrl=dead, MaxResults=1, NextToken=first["NextToken"])

    assert [url[-1] for url in first["queueUrls"] + second["queueUrls"]] == ["a", "b"]
    assert "NextToken" not in second


def test_shorter_retention_counts_for_messages_that_are_there(world, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="1")
    world.advance(seconds=61)

    call("SetQueueAttributes", QueueUrl=queue, Attributes={"MessageRetentionPeriod": "60"})

    assert call("ReceiveMessage", QueueUrl=queue) == {}


def test_counts_tell_visible_from_in_flight_and_delayed(call, queue):
    for _ in range(3):
        call("SendMessage", QueueUrl=queue, MessageBody="1")
    call("SendMessage", QueueUrl=queue, MessageBody="later", DelaySeconds=1)
    call("ReceiveMessage", QueueUrl=queue)

    attributes = shown(call, queue)

    assert attributes["ApproximateNumberOfMessages"] == "2"
    assert attributes["ApproximateNumberOfMessagesNotVisible"] == "1"
    assert attributes["ApproximateNumberOfMessagesDelayed"] == "1"


@pytest.mark.parametrize("name", ["ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"])
def test_attribute_of_fifo_queues_is_refused_in_its_own_words(refusal, queue, name):
    refused = ("InvalidAttributeName", f"You can specify the {name} only when FifoQueue is set to true.")

    assert refusal("SetQueueAttributes", QueueUrl=queue, Attributes={name: "true"}) == refused
    assert refusal("CreateQueue", QueueName="other", Attributes={name: "true"}) == refused


@pytest.mark.parametrize("text", ["True", "TRUE", "tRUE"])
def test_truth_is_read_in_any_case_and_shown_in_one(call, text):
    flags = {"FifoQueue": text, "ContentBasedDeduplication": text, "SqsManagedSseEnabled": text}
    url = call("CreateQueue", QueueName="a.fifo", Attributes=flags)["QueueUrl"]

    shown = call("GetQueueAttributes", QueueUrl=url, AttributeNames=list(flags))["Attributes"]

    assert shown == dict.fromkeys(flags, "true")


def test_queue_may_be_its_own_dead_letter_queue_and_keeps_its_messages(world, call, queue):
    call("SetQueueAttributes", QueueUrl=queue, Attributes=redrive("arn:aws:sqs:us-east-1:000000000000:orders"))
    call("SendMessage", QueueUrl=queue, MessageBody="1")

    received = [len(call("ReceiveMessage", QueueUrl=queue, VisibilityTimeout=0)["Messages"]) for _ in range(4)]

    assert received == [1, 1, 1, 1]
