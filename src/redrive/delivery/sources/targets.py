"""Which API call a target's ARN stands for: templated targets as one table, universal targets by their ARN.

The table is data: this room knows the shape of ARNs and the names of parameters, and not what any of the calls means. A
request is kept in the shape of a universal target (PascalCase parameters, plain JSON): that is what a dead letter
shows. `Services.read` turns its parameters into what an operation here takes.
"""

from __future__ import annotations

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
"""How many ARNs of targets are remembered once understood: sources by the thousand have few targets."""


class UnsupportedTarget(ValueError):
    """No target has this ARN. `service` is the ARN's if none of that service's things are targets, else empty."""

    def __init__(self, arn: str, service: str = "") -> None:
        super().__init__(f"{arn} is no target")
        self.service = service


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


@dataclass(frozen=True, slots=True)
class Given:
    """What a templated target's parameters are made from; `is_chosen` says that the input is the user's own."""

    arn: Arn
    block: Document
    input: str
    is_chosen: bool

    @property
    def name(self) -> str:
        """The resource's name, without its kind before the slash."""
        return self.arn.resource.partition("/")[2]


@dataclass(frozen=True, slots=True)
class Templated:
    """A kind of templated target, recognised by the service and the resource (a pattern) of its ARN.

    `block` names the parameter block that it takes, such as `SqsParameters`; `takes_json` says that its input is JSON.
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
    """The kind of target that an ARN stands for. Errors: UnsupportedTarget."""
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
    """The API call of a target with its rendered input."""
    kind = find_target(target["Arn"])
    match kind:
        case Universal(service, action):
            return Request(service, action, load_json(input) if "Input" in target else {})
        case Templated():
            block = target.get(kind.block, {}) if kind.block else {}
            given = Given(Arn.parse(target["Arn"]), block, input, is_chosen="Input" in target)
            return Request(kind.service, kind.action, kind.params(given))


def called_operation(call: Request | Templated | Universal) -> tuple[str, str]:
    """The service, by botocore's name, and the operation that a call or a kind of target stands for."""
    return _SERVICE_NAMES.get(call.service, call.service), call.action[:1].upper() + call.action[1:]


def request_call(tx: Transaction, kind: Templated | Universal, caller: Caller, request: Callable[[], Request]) -> Call:
    """The delivery of a target's request under a caller's permissions. `request` is made when the call is.

    Errors (of its parameters): SerializationException (they are not what AWS's model of the operation says).
    """
    return Call(caller, *called_operation(kind), lambda: request_params(tx, request()))


def request_params(tx: Transaction, request: Request) -> Mapping[str, object]:
    """The parameters of a request as the operation takes them. Errors: as `request_call`."""
    return tx.services.read(*called_operation(request), request.params)


@functools.lru_cache(maxsize=TARGETS_KEPT)
def queue_url(queue_arn: str) -> str:
    """The URL of the queue with this ARN, as AWS spells it."""
    arn = Arn.parse(queue_arn)
    return f"https://sqs.{arn.region}.amazonaws.com/{arn.account}/{arn.resource}"


# The SDK's ids that differ from the names of the services.
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
        lambda given: {"StreamARN": str(given.arn), **given.block, "Data": given.input},
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
