"""Which API call a target stands for: templated targets as one table, universal targets by their ARN.

A request is kept in the shape of a universal target (PascalCase parameters, plain JSON): that is what a dead letter
shows. `call_params` turns it into what an operation here takes.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from redrive.core.arn import Arn
from redrive.core.clock import SECOND_MS, parse_instant
from redrive.core.documents import Document, load_json
from redrive.core.errors import ServiceError

Params = Callable[[Arn, Document, str], Document]
"""Builds an API's parameters from the target's ARN, the target and its input."""


class UnsupportedTarget(ValueError):
    """No target of EventBridge Scheduler has this ARN."""


@dataclass(frozen=True, slots=True)
class Request:
    """An API call. `service` is the SDK's id of it (`sqs`, `sfn`), `action` is in camelCase (`sendMessage`)."""

    service: str
    action: str
    params: Document

    @property
    def universal_arn(self) -> str:
        """The call as the ARN of a universal target."""
        return f"arn:aws:scheduler:::aws-sdk:{self.service}:{self.action}"

    @property
    def service_name(self) -> str:
        """The service's name here, which is botocore's."""
        return _SERVICE_NAMES.get(self.service, self.service)

    @property
    def operation(self) -> str:
        """The operation's name in the service's model."""
        return self.action[0].upper() + self.action[1:]


@dataclass(frozen=True, slots=True)
class Templated:
    """A kind of templated target.

    `blocks` are the parameter blocks that it takes (`SqsParameters`), at most one at a time, and with `needs_block`
    exactly one.
    """

    service: str
    action: str
    arn_service: str
    resource: re.Pattern[str]
    params: Params
    blocks: tuple[str, ...] = ()
    needs_block: bool = False
    takes_json: bool = False


@dataclass(frozen=True, slots=True)
class Universal:
    """A universal target: any action of any service of the SDK."""

    service: str
    action: str


def find_target(arn: str) -> Templated | Universal:
    """The kind of target that an ARN stands for. Errors: UnsupportedTarget."""
    try:
        parsed = Arn.parse(arn)
    except ValueError as error:
        raise UnsupportedTarget(arn) from error
    if parsed.service == "scheduler":
        found = _UNIVERSAL.fullmatch(parsed.resource)
        if found is None or parsed.region or parsed.account:
            raise UnsupportedTarget(arn)
        return Universal(found[1], found[2])
    for kind in TEMPLATED:
        if kind.arn_service == parsed.service and kind.resource.fullmatch(parsed.resource):
            return kind
    raise UnsupportedTarget(arn)


def is_read_only(action: str) -> bool:
    """Whether an action is one of those that universal targets refuse because they only read.

    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-universal.html
    """
    return _READ_ONLY.match(action) is not None


def build_request(target: Document, input: str) -> Request:
    """The API call of a target with its rendered input."""
    kind = find_target(target["Arn"])
    match kind:
        case Universal(service, action):
            return Request(service, action, load_json(input) if "Input" in target else {})
        case Templated():
            return Request(kind.service, kind.action, kind.params(Arn.parse(target["Arn"]), target, input))


def target_region(target: Document, default: str) -> str:
    """The region in which a target is called: its ARN's, or the schedule's for universal targets."""
    return Arn.parse(target["Arn"]).region or default


def queue_url(queue_arn: str) -> str:
    """The URL of the queue with this ARN."""
    arn = Arn.parse(queue_arn)
    return f"https://sqs.{arn.region}.amazonaws.com/{arn.account}/{arn.resource}"


def call_params(request: Request) -> Document:
    """The parameters as an operation takes them: blobs are bytes, timestamps are milliseconds.

    Errors: SerializationException for what is neither.
    """
    return {name: _native(request.service_name, name, value) for name, value in request.params.items()}


def _native(service: str, name: str, value: object) -> object:
    convert = _CONVERSIONS.get((service, name))
    if isinstance(value, dict):
        return {key: _native(service, key, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_native(service, name, item) for item in value]
    if convert is None:
        return value
    try:
        return convert(value)
    except (ValueError, binascii.Error) as error:
        raise ServiceError("SerializationException", f"{name} cannot be read: {error}") from error


def _text_blob(value: object) -> bytes:
    return str(value).encode()


def _base64_blob(value: object) -> bytes:
    return base64.b64decode(str(value), validate=True)


def _timestamp(value: object) -> int:
    return round(value * SECOND_MS) if isinstance(value, int | float) else parse_instant(str(value))


# Members of the services here that JSON cannot say as they are.
_CONVERSIONS: Mapping[tuple[str, str], Callable[[object], object]] = {
    ("dynamodb", "B"): _base64_blob,
    ("dynamodb", "BS"): _base64_blob,
    ("lambda", "Payload"): _text_blob,
    ("lambda", "ZipFile"): _base64_blob,
    ("scheduler", "EndDate"): _timestamp,
    ("scheduler", "StartDate"): _timestamp,
    ("sqs", "BinaryListValues"): _base64_blob,
    ("sqs", "BinaryValue"): _base64_blob,
}

# The SDK's ids that differ from the names of the services.
_SERVICE_NAMES: Mapping[str, str] = {
    "cloudwatchlogs": "logs",
    "eventbridge": "events",
    "eventbridgev2": "eventsv2",
    "sfn": "stepfunctions",
}

_UNIVERSAL = re.compile(r"aws-sdk:([a-z0-9]+):([a-z][A-Za-z0-9]*)")

_READ_ONLY = re.compile(
    "(get|describe|list|poll|receive|search|scan|query|select|read|lookup|discover|validate|batchGet|batchDescribe|batchRead"
    "|transactGet|adminGet|adminList|testMigration|retrieve|testConnection|translateDocument|isAuthorized|invokeModel)"
    "(?![a-z])"
)


def _to_queue(arn: Arn, target: Document, input: str) -> Document:
    return {"QueueUrl": queue_url(str(arn)), "MessageBody": input, **(target.get("SqsParameters") or {})}


def _to_function(arn: Arn, target: Document, input: str) -> Document:
    return {"FunctionName": str(arn), "InvocationType": "Event", "Payload": input}


def _to_topic(arn: Arn, target: Document, input: str) -> Document:
    return {"TopicArn": str(arn), "Message": input}


def _to_state_machine(arn: Arn, target: Document, input: str) -> Document:
    return {"StateMachineArn": str(arn), "Input": input}


def _to_bus(arn: Arn, target: Document, input: str) -> Document:
    return {"Entries": [{"EventBusName": str(arn), **target["EventBridgeParameters"], "Detail": input}]}


def _to_stream(arn: Arn, target: Document, input: str) -> Document:
    return {"StreamARN": str(arn), **target["KinesisParameters"], "Data": input}


def _to_delivery_stream(arn: Arn, target: Document, input: str) -> Document:
    return {"DeliveryStreamName": arn.resource.partition("/")[2], "Record": {"Data": input}}


def _to_cluster(arn: Arn, target: Document, input: str) -> Document:
    chosen = dict(target["EcsParameters"])
    params = {
        "Cluster": str(arn), "TaskDefinition": chosen.pop("TaskDefinitionArn"), "Count": chosen.pop("TaskCount", 1), **chosen,
    }  # fmt: skip
    return {**params, "Overrides": load_json(input)} if "Input" in target else params


def _to_ml_pipeline(arn: Arn, target: Document, input: str) -> Document:
    chosen = target.get("SageMakerPipelineParameters") or {}
    return {
        "PipelineName": arn.resource.partition("/")[2], "PipelineParameters": chosen.get("PipelineParameterList", []),
    }  # fmt: skip


def _to_project(arn: Arn, target: Document, input: str) -> Document:
    return {"ProjectName": arn.resource.partition("/")[2]}


def _to_pipeline(arn: Arn, target: Document, input: str) -> Document:
    return {"Name": arn.resource}


def _to_assessment(arn: Arn, target: Document, input: str) -> Document:
    return {"AssessmentTemplateArn": str(arn)}


def _templated(
    service: str, action: str, arn_service: str, resource: str, params: Params, *,
    blocks: tuple[str, ...] = (), needs_block: bool = False, takes_json: bool = False,
) -> Templated:  # fmt: skip
    return Templated(service, action, arn_service, re.compile(resource), params, blocks, needs_block, takes_json)


# Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-templated.html
TEMPLATED: tuple[Templated, ...] = (
    _templated("codebuild", "startBuild", "codebuild", r"project/.+", _to_project),
    _templated("codepipeline", "startPipelineExecution", "codepipeline", r"[^:/]+", _to_pipeline),
    _templated(
        "ecs", "runTask", "ecs", r"cluster/.+", _to_cluster, blocks=("EcsParameters",), needs_block=True, takes_json=True,
    ),
    _templated(
        "eventbridge", "putEvents", "events", r"event-bus/.+", _to_bus,
        blocks=("EventBridgeParameters",), needs_block=True, takes_json=True,
    ),
    _templated("firehose", "putRecord", "firehose", r"deliverystream/.+", _to_delivery_stream),
    _templated("inspector", "startAssessmentRun", "inspector", r"target/.+", _to_assessment),
    _templated(
        "kinesis", "putRecord", "kinesis", r"stream/.+", _to_stream, blocks=("KinesisParameters",), needs_block=True,
    ),
    _templated("lambda", "invoke", "lambda", r"function:[^:]+(:[^:]+)?", _to_function, takes_json=True),
    _templated(
        "sagemaker", "startPipelineExecution", "sagemaker", r"pipeline/.+", _to_ml_pipeline,
        blocks=("SageMakerPipelineParameters",),
    ),
    _templated("sfn", "startExecution", "states", r"stateMachine:.+", _to_state_machine, takes_json=True),
    _templated("sns", "publish", "sns", r"[^:/]+", _to_topic),
    _templated("sqs", "sendMessage", "sqs", r"[^:/]+", _to_queue, blocks=("SqsParameters",)),
)  # fmt: skip

PARAMETER_BLOCKS = (
    "EcsParameters", "EventBridgeParameters", "EventBridgePutEventsV2Parameters", "EventBridgePutRawEventsParameters",
    "KinesisParameters", "SageMakerPipelineParameters", "SqsParameters",
)  # fmt: skip
"""All parameter blocks of a target, those of the kinds above and those of the second edition of event buses."""
