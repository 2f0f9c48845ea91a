"""Maps a target's ARN to an API call: templated targets by a table, universal targets by their ARN.

The table is data: this room knows ARN formats and parameter names, but not what the calls do. A request is kept in the
form of a universal target (PascalCase parameters, plain JSON), because a dead letter shows this form. `Services.read`
converts its parameters into those of an operation here.
"""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from redrive.core.arn import Arn
from redrive.core.documents import Document, load_json
from redrive.core.scope import Caller
from redrive.delivery.sources.call import Call
from redrive.store.api import Transaction

TARGETS_KEPT = 4_096
"""The size of the caches. Thousands of sources share few targets."""


class UnsupportedTarget(ValueError):
    """No target has this ARN. `service` is the ARN's service if that service has no targets; otherwise empty."""

    def __init__(self, arn: str, service: str = "") -> None:
        super().__init__(f"{arn} is no target")
        self.service = service


@dataclass(frozen=True, slots=True)
class Request:
    """An API call. `service` is the SDK's service id (`sqs`, `sfn`), `action` is in camelCase (`sendMessage`)."""

    service: str
    action: str
    params: Document

    @property
    def universal_arn(self) -> str:
        """The call as the ARN of a universal target."""
        return f"arn:aws:scheduler:::aws-sdk:{self.service}:{self.action}"


@dataclass(frozen=True, slots=True)
class Given:
    """The inputs for a templated target's parameters. `is_chosen`: the user has set the input."""

    arn: Arn
    block: Document
    input: str
    is_chosen: bool

    @property
    def name(self) -> str:
        """The resource's name without the type before the slash."""
        return self.arn.resource.partition("/")[2]


@dataclass(frozen=True, slots=True)
class Templated:
    """A kind of templated target, recognised by its ARN's service and by a pattern for the ARN's resource.

    `block` is the name of its parameter block, such as `SqsParameters`. `takes_json`: the input must be JSON.
    """

    service: str
    action: str
    arn_service: str
    resource: str
    params: Callable[[Given], Document]
    block: str | None = None
    needs_block: bool = False
    takes_json: bool = False


@dataclass(frozen=True, slots=True)
class Universal:
    """A universal target: any action of any service of the SDK."""

    service: str
    action: str


@functools.lru_cache(maxsize=TARGETS_KEPT)
def find_target(arn: str) -> Templated | Universal:
    """The kind of target with this ARN. Errors: UnsupportedTarget."""
    try:
        parsed = Arn.parse(arn)
    except ValueError as error:
        raise UnsupportedTarget(arn) from error
    if parsed.service == "scheduler" and not parsed.region and not parsed.account:
        found = _UNIVERSAL.fullmatch(parsed.resource)
        if found is None:
            raise UnsupportedTarget(arn)
        return Universal(found[1], found[2])
    kinds = [kind for kind in TEMPLATED if kind.arn_service == parsed.service]
    if not kinds:
        raise UnsupportedTarget(arn, parsed.service)
    if parsed.region and _ACCOUNT.fullmatch(parsed.account):
        for kind in kinds:
            if re.fullmatch(kind.resource, parsed.resource):
                return kind
    raise UnsupportedTarget(arn)


def build_request(target: Document, input: str) -> Request:
    """Build the API call of a target with its rendered input."""
    kind = find_target(target["Arn"])
    match kind:
        case Universal(service, action):
            return Request(service, action, load_json(input) if "Input" in target else {})
        case Templated():
            block = target.get(kind.block, {}) if kind.block else {}
            given = Given(Arn.parse(target["Arn"]), block, input, is_chosen="Input" in target)
            return Request(kind.service, kind.action, kind.params(given))


def called_operation(call: Request | Templated | Universal) -> tuple[str, str]:
    """The service (botocore's name) and the operation of a call or of a kind of target."""
    return _SERVICE_NAMES.get(call.service, call.service), call.action[:1].upper() + call.action[1:]


def request_call(tx: Transaction, kind: Templated | Universal, caller: Caller, request: Callable[[], Request]) -> Call:
    """The Call for a target's request under a caller's permissions. `request` is called when the operation runs.

    Errors (of its parameters): SerializationException (they do not match AWS's model of the operation).
    """
    return Call(caller, *called_operation(kind), lambda: request_params(tx, request()))


def request_params(tx: Transaction, request: Request) -> Mapping[str, object]:
    """The parameters of a request, converted for the operation. Errors: as `request_call`."""
    return tx.services.read(*called_operation(request), request.params)


@functools.lru_cache(maxsize=TARGETS_KEPT)
def queue_url(queue_arn: str) -> str:
    """The URL of the queue with this ARN, in AWS's format."""
    arn = Arn.parse(queue_arn)
    return f"https://sqs.{arn.region}.amazonaws.com/{arn.account}/{arn.resource}"


# SDK service ids that differ from botocore's service names.
_SERVICE_NAMES: Mapping[str, str] = {
    "cloudwatchlogs": "logs",
    "eventbridge": "events",
    "eventbridgev2": "eventsv2",
    "sfn": "stepfunctions",
}

_ACCOUNT = re.compile(r"[0-9]{12}")
_UNIVERSAL = re.compile(r"aws-sdk:([a-z0-9]+):([a-z][A-Za-z0-9]*)")


def _run_task(given: Given) -> Document:
    chosen = dict(given.block)
    params = {
        "Cluster": str(given.arn), "TaskDefinition": chosen.pop("TaskDefinitionArn"),
        "Count": chosen.pop("TaskCount", 1), **chosen,
    }  # fmt: skip
    return {**params, "Overrides": load_json(given.input)} if given.is_chosen else params


# Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-templated.html
TEMPLATED: tuple[Templated, ...] = (
    Templated(
        "codebuild", "startBuild", "codebuild", r"project/.+",
        lambda given: {"ProjectName": given.name},
    ),
    Templated(
        "codepipeline", "startPipelineExecution", "codepipeline", r"[^:/]+",
        lambda given: {"Name": given.arn.resource},
    ),
    Templated(
        "ecs", "runTask", "ecs", r"cluster/.+", _run_task,
        block="EcsParameters", needs_block=True, takes_json=True,
    ),
    Templated(
        "eventbridge", "putEvents", "events", r"event-bus/.+",
        lambda given: {"Entries": [{"EventBusName": str(given.arn), **given.block, "Detail": given.input}]},
        block="EventBridgeParameters", needs_block=True, takes_json=True,
    ),
    Templated(
        "firehose", "putRecord", "firehose", r"deliverystream/.+",
        lambda given: {"DeliveryStreamName": given.name, "Record": {"Data": given.input}},
    ),
    Templated(
        "inspector", "startAssessmentRun", "inspector", r"target/.+",
        lambda given: {"AssessmentTemplateArn": str(given.arn)},
    ),
    Templated(
        "kinesis", "putRecord", "kinesis", r"stream/.+",
        lambda given: {
            "StreamARN": str(given.arn), **given.block, "Data": base64.b64encode(given.input.encode()).decode(),
        },
        block="KinesisParameters", needs_block=True,
    ),
    Templated(
        "lambda", "invoke", "lambda", r"function:[^:]+(:[^:]+)?",
        lambda given: {"FunctionName": str(given.arn), "InvocationType": "Event", "Payload": given.input},
        takes_json=True,
    ),
    Templated(
        "sagemaker", "startPipelineExecution", "sagemaker", r"pipeline/.+",
        lambda given: {
            "PipelineName": given.name, "PipelineParameters": given.block.get("PipelineParameterList", []),
        },
        block="SageMakerPipelineParameters",
    ),
    Templated(
        "sfn", "startExecution", "states", r"stateMachine:.+",
        lambda given: {"StateMachineArn": str(given.arn), "Input": given.input},
        takes_json=True,
    ),
    Templated(
        "sns", "publish", "sns", r"[^:/]+",
        lambda given: {"TopicArn": str(given.arn), "Message": given.input},
    ),
    Templated(
        "sqs", "sendMessage", "sqs", r"[^:/]+",
        lambda given: {"QueueUrl": queue_url(str(given.arn)), "MessageBody": given.input, **given.block},
        block="SqsParameters",
    ),
)  # fmt: skip
