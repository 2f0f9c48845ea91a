"""Terraform's types of resources in CloudFormation's words: what each argument is called there.

Source: https://registry.terraform.io/providers/hashicorp/aws/latest/docs
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from redrive.languages.template import Node
from redrive.prove.project.hcl import number_in
from redrive.prove.project.plans import Planned

RECEIVES_MAX = 3
"""How often a queue hands a message out, where neither the plan nor the source says it."""
_NO_LIMIT = -1
SCHEDULER_ROLE = "RedriveSchedulerRole"
"""The logical id of the role that all schedules have."""

ATTRIBUTES: Mapping[str, Mapping[str, str]] = {
    "aws_sqs_queue": {"arn": "Arn", "name": "QueueName"},
    "aws_dynamodb_table": {"arn": "Arn", "stream_arn": "StreamArn"},
    "aws_s3_bucket": {"arn": "Arn"},
    "aws_sns_topic": {"name": "TopicName"},
    "aws_lambda_function": {"arn": "Arn", "qualified_arn": "Arn", "invoke_arn": "Arn"},
    "aws_kinesis_stream": {"arn": "Arn", "id": "Arn"},
    "aws_cloudwatch_event_bus": {"arn": "Arn"},
    "aws_cloudwatch_event_rule": {"arn": "Arn"},
    "aws_kms_key": {"arn": "Arn"},
}
"""What Fn::GetAtt calls an attribute; any other is what Ref gives."""


class Value(Protocol):
    """Finds the value of an argument of a resource, or what it refers to."""

    def __call__(self, resource: Planned, *path: str | int) -> Node: ...


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a resource; `source` is what its source says, empty if it is not there."""

    resource: Planned
    find: Value
    source: str

    def value(self, *path: str | int) -> Node:
        """A value, or what it refers to; None if there is neither."""
        return self.find(self.resource, *path)

    def text(self, name: str) -> str:
        """A text that the plan knows."""
        known = self.resource.values.get(name)
        return known if isinstance(known, str) else ""

    def number(self, name: str) -> Node:
        """A number that the plan knows, and that is a limit."""
        known = self.resource.values.get(name)
        return known if isinstance(known, int) and not isinstance(known, bool) and known != _NO_LIMIT else None

    def flag(self, name: str) -> Node:
        """True, or nothing."""
        return True if self.resource.values.get(name) is True else None

    def block(self, name: str) -> list[dict[str, Node]]:
        """The blocks of this name."""
        found = self.resource.values.get(name)
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


Made = tuple[str, dict[str, Node]]


def _function(given: Arguments) -> Made:
    dead = given.value("dead_letter_config", 0, "target_arn")
    return "AWS::Lambda::Function", {
        "FunctionName": given.text("function_name"), "Handler": given.text("handler"),
        "Runtime": given.text("runtime"), "Timeout": given.number("timeout"), "MemorySize": given.number("memory_size"),
        "PackageType": given.text("package_type"), "Role": "arn:aws:iam::000000000000:role/sample-role",
        "DeadLetterConfig": None if dead is None else {"TargetArn": dead},
        "Code": {"S3Bucket": "local", "S3Key": "local"},
        "ImageConfig": next(({"Command": one.get("command")} for one in given.block("image_config")), None),
    }  # fmt: skip


def _queue(given: Arguments) -> Made:
    known = given.text("redrive_policy")
    policy: Node = json.loads(known) if known else None
    referred = None if known else given.value("redrive_policy")
    if isinstance(referred, dict):
        count = number_in(given.source, "maxReceiveCount") or RECEIVES_MAX
        policy = {"deadLetterTargetArn": referred, "maxReceiveCount": count}
    return "AWS::SQS::Queue", {
        "QueueName": given.text("name"), "VisibilityTimeout": given.number("visibility_timeout_seconds"),
        "MessageRetentionPeriod": given.number("message_retention_seconds"),
        "DelaySeconds": given.number("delay_seconds"), "FifoQueue": given.flag("fifo_queue"),
        "ContentBasedDeduplication": given.flag("content_based_deduplication"), "RedrivePolicy": policy,
    }  # fmt: skip


def _mapping(given: Arguments) -> Made:
    patterns = [
        {"Pattern": one.get("pattern")}
        for criteria in given.block("filter_criteria")
        for one in (criteria.get("filter") if isinstance(criteria.get("filter"), list) else ())  # type: ignore[union-attr]
        if isinstance(one, dict)
    ]
    failed = given.value("destination_config", 0, "on_failure", 0, "destination_arn")
    return "AWS::Lambda::EventSourceMapping", {
        "EventSourceArn": given.value("event_source_arn"), "FunctionName": given.value("function_name"),
        "BatchSize": given.number("batch_size"), "StartingPosition": given.text("starting_position"),
        "MaximumBatchingWindowInSeconds": given.number("maximum_batching_window_in_seconds"),
        "FunctionResponseTypes": given.resource.values.get("function_response_types"),
        "BisectBatchOnFunctionError": given.flag("bisect_batch_on_function_error"),
        "MaximumRetryAttempts": given.number("maximum_retry_attempts"),
        "MaximumRecordAgeInSeconds": given.number("maximum_record_age_in_seconds"),
        "ParallelizationFactor": given.number("parallelization_factor"),
        "FilterCriteria": {"Filters": [*patterns]} if patterns else None,
        "DestinationConfig": None if failed is None else {"OnFailure": {"Destination": failed}},
    }  # fmt: skip


def _table(given: Arguments) -> Made:
    attributes: list[Node] = [
        {"AttributeName": one.get("name"), "AttributeType": one.get("type")} for one in given.block("attribute")
    ]
    expiry = [one for one in given.block("ttl") if one.get("enabled") is not False and one.get("attribute_name")]
    indexes = [_index(one) for one in given.block("global_secondary_index")]
    local = [
        _index({**one, "hash_key": given.resource.values.get("hash_key")})
        for one in given.block("local_secondary_index")
    ]
    view = given.text("stream_view_type") or "NEW_AND_OLD_IMAGES"
    return "AWS::DynamoDB::Table", {
        "TableName": given.text("name"), "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": attributes,
        "KeySchema": _key_schema(given.resource.values), "GlobalSecondaryIndexes": [*indexes],
        "LocalSecondaryIndexes": [*local],
        "StreamSpecification": {"StreamViewType": view} if given.flag("stream_enabled") else None,
        "TimeToLiveSpecification": (
            {"AttributeName": expiry[0]["attribute_name"], "Enabled": True} if expiry else None
        ),
    }  # fmt: skip


def _key_schema(values: Mapping[str, Node]) -> Node:
    keys = ((values.get("hash_key"), "HASH"), (values.get("range_key"), "RANGE"))
    return [{"AttributeName": name, "KeyType": kind} for name, kind in keys if name]


def _index(values: Mapping[str, Node]) -> Node:
    projection: dict[str, Node] = {"ProjectionType": values.get("projection_type") or "ALL"}
    if values.get("non_key_attributes"):
        projection["NonKeyAttributes"] = values["non_key_attributes"]
    return {"IndexName": values.get("name"), "KeySchema": _key_schema(values), "Projection": projection}


def _schedule(given: Arguments) -> Made:
    target: dict[str, Node] = {
        "Arn": given.value("target", 0, "arn"), "RoleArn": {"Fn::GetAtt": [SCHEDULER_ROLE, "Arn"]}
    }  # fmt: skip
    said = given.value("target", 0, "input")
    if isinstance(said, str):
        target["Input"] = said
    return "AWS::Scheduler::Schedule", {
        "Name": given.text("name"), "ScheduleExpression": given.text("schedule_expression") or "rate(1 hour)",
        "FlexibleTimeWindow": {"Mode": "OFF"}, "Target": target,
    }  # fmt: skip


def scheduler_role() -> Node:
    """A role that may do everything, and that the scheduler may take on: those of a plan are left out."""
    principal: Node = {"Service": "scheduler.amazonaws.com"}
    trust: Node = {"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"}
    policy: Node = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    return {"Type": "AWS::IAM::Role", "Properties": {
        "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [trust]},
        "Policies": [{"PolicyName": "all", "PolicyDocument": {"Version": "2012-10-17", "Statement": [policy]}}],
    }}  # fmt: skip


def _rule(given: Arguments) -> Made:
    bus = given.value("event_bus_name")
    return "AWS::Events::Rule", {
        "Name": given.text("name"), "ScheduleExpression": given.text("schedule_expression"),
        "EventPattern": json.loads(given.text("event_pattern") or "null"),
        "EventBusName": None if bus == "default" else bus,
    }  # fmt: skip


def _subscription(given: Arguments) -> Made:
    policy = given.text("filter_policy")
    return "AWS::SNS::Subscription", {
        "TopicArn": given.value("topic_arn"), "Protocol": given.text("protocol"), "Endpoint": given.value("endpoint"),
        "RawMessageDelivery": given.flag("raw_message_delivery"), "FilterPolicy": json.loads(policy or "null"),
        "FilterPolicyScope": given.text("filter_policy_scope") if policy else None,
    }  # fmt: skip


def _invoke_config(given: Arguments) -> Made:
    failed = given.value("destination_config", 0, "on_failure", 0, "destination")
    return "AWS::Lambda::EventInvokeConfig", {
        "FunctionName": given.value("function_name"), "Qualifier": "$LATEST",
        "MaximumRetryAttempts": given.number("maximum_retry_attempts"),
        "MaximumEventAgeInSeconds": given.number("maximum_event_age_in_seconds"),
        "DestinationConfig": None if failed is None else {"OnFailure": {"Destination": failed}},
    }  # fmt: skip


def _permission(given: Arguments) -> Made:
    return "AWS::Lambda::Permission", {
        "FunctionName": given.value("function_name"), "Action": "lambda:InvokeFunction",
        "Principal": given.text("principal"), "SourceArn": given.value("source_arn"),
    }  # fmt: skip


TRANSLATED: Mapping[str, Callable[[Arguments], Made]] = {
    "aws_lambda_function": _function,
    "aws_sqs_queue": _queue,
    "aws_lambda_event_source_mapping": _mapping,
    "aws_dynamodb_table": _table,
    "aws_s3_bucket": lambda given: ("AWS::S3::Bucket", {"BucketName": given.text("bucket")}),
    "aws_sns_topic": lambda given: ("AWS::SNS::Topic", {
        "TopicName": given.text("name"), "FifoTopic": given.flag("fifo_topic"),
        "ContentBasedDeduplication": given.flag("content_based_deduplication"),
    }),
    "aws_sns_topic_subscription": _subscription,
    "aws_kinesis_stream": lambda given: ("AWS::Kinesis::Stream", {
        "Name": given.text("name"), "ShardCount": given.number("shard_count") or 1,
        "RetentionPeriodHours": given.number("retention_period"),
    }),
    "aws_cloudwatch_event_bus": lambda given: ("AWS::Events::EventBus", {"Name": given.text("name")}),
    "aws_cloudwatch_event_rule": _rule,
    "aws_scheduler_schedule": _schedule,
    "aws_lambda_permission": _permission,
    "aws_lambda_function_event_invoke_config": _invoke_config,
    "aws_lambda_function_url": lambda given: ("AWS::Lambda::Url", {
        "TargetFunctionArn": given.value("function_name"), "AuthType": "NONE",
    }),
    "aws_ssm_parameter": lambda given: ("AWS::SSM::Parameter", {
        "Name": given.text("name"), "Type": "String", "Value": given.text("value") or "sample",
    }),
    "aws_secretsmanager_secret": lambda given: ("AWS::SecretsManager::Secret", {"Name": given.text("name")}),
    "aws_sfn_state_machine": lambda given: ("AWS::StepFunctions::StateMachine", {
        "DefinitionString": given.value("definition"), "RoleArn": "arn:aws:iam::000000000000:role/sample-role",
    }),
}  # fmt: skip
"""How each type is translated; the engine makes a stub of a state machine."""
