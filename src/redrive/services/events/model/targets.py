"""The kinds of targets of a rule: how each is recognised by its ARN, and what it is called with.

The table is data. Kinds whose service redrive does not serve are accepted; their deliveries fail with that reason.
Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-targets.html
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from redrive.core.arn import Arn
from redrive.core.documents import Document, dump_json, load_json
from redrive.delivery.sources.targets import queue_url
from redrive.languages.json_path import MISSING, find, parse_path
from redrive.store.tables.deliveries import INSIDE, OUTSIDE

TARGETS_KEPT = 4_096

BUS = "event bus"
LOGS = "log group"
API_DESTINATION = "API destination"
"""Kinds that are no single call of an operation."""

QUEUE = "queue"


class Given(NamedTuple):
    """The inputs for a target's call: its ARN, its document, the rendered input, and the original event."""

    arn: Arn
    target: Document
    input: str
    event: Document

    @property
    def last(self) -> str:
        """The resource's name after its type."""
        return re.split(r"[/:]", self.arn.resource, maxsplit=1)[-1]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of target. `call` builds the operation's parameters; None for the kinds that are no single call.

    `needs_role`: PutTargets asks for a RoleArn, because the target has no policy of its own. `block`: the member with
    the parameters of this kind alone.
    """

    name: str
    arn_service: str
    resource: str
    service: str = ""
    operation: str = ""
    call: Callable[[Given], Document] | None = None
    needs_role: bool = True
    block: str = ""
    needs_block: bool = False


@functools.lru_cache(maxsize=TARGETS_KEPT)
def find_kind(arn: str) -> Kind | None:
    """The kind of target with this ARN, or None."""
    try:
        parsed = Arn.parse(arn)
    except ValueError:
        return None
    for kind in KINDS:
        if kind.arn_service == parsed.service and re.fullmatch(kind.resource, parsed.resource):
            return kind
    return None


def place_of(arn: str) -> str:
    """Whether deliveries to a target begin inside the store or outside."""
    kind = find_kind(arn)
    return OUTSIDE if kind is not None and kind.name == API_DESTINATION else INSIDE


def _send_message(given: Given) -> Document:
    group = (given.target.get("SqsParameters") or {}).get("MessageGroupId")
    params: Document = {"QueueUrl": queue_url(str(given.arn)), "MessageBody": given.input}
    return params if group is None else {**params, "MessageGroupId": group}


def _put_record(given: Given) -> Document:
    path = (given.target.get("KinesisParameters") or {}).get("PartitionKeyPath")
    key = given.event["id"] if path is None else _partition_key(given.event, path)
    return {"StreamARN": str(given.arn), "PartitionKey": key, "Data": given.input.encode()}


def _run_task(given: Given) -> Document:
    chosen = dict(given.target.get("EcsParameters") or {})
    overrides = load_json(given.input) if "Input" in given.target or "InputTransformer" in given.target else None
    params = {
        "cluster": str(given.arn), "taskDefinition": chosen.pop("TaskDefinitionArn", ""),
        "count": chosen.pop("TaskCount", 1), **{name[:1].lower() + name[1:]: value for name, value in chosen.items()},
    }  # fmt: skip
    return {**params, "overrides": overrides} if overrides is not None else params


def _submit_job(given: Given) -> Document:
    block = given.target.get("BatchParameters") or {}
    return {
        "jobQueue": str(given.arn), "jobDefinition": block.get("JobDefinition"), "jobName": block.get("JobName"),
    }  # fmt: skip


def _partition_key(event: Document, path: str) -> str:
    """The text at a path of the event; the event's id if nothing is there."""
    value = find(event, parse_path(path))
    if value is MISSING:
        return str(event["id"])
    return value if isinstance(value, str) else dump_json(value)


def _input_of(name: str, key: str) -> Callable[[Given], Document]:
    """Parameters with the target's ARN under one name and the input under another."""
    return lambda given: {name: str(given.arn), key: given.input}


def _named(name: str) -> Callable[[Given], Document]:
    """Parameters that are only the resource's name."""
    return lambda given: {name: given.last}


KINDS: tuple[Kind, ...] = (
    Kind(QUEUE, "sqs", r"[^:/]+", "sqs", "SendMessage", _send_message, needs_role=False, block="SqsParameters"),
    Kind(
        "function", "lambda", r"function:[^:]+(:[^:]+)?", "lambda", "Invoke",
        lambda given: {
            "FunctionName": str(given.arn), "InvocationType": "Event", "Payload": given.input.encode()
        },
        needs_role=False,
    ),
    Kind("topic", "sns", r"[^:/]+", "sns", "Publish", _input_of("TopicArn", "Message"), needs_role=False),
    Kind(LOGS, "logs", r"log-group:[^:]+(:\*)?", needs_role=False),
    Kind(BUS, "events", r"event-bus/.+", needs_role=False),
    Kind(API_DESTINATION, "events", r"api-destination/.+", block="HttpParameters"),
    Kind(
        "stream", "kinesis", r"stream/.+", "kinesis", "PutRecord", _put_record, block="KinesisParameters",
    ),
    Kind(
        "delivery stream", "firehose", r"deliverystream/.+", "firehose", "PutRecord",
        lambda given: {"DeliveryStreamName": given.last, "Record": {"Data": given.input.encode()}},
    ),
    Kind(
        "state machine", "states", r"stateMachine:.+", "stepfunctions", "StartExecution",
        lambda given: {"stateMachineArn": str(given.arn), "input": given.input},
    ),
    Kind(
        "ECS cluster", "ecs", r"cluster/.+", "ecs", "RunTask", _run_task, block="EcsParameters", needs_block=True,
    ),
    Kind(
        "job queue", "batch", r"job-queue/.+", "batch", "SubmitJob", _submit_job, block="BatchParameters",
        needs_block=True,
    ),
    Kind("build project", "codebuild", r"project/.+", "codebuild", "StartBuild", _named("projectName")),
    Kind("pipeline", "codepipeline", r"[^:/]+", "codepipeline", "StartPipelineExecution", _named("name")),
    Kind("API", "execute-api", r".+", "execute-api", "Invoke", _input_of("arn", "body"), block="HttpParameters"),
    Kind("automation", "ssm", r".+", "ssm", "StartAutomationExecution", _named("DocumentName"),
         block="RunCommandParameters"),
    Kind(
        "Redshift cluster", "redshift", r"cluster:.+", "redshift-data", "ExecuteStatement",
        lambda given: {"ClusterIdentifier": given.last, **(given.target.get("RedshiftDataParameters") or {})},
        block="RedshiftDataParameters", needs_block=True,
    ),
    Kind(
        "Redshift workgroup", "redshift-serverless", r"workgroup/.+", "redshift-data", "ExecuteStatement",
        lambda given: {"WorkgroupName": given.last, **(given.target.get("RedshiftDataParameters") or {})},
        block="RedshiftDataParameters", needs_block=True,
    ),
    Kind(
        "SageMaker pipeline", "sagemaker", r"pipeline/.+", "sagemaker", "StartPipelineExecution",
        lambda given: {"PipelineName": given.last, **(given.target.get("SageMakerPipelineParameters") or {})},
        block="SageMakerPipelineParameters",
    ),
    Kind("workflow", "glue", r"workflow/.+", "glue", "NotifyEvent", _named("WorkflowName")),
    Kind("assessment template", "inspector", r"target/.+", "inspector", "StartAssessmentRun",
         lambda given: {"assessmentTemplateArn": str(given.arn)}),
    Kind("image pipeline", "imagebuilder", r"image-pipeline/.+", "imagebuilder", "StartImagePipelineExecution",
         lambda given: {"imagePipelineArn": str(given.arn)}),
    Kind("GraphQL API", "appsync", r"(apis|endpoints/graphql-api)/.+", "appsync", "Graphql",
         lambda given: {"arn": str(given.arn), "variables": given.input}, block="AppSyncParameters"),
    Kind("EC2 action", "events", r"target/.+", "ec2", "CreateSnapshot", _named("VolumeId")),
)  # fmt: skip
"""All kinds of targets."""
