"""The trigger of a function from a project's template: deployed, with schedules and other functions disabled."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document
from redrive.core.errors import UserError
from redrive.invoke.sandbox.unpack import unpack
from redrive.prove.process.subject import NamedSubject
from redrive.prove.project.focus import MADE, NOT_HERE, focus
from redrive.prove.project.functions import Feed, ProjectFunction
from redrive.prove.project.source import ProjectTemplate
from redrive.prove.stage.called import CUSTOM_RESOURCE, is_api
from redrive.prove.stage.deliveries import kind_for
from redrive.prove.stage.deployed import STACK, Deployments
from redrive.prove.stage.fed import direct_handlers, direct_trigger, is_direct, trigger_of
from redrive.prove.stage.invoked import invoked_handlers, invoked_trigger, retention_ms
from redrive.prove.stage.sampled import Wanted
from redrive.prove.stage.stage import SCOPE, START, Stage
from redrive.prove.stage.streams import stream_handlers, stream_trigger
from redrive.prove.stage.trigger import SAMPLE_EVENT, Kind, Trigger, bodies_of, with_messages
from redrive.services.lambda_.model.function import Function
from redrive.services.scheduler.model.executions import Execution, execution_id, rendered_input
from redrive.store.api import Transaction

FED_BY = "fed by"
_ASKED = "asked"
"""The name of what the report says of a function's trigger."""
_FUNCTION = "AWS::Lambda::Function"
_RULE = "AWS::Events::Rule"
_KINDS: Mapping[str, Kind] = {
    "sqs": Kind.SQS, "kinesis": Kind.KINESIS, "dynamodb": Kind.DYNAMODB, "eventbridge": Kind.EVENTBRIDGE, "s3": Kind.S3,
    "topic": Kind.SNS, "schedule": Kind.SCHEDULE, "task": Kind.TASK, "caller": Kind.LAMBDA,
}  # fmt: skip
_OF_CALLERS = "; whoever calls it calls again: played as asynchronous invocations"


@dataclass(frozen=True, slots=True)
class Declared:
    """What a template declares about the function under proof; `code` is the directory of local code."""

    trigger: Trigger
    handler: str
    code: Path | None = None
    layers: tuple[Path, ...] = ()


Sample = Callable[[Feed, Kind], tuple[tuple[str, ...], Mapping[str, str]]]
"""The events of a function that is invoked directly, and what was guessed of them."""


def feed_for(function: ProjectFunction, kind: Kind | None, wanted: Wanted) -> tuple[Feed, Kind]:
    """What feeds a function, as the user says it, the template, or else what the handler reads. Errors: UserError."""
    if kind is None:
        feed = function.feed
        read = kind_for(wanted.reading) if feed.kind == "caller" else None
        if read is None:
            return feed, _kind_of(feed)
        return Feed(read[0].value, read[1]), read[0]
    fits = [
        feed for feed in function.feeds
        if _kind_of(feed) is kind or (_kind_of(feed) is Kind.SQS and kind is Kind.FIFO)
    ]  # fmt: skip
    name = "sqs" if kind.is_queue else kind.value if kind.is_stream else _ASKED
    return (fits[0] if fits else Feed(name, f"what --trigger {kind.value} says")), kind


def _kind_of(feed: Feed) -> Kind:
    return Kind.API if is_api(feed) else _KINDS[feed.kind]


def function_trigger(
    stage: Stage, template: ProjectTemplate, function: ProjectFunction, bodies: tuple[str, ...] | None, *,
    deployments: Deployments, wanted: Wanted, kind: Kind | None, sample: Sample,
) -> Declared:  # fmt: skip
    """Deploy a template for one of its functions, and say what feeds that function. Errors: UserError."""
    feed, kind = feed_for(function, kind, wanted)
    root = copy.deepcopy(template.root)
    focus(root, function, feed)
    kept = {function.logical_id, feed.resource, feed.source, *MADE}
    stubs = deployments.deploy(stage, template, root, kept)
    told = {**template.guesses, **stubs}
    name = _physical_name(stage, template.file, function.logical_id)

    def of_function(_: Document) -> Wanted:
        return wanted

    if kind.is_stream:
        trigger, _ = stream_trigger(stage, template.file, "", bodies, kind, of_function)
    elif kind.is_queue:
        messages, guesses = sample(feed, kind)
        mapping = _pick(stage, template.file, "")
        trigger = _queue_trigger(stage, mapping, messages, is_given=bodies is not None)
        told |= guesses if messages in {trigger.bodies, trigger.given} else {}
    elif feed.kind == "eventbridge" and feed.resource:
        rule = _rule_name(stage, template.file, feed.resource)
        trigger, _ = invoked_trigger(stage, template.file, "", bodies, rule, of_function)
    else:
        events = bodies
        if events is None and feed.told == CUSTOM_RESOURCE:
            events, guesses = sample(feed, kind)
            told |= guesses
        trigger = trigger_of(stage, STACK, name, kind, events, wanted)
    trigger = replace(trigger, guesses={**told, **trigger.guesses}, fed_by=_fed_by(function, feed))
    return Declared(trigger, function.handler, function.code, function.layers)


def bare_trigger(
    stage: Stage, template: ProjectTemplate, make: Callable[[], Trigger], deployments: Deployments
) -> Declared:  # fmt: skip
    """Deploy a template that has no function for the handler, and `make` the usual trigger beside its resources."""
    root = copy.deepcopy(template.root)
    stubs = deployments.deploy(stage, template, root, set())
    trigger = make()
    told = {**template.guesses, **stubs}
    fed_by = "what is usual, because the template has no function"
    return Declared(replace(trigger, guesses={**told, **trigger.guesses}, fed_by=fed_by), "")


def declared_trigger(
    stage: Stage, template: ProjectTemplate, handler: str, bodies: tuple[str, ...] | None, *, deployments: Deployments,
    wanted: Callable[[str, Path | None], Wanted], kind: Kind | None = None, rule: str | None = None,
) -> Declared:  # fmt: skip
    """Deploy a template, with its schedules disabled, and pick what is fed by a queue, a stream or a rule.

    `handler` selects one of several functions; empty if there is only one. Without `kind`, a function that a queue
    feeds comes before one that a rule invokes. `rule` is the logical id of one of several rules. `wanted` says what the
    event of a handler is like, from its name and the directory of its code. Errors: UserError.
    """
    file = template.file
    deployments.deploy(stage, template, copy.deepcopy(template.root), None)
    told = dict(template.guesses)

    def of_function(function: Document) -> Wanted:
        code = template.code.get(_logical_id(stage, str(function["FunctionName"])))
        return wanted(str(function["Handler"]), code)

    if is_direct(kind) or (kind is None and rule is None and _fits_directly(stage, handler)):
        trigger, name = direct_trigger(stage, STACK, file, handler, bodies, kind, of_function)
    elif (kind is not None and kind.is_stream) or (kind is None and rule is None and _fits_stream(stage, handler)):
        trigger, name = stream_trigger(stage, file, handler, bodies, kind, of_function)
    elif rule is not None or kind is Kind.EVENTBRIDGE or (kind is None and not _fits_queue(stage, handler)):
        rule_name = None if rule is None else _rule_name(stage, file, rule)
        trigger, name = invoked_trigger(stage, file, handler, bodies, rule_name, of_function)
    else:
        mapping = _pick(stage, file, handler)
        for other in _mappings(stage):
            if other["UUID"] != mapping["UUID"]:
                stage.call("lambda", "UpdateEventSourceMapping", UUID=other["UUID"], Enabled=False)
        trigger = _queue_trigger(stage, mapping, bodies or bodies_of(SAMPLE_EVENT), is_given=bodies is not None)
        name = str(_function_of(stage, mapping)["Handler"])
    logical_id = _logical_id(stage, trigger.function_name)
    trigger = replace(trigger, guesses={**told, **trigger.guesses})
    return Declared(trigger, name, template.code.get(logical_id), template.layers.get(logical_id, ()))


def _queue_trigger(stage: Stage, mapping: Document, bodies: tuple[str, ...], *, is_given: bool) -> Trigger:
    """The queue of a mapping. What a schedule of the template sends to it comes before a sample."""
    queue_arn = str(mapping["EventSourceArn"])
    function = _function_of(stage, mapping)
    url = stage.call("sqs", "GetQueueUrl", QueueName=queue_arn.rpartition(":")[2])["QueueUrl"]
    attributes = stage.call("sqs", "GetQueueAttributes", QueueUrl=url, AttributeNames=["All"])["Attributes"]
    policy = json.loads(attributes.get("RedrivePolicy", "{}"))
    dead_letter_arn = policy.get("deadLetterTargetArn", "")
    given = bodies if is_given else _scheduled(stage, queue_arn) or bodies
    trigger = Trigger(
        str(function["FunctionName"]), queue_arn, url, dead_letter_arn, int(function["Timeout"]) * SECOND_MS,
        retention_ms(stage, dead_letter_arn), (), int(policy.get("maxReceiveCount", 0)),
    )  # fmt: skip
    return with_messages(trigger, given)


def _fed_by(function: ProjectFunction, feed: Feed) -> str:
    others = [one.told for one in function.feeds if one.told != feed.told and not one.told.startswith("another")]
    also = f", and {', and '.join(dict.fromkeys(others))}" if others else ""
    return f"{feed.told}{also}{_OF_CALLERS if feed.kind == 'caller' and not is_api(feed) else ''}"


def code_directory(code: Path) -> Path | None:
    """The directory of local code: a directory, or that of a single file. None for an archive."""
    if code.is_dir():
        return code
    return code.parent if code.is_file() and code.suffix == ".py" else None


def local_subject(declared: Declared, directory: Path) -> NamedSubject:
    """The handler in a directory of local code that the template names."""
    module, _, function = declared.handler.rpartition(".")
    return NamedSubject(module.replace("/", "."), function, directory, declared.layers)


def inline_subject(stage: Stage, declared: Declared, directory: Path) -> NamedSubject:
    """The handler whose code is in the template, unpacked under a directory."""
    unpack(_archive(stage, declared.trigger.function_name), directory)
    module, _, function = declared.handler.rpartition(".")
    return NamedSubject(module, function, directory)


def has_inline_code(stage: Stage, declared: Declared) -> bool:
    """Whether the function's code is in the template."""
    with zipfile.ZipFile(io.BytesIO(_archive(stage, declared.trigger.function_name))) as archive:
        return not any(archive.read(name) == NOT_HERE.encode() for name in archive.namelist())


def _archive(stage: Stage, function_name: str) -> bytes:
    def step(tx: Transaction) -> bytes:
        function = tx.resources.get(Function, SCOPE, function_name)
        return b"" if function is None else tx.blobs.get(function.code_digest) or b""

    return stage.engine.run(step)


def _physical_name(stage: Stage, file: Path, logical_id: str) -> str:
    found = stage.call("cloudformation", "DescribeStackResources", StackName=STACK)["StackResources"]
    for one in found:
        if one["LogicalResourceId"] == logical_id:
            return str(one["PhysicalResourceId"])
    raise UserError(
        f"The template {file} does not make the function {logical_id} with these parameters.",
        next_step="Its condition does not hold: give the parameters for which it does, with -p KEY=VALUE.", exit_code=2,
    )  # fmt: skip


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
