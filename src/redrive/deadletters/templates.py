"""The dead-letter queues that a template declares, and what writes into them: CloudFormation's and SAM's own resources.

Nothing is resolved that needs values: a reference names a resource by its logical id, an ARN by its last part, and what
a parameter or an import names is told as it stands in the template. Both branches of an `Fn::If` count.

Sources: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/;
https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-specification-resources-and-properties.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from redrive.core.errors import UserError
from redrive.deadletters.envelopes import STATUS_CHANGE
from redrive.deadletters.sources import Source
from redrive.languages.template import Node, TemplateError
from redrive.languages.template.source import read_source

_Path = tuple[str, ...]

_SETTINGS: Mapping[str, tuple[tuple[_Path, str], ...]] = {
    "AWS::SQS::Queue": ((("RedrivePolicy", "deadLetterTargetArn"), "queue"),),
    "AWS::Scheduler::Schedule": ((("Target", "DeadLetterConfig", "Arn"), "schedule"),),
    "AWS::Events::Rule": ((("Targets", "*", "DeadLetterConfig", "Arn"), "rule"),),
    "AWS::Lambda::Function": ((("DeadLetterConfig", "TargetArn"), "function"),),
    "AWS::Lambda::EventInvokeConfig": ((("DestinationConfig", "OnFailure", "Destination"), "function"),),
    "AWS::Lambda::EventSourceMapping": ((("DestinationConfig", "OnFailure", "Destination"), "mapping"),),
    "AWS::SNS::Subscription": ((("RedrivePolicy", "deadLetterTargetArn"), "subscription"),),
    "AWS::Pipes::Pipe": ((("SourceParameters", "*", "DeadLetterConfig", "Arn"), "pipe"),),
    "AWS::Serverless::Function": (
        (("DeadLetterQueue", "TargetArn"), "function"),
        (("EventInvokeConfig", "DestinationConfig", "OnFailure", "Destination"), "function"),
        (("Events", "*", "Properties", "DeadLetterConfig", "Arn"), "event"),
        (("Events", "*", "Properties", "DestinationConfig", "OnFailure", "Destination"), "event"),
        (("Events", "*", "Properties", "RedrivePolicy", "deadLetterTargetArn"), "event"),
    ),
    "AWS::Serverless::StateMachine": ((("Events", "*", "Properties", "DeadLetterConfig", "Arn"), "event"),),
}
"""By type of resource: where a property names what gets its failures, and the kind of the source."""

_IN_SUB = re.compile(r"^\$\{(?P<name>[A-Za-z0-9]+)(?:\.Arn)?\}$")
_LAST_PART = re.compile(r"[A-Za-z0-9_.-]+$")


@dataclass(frozen=True, slots=True)
class TemplateQueue:
    """A queue of a template that gets dead letters. `name` is empty if CloudFormation makes the name."""

    logical_id: str
    name: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class TemplateSources:
    """The dead-letter queues of a template. `elsewhere` names those that it does not declare, with their sources."""

    queues: tuple[TemplateQueue, ...]
    elsewhere: Mapping[str, tuple[Source, ...]]


def sources_in(text: str) -> TemplateSources:
    """Read a template, YAML or JSON. Errors: UserError if it is none."""
    resources = _resources(text)
    found: dict[str, list[Source]] = {}
    for logical_id, resource in resources.items():
        for path, kind in _SETTINGS.get(str(resource.get("Type")), ()):
            for place, value in _at(resource.get("Properties"), path):
                for target in _named(value):
                    found.setdefault(_known(target, resources), []).append(_source(kind, logical_id, place))
        for target in _told_of_executions(resource, resources):
            found.setdefault(target, []).append(_source("executions of rule", logical_id, ""))
    for logical_id in [name for name in found if resources.get(name, {}).get("Type") == "AWS::SNS::Topic"]:
        passed = found.pop(logical_id)
        for endpoint in _subscribed(resources, logical_id):
            found.setdefault(endpoint, []).extend(passed)
    queues = [
        TemplateQueue(name, _queue_name(resources[name]), tuple(sources))
        for name, sources in found.items()
        if name in resources and resources[name].get("Type") == "AWS::SQS::Queue"
    ]
    declared = {queue.logical_id for queue in queues}
    return TemplateSources(
        tuple(queues), {name: tuple(sources) for name, sources in found.items() if name not in declared}
    )


def _resources(text: str) -> dict[str, dict[str, Node]]:
    try:
        root = read_source(text)
    except TemplateError as error:
        raise UserError(f"The template cannot be read: {error}", exit_code=2) from error
    resources = root.get("Resources") if isinstance(root, dict) else None
    if not isinstance(resources, dict) or not resources:
        raise UserError("The template has no Resources.", next_step="Name a template of CloudFormation.", exit_code=2)
    return {name: resource for name, resource in resources.items() if isinstance(resource, dict)}


def _at(node: Node, path: _Path, place: str = "") -> Iterator[tuple[str, Node]]:
    """The values at a path, each with the name of the member that `*` stood for. A policy may be JSON in a text."""
    if isinstance(node, str) and path:
        node = _parsed(node)
    if not path:
        if node is not None:
            yield place, node
        return
    if isinstance(node, dict) and "Fn::If" in node:
        branches = node["Fn::If"]
        for branch in branches[1:] if isinstance(branches, list) else ():
            yield from _at(branch, path, place)
        return
    step, *rest = path
    if step == "*" and isinstance(node, dict):
        for name, value in node.items():
            yield from _at(value, tuple(rest), name)
    elif step == "*" and isinstance(node, list):
        for value in node:
            yield from _at(value, tuple(rest), place)
    elif isinstance(node, dict) and step in node:
        yield from _at(node[step], tuple(rest), place)
    elif isinstance(node, dict) and step == "Arn" and isinstance(node.get("QueueLogicalId"), str):
        yield place, {"Ref": node["QueueLogicalId"]}


def _named(value: Node) -> Iterator[str]:
    """The logical ids, names or expressions that a value names."""
    match value:
        case {"Ref": "AWS::NoValue"}:
            return
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), *_]}:
            yield name
        case {"Fn::GetAtt": str(text)}:
            yield text.partition(".")[0]
        case {"Fn::Sub": str(text)} | {"Fn::Sub": [str(text), *_]}:
            whole = _IN_SUB.match(text)
            yield whole["name"] if whole else text
        case {"Fn::If": [_, *branches]}:
            for branch in branches:
                yield from _named(branch)
        case {"Fn::Join": [str(separator), [*parts]]} if all(isinstance(part, str | dict) for part in parts):
            yield separator.join(part if isinstance(part, str) else "…" for part in parts)
        case str():
            yield value
        case None:
            return
        case _:
            yield json.dumps(value, ensure_ascii=False)


def _told_of_executions(resource: Mapping[str, Node], resources: Mapping[str, Mapping[str, Node]]) -> Iterator[str]:
    """The queues to which a rule sends the events of executions that failed, by the pattern of the rule."""
    properties = resource.get("Properties")
    if resource.get("Type") != "AWS::Events::Rule" or not isinstance(properties, dict):
        return
    if STATUS_CHANGE not in json.dumps(properties.get("EventPattern"), default=str):
        return
    for _, value in _at(properties, ("Targets", "*", "Arn")):
        for target in (_known(name, resources) for name in _named(value)):
            if ":sqs:" in target or resources.get(target, {}).get("Type") == "AWS::SQS::Queue":
                yield target


def _known(target: str, resources: Mapping[str, Mapping[str, Node]]) -> str:
    """The logical id of what a text names: an id, or an ARN or URL that ends in the name of a queue or topic."""
    if target in resources:
        return target
    last = _LAST_PART.search(target)
    if last is None:
        return target
    named = (name for name, one in resources.items() if last.group() in {_queue_name(one), _topic_name(one)})
    return next(named, target)


def _subscribed(resources: Mapping[str, Mapping[str, Node]], topic: str) -> Iterator[str]:
    """What has subscribed to a topic with a queue."""
    for resource in resources.values():
        properties = resource.get("Properties")
        if not isinstance(properties, dict):
            continue
        if resource.get("Type") == "AWS::SNS::Subscription":
            told = [properties] if topic in _named(properties.get("TopicArn")) else []
        elif resource is resources.get(topic):
            listed = properties.get("Subscription")
            told = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        else:
            told = []
        for one in told:
            if one.get("Protocol") == "sqs":
                yield from (_known(name, resources) for name in _named(one.get("Endpoint")))


def _source(kind: str, logical_id: str, place: str) -> Source:
    return {"kind": kind, "name": f"{logical_id}/{place}" if place and kind == "event" else logical_id, "arn": ""}


def _queue_name(resource: Mapping[str, Node]) -> str:
    return _member(resource, "QueueName")


def _topic_name(resource: Mapping[str, Node]) -> str:
    return _member(resource, "TopicName")


def _member(resource: Mapping[str, Node], name: str) -> str:
    properties = resource.get("Properties")
    value = properties.get(name) if isinstance(properties, dict) else None
    return value if isinstance(value, str) else ""


def _parsed(text: str) -> Node:
    try:
        parsed: Node = json.loads(text)
    except ValueError:
        return None
    return parsed
