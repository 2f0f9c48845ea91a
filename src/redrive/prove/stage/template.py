"""The trigger of a function from a CloudFormation template: deployed, with schedules and other functions disabled."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document, dump_json
from redrive.core.errors import ServiceError, UserError
from redrive.invoke.sandbox.unpack import unpack
from redrive.languages.template import TemplateError, read_root
from redrive.packaging.template import local_code, take_in_definitions
from redrive.prove.process.subject import NamedSubject
from redrive.prove.stage.fed import direct_handlers, direct_trigger, is_direct
from redrive.prove.stage.invoked import invoked_handlers, invoked_trigger
from redrive.prove.stage.parameters import missing_parameters
from redrive.prove.stage.sampled import Wanted
from redrive.prove.stage.stage import SCOPE, START, Stage
from redrive.prove.stage.streams import stream_handlers, stream_trigger
from redrive.prove.stage.trigger import SAMPLE_EVENT, Kind, Trigger, bodies_of, with_messages
from redrive.services.cloudformation.model.stack import Blueprint
from redrive.services.cloudformation.transforms.expansion import expanded
from redrive.services.lambda_.model.function import Function
from redrive.services.scheduler.model.executions import Execution, execution_id, rendered_input
from redrive.store.api import Transaction

STACK = "stack"
_NOT_HERE = "# The handler is taken from elsewhere.\n"
_FUNCTION = "AWS::Lambda::Function"
_RULE = "AWS::Events::Rule"
_LAYER = "AWS::Lambda::LayerVersion"
_STUBS = [{"Key": "redrive:on-unknown", "Value": "stub"}]
"""What redrive does not serve is stood in for: the handler's calls of it are answered as of any service not served."""
_CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]


@dataclass(frozen=True, slots=True)
class Declared:
    """What a template declares about the function under proof; `code` is the directory of local code."""

    trigger: Trigger
    handler: str
    code: Path | None = None


def declared_trigger(
    stage: Stage, file: Path, handler: str, parameters: Document, bodies: tuple[str, ...] | None, *,
    wanted: Callable[[str, Path | None], Wanted], kind: Kind | None = None, rule: str | None = None,
) -> Declared:  # fmt: skip
    """Deploy a template, with its schedules and other functions disabled.

    `handler` selects one of several functions; empty if there is only one. Without `kind`, a function that a queue
    feeds comes before one that a rule invokes. `rule` is the logical id of one of several rules. `wanted` says what the
    event of a handler is like, from its name and the directory of its code. Errors: UserError.
    """
    guesses = missing_parameters(file, parameters)
    directories = deploy(stage, file, parameters | guesses)
    told = {f"parameter {name}": f"{value!r}, because the template has no default" for name, value in guesses.items()}

    def of_function(function: Document) -> Wanted:
        code = directories.get(_logical_id(stage, str(function["FunctionName"])))
        return wanted(str(function["Handler"]), code)

    if is_direct(kind) or (kind is None and rule is None and _fits_directly(stage, handler)):
        trigger, name = direct_trigger(stage, STACK, file, handler, bodies, kind, of_function)
        trigger = replace(trigger, guesses={**told, **trigger.guesses})
        return Declared(trigger, name, directories.get(_logical_id(stage, trigger.function_name)))
    if (kind is not None and kind.is_stream) or (kind is None and rule is None and _fits_stream(stage, handler)):
        trigger, name = stream_trigger(stage, file, handler, bodies, kind, of_function)
        trigger = replace(trigger, guesses={**told, **trigger.guesses})
        return Declared(trigger, name, directories.get(_logical_id(stage, trigger.function_name)))
    if rule is not None or kind is Kind.EVENTBRIDGE or (kind is None and not _fits_queue(stage, handler)):
        rule_name = None if rule is None else _rule_name(stage, file, rule)
        trigger, name = invoked_trigger(stage, file, handler, bodies, rule_name, of_function)
        trigger = replace(trigger, guesses={**told, **trigger.guesses})
        return Declared(trigger, name, directories.get(_logical_id(stage, trigger.function_name)))
    mapping = _pick(stage, file, handler)
    for other in _mappings(stage):
        if other["UUID"] != mapping["UUID"]:
            stage.call("lambda", "UpdateEventSourceMapping", UUID=other["UUID"], Enabled=False)
    queue_arn = str(mapping["EventSourceArn"])
    function = _function_of(stage, mapping)
    name = queue_arn.rpartition(":")[2]
    url = stage.call("sqs", "GetQueueUrl", QueueName=name)["QueueUrl"]
    attributes = stage.call("sqs", "GetQueueAttributes", QueueUrl=url, AttributeNames=["All"])["Attributes"]
    policy = json.loads(attributes.get("RedrivePolicy", "{}"))
    dead_letter_arn = policy.get("deadLetterTargetArn", "")
    given = bodies or _scheduled(stage, queue_arn) or bodies_of(SAMPLE_EVENT)
    trigger = Trigger(
        str(function["FunctionName"]), queue_arn, url, dead_letter_arn, int(function["Timeout"]) * SECOND_MS,
        _retention_ms(stage, dead_letter_arn), (), int(policy.get("maxReceiveCount", 0)), guesses=told,
    )  # fmt: skip
    trigger = with_messages(trigger, given)
    return Declared(trigger, str(function["Handler"]), directories.get(_logical_id(stage, trigger.function_name)))


def code_directory(code: Path) -> Path | None:
    """The directory of local code: a directory, or that of a single file. None for an archive."""
    if code.is_dir():
        return code
    return code.parent if code.is_file() and code.suffix == ".py" else None


def local_subject(declared: Declared, directory: Path) -> NamedSubject:
    """The handler in a directory of local code that the template names."""
    module, _, function = declared.handler.rpartition(".")
    return NamedSubject(module.replace("/", "."), function, directory)


def inline_subject(stage: Stage, declared: Declared, directory: Path) -> NamedSubject:
    """The handler whose code is in the template, unpacked under a directory."""
    unpack(_archive(stage, declared.trigger.function_name), directory)
    module, _, function = declared.handler.rpartition(".")
    return NamedSubject(module, function, directory)


def has_inline_code(stage: Stage, declared: Declared) -> bool:
    """Whether the function's code is in the template."""
    with zipfile.ZipFile(io.BytesIO(_archive(stage, declared.trigger.function_name))) as archive:
        return not any(archive.read(name) == _NOT_HERE.encode() for name in archive.namelist())


def _archive(stage: Stage, function_name: str) -> bytes:
    def step(tx: Transaction) -> bytes:
        function = tx.resources.get(Function, SCOPE, function_name)
        return b"" if function is None else tx.blobs.get(function.code_digest) or b""

    return stage.engine.run(step)


def deploy(stage: Stage, file: Path, parameters: Document) -> dict[str, Path]:
    """Deploy the template; returns the directories of the functions with local code, by their logical ids."""
    try:
        body, directories = _plain(file, parameters)
        body = _kept_still(body)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The template {file} cannot be read: {error}.", exit_code=2) from error
    except TemplateError as error:
        raise UserError(f"The template {file} cannot be used: {error}", exit_code=2) from error
    except ServiceError as error:
        raise UserError(f"The template {file} cannot be used: {error.message}", exit_code=2) from error
    given = [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()]
    try:
        stage.call(
            "cloudformation", "CreateStack", StackName=STACK, TemplateBody=body, Parameters=given,
            Capabilities=_CAPABILITIES, Tags=_STUBS,
        )  # fmt: skip
    except ServiceError as error:
        raise UserError(f"The template {file} cannot be deployed: {error.message}", exit_code=2) from error
    stage.settle()
    made = stage.call("cloudformation", "DescribeStacks", StackName=STACK)["Stacks"][0]
    if made["StackStatus"] != "CREATE_COMPLETE":
        events = stage.call("cloudformation", "DescribeStackEvents", StackName=STACK)["StackEvents"]
        reasons = [str(event.get("ResourceStatusReason")) for event in events if "FAILED" in event["ResourceStatus"]]
        why = (
            "; ".join(reasons) or f"it is {made['StackStatus']}: {made.get('StackStatusReason', 'no reason is known')}"
        )
        raise UserError(f"The template {file} cannot be deployed: {why}", exit_code=2)
    return directories


def _plain(file: Path, parameters: Document) -> tuple[str, dict[str, Path]]:
    """The template after its transforms, and places of local code. Errors: UserError; TemplateError; ServiceError."""
    root = read_root(file.read_text("utf-8"))
    directories = {}
    take_in_definitions(root, file.resolve().parent)
    for local in local_code(root, file.resolve().parent, parameters):
        directories[local.logical_id] = local.source
        # SAM requires a location; the code stays where it is.
        local.properties[local.kind.property] = {local.kind.bucket: "local", local.kind.key: "local"}
    blueprint = expanded(Blueprint(dump_json(root), parameters), SCOPE, STACK, STACK, is_reviewed=True)
    if blueprint.transform_failure:
        raise UserError(f"The template {file} cannot be used: {blueprint.transform_failure}", exit_code=2)
    if blueprint.awaits_macros:
        raise UserError(
            f"The template {file} asks for macros, whose functions do not run here.",
            next_step="Give the template as the macros leave it: aws cloudformation get-template "
            "--template-stage Processed", exit_code=2,
        )  # fmt: skip
    return blueprint.body, directories


def _logical_id(stage: Stage, function_name: str) -> str:
    found = stage.call("cloudformation", "DescribeStackResources", StackName=STACK)["StackResources"]
    named = (one for one in found if one["ResourceType"] == _FUNCTION and one["PhysicalResourceId"] == function_name)
    return next((str(one["LogicalResourceId"]) for one in named), "")


def _rule_name(stage: Stage, file: Path, logical_id: str) -> str:
    """The name of a rule: by its logical id, or by the name of its event in a SAM function. Errors: UserError."""
    found = stage.call("cloudformation", "DescribeStackResources", StackName=STACK)["StackResources"]
    rules = {str(one["LogicalResourceId"]): one for one in found if one["ResourceType"] == _RULE}
    named = [name for name in rules if name == logical_id] or [name for name in rules if name.endswith(logical_id)]
    if len(named) != 1:
        raise UserError(
            f"The template {file} has no rule {logical_id}.",
            next_step=f"It has {', '.join(sorted(rules)) or 'no rules at all'}.", exit_code=2,
        )  # fmt: skip
    return str(rules[named[0]]["PhysicalResourceId"]).rpartition("|")[2]


def _kept_still(text: str) -> str:
    """The template as JSON, with schedules disabled, without layers, and with code in every function."""
    root = read_root(text)
    root.pop("Outputs", None)  # Nobody reads them, and they may refer to what is left out.
    resources = root.get("Resources")
    if isinstance(resources, dict):
        layers = [name for name, one in resources.items() if isinstance(one, dict) and one.get("Type") == _LAYER]
        for name in layers:
            del resources[name]
    for resource in resources.values() if isinstance(resources, dict) else ():
        properties = resource.get("Properties") if isinstance(resource, dict) else None
        if not isinstance(resource, dict) or not isinstance(properties, dict):
            continue
        is_scheduled = resource.get("Type") == _RULE and "ScheduleExpression" in properties
        if is_scheduled or resource.get("Type") == "AWS::Scheduler::Schedule":
            properties["State"] = "DISABLED"
        code = properties.get("Code")
        if resource.get("Type") == _FUNCTION and not (isinstance(code, dict) and "ZipFile" in code):
            properties["Code"] = {"ZipFile": _NOT_HERE}
        if resource.get("Type") == _FUNCTION:
            properties.pop("Layers", None)
    return json.dumps(root, default=str)


def _fits_queue(stage: Stage, handler: str) -> bool:
    """Whether the handler is to be looked for among the functions that queues feed: unless only a rule's fits."""
    mappings = [one for one in _mappings(stage) if ":sqs:" in str(one["EventSourceArn"])]
    fed = invoked_handlers(stage)
    if not mappings or not handler:
        return bool(mappings) or not fed
    wanted = handler.replace(":", ".")
    names = [str(_function_of(stage, one)["Handler"]) for one in mappings]
    return any(map(wanted.endswith, names)) or not any(map(wanted.endswith, fed))


def _fits_directly(stage: Stage, handler: str) -> bool:
    """Whether the handler is one that only a topic, a bucket, a schedule, a task or an API invokes."""
    others = [str(_function_of(stage, one)["Handler"]) for one in _mappings(stage)] + invoked_handlers(stage)
    if not handler or not others:
        return not others and bool(direct_handlers(stage, STACK))
    wanted = handler.replace(":", ".")
    return not any(map(wanted.endswith, others)) and any(map(wanted.endswith, direct_handlers(stage, STACK)))


def _fits_stream(stage: Stage, handler: str) -> bool:
    """Whether the handler is one that only a stream feeds: named, or the only one of the template."""
    others = [
        str(_function_of(stage, one)["Handler"]) for one in _mappings(stage) if ":sqs:" in str(one["EventSourceArn"])
    ]
    others += invoked_handlers(stage)
    fed = stream_handlers(stage)
    if not handler:
        return bool(fed) and not others
    wanted = handler.replace(":", ".")
    return any(map(wanted.endswith, fed)) and not any(map(wanted.endswith, others))


def _pick(stage: Stage, file: Path, handler: str) -> Document:
    mappings = [one for one in _mappings(stage) if ":sqs:" in str(one["EventSourceArn"])]
    if not mappings:
        raise UserError(
            f"The template {file} has no function that a queue or a stream feeds or a rule invokes.", exit_code=2
        )
    if len(mappings) == 1:
        return mappings[0]
    wanted = handler.replace(":", ".")
    named = [one for one in mappings if wanted and wanted.endswith(str(_function_of(stage, one)["Handler"]))]
    if len(named) == 1:
        return named[0]
    found = ", ".join(sorted(str(_function_of(stage, one)["Handler"]) for one in mappings))
    raise UserError(
        f"The template {file} has several functions that queues feed, with the handlers {found}.",
        next_step="Name one of them as module:function.", exit_code=2,
    )  # fmt: skip


def _mappings(stage: Stage) -> Sequence[Document]:
    return cast("Sequence[Document]", stage.call("lambda", "ListEventSourceMappings")["EventSourceMappings"])


def _function_of(stage: Stage, mapping: Document) -> Document:
    return stage.call("lambda", "GetFunctionConfiguration", FunctionName=mapping["FunctionArn"])


def _retention_ms(stage: Stage, dead_letter_arn: str) -> int:
    if not dead_letter_arn:
        return 0
    url = stage.call("sqs", "GetQueueUrl", QueueName=dead_letter_arn.rpartition(":")[2])["QueueUrl"]
    names = ["MessageRetentionPeriod"]
    attributes = stage.call("sqs", "GetQueueAttributes", QueueUrl=url, AttributeNames=names)["Attributes"]
    return int(attributes["MessageRetentionPeriod"]) * SECOND_MS


def _scheduled(stage: Stage, queue_arn: str) -> tuple[str, ...]:
    """The input that a schedule of the template sends to the queue; empty if no schedule does."""
    for schedule in stage.call("scheduler", "ListSchedules")["Schedules"]:
        found = stage.call(
            "scheduler", "GetSchedule", Name=schedule["Name"], GroupName=schedule["GroupName"]
        )  # fmt: skip
        if found["Target"]["Arn"] == queue_arn:
            execution = Execution(
                found["Arn"], SCOPE, execution_id(found["Arn"], START, 0), START, found["Target"]
            )  # fmt: skip
            return (rendered_input(execution, 1),)
    return ()
