"""The events of a function of the Serverless Framework, as those of a function of SAM.

Source: https://www.serverless.com/framework/docs/providers/aws/guide/events
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from redrive.core.documents import dump_json
from redrive.languages.template import Node
from redrive.prove.project.nodes import items_of

_SAM = {
    "batchSize": "BatchSize", "maximumBatchingWindow": "MaximumBatchingWindowInSeconds", "batchWindow":
    "MaximumBatchingWindowInSeconds", "enabled": "Enabled", "startingPosition": "StartingPosition",
    "bisectBatchOnFunctionError": "BisectBatchOnFunctionError", "maximumRetryAttempts": "MaximumRetryAttempts",
    "parallelizationFactor": "ParallelizationFactor", "maximumRecordAgeInSeconds": "MaximumRecordAgeInSeconds",
}  # fmt: skip
"""Members of events that SAM has under other names."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]")


class Events:
    """Translates the events of one function. What the framework would make for them is added to the resources."""

    def __init__(self, function: str, resources: dict[str, Node]) -> None:
        self._function = function
        self._resources = resources

    def of(self, events: Node) -> dict[str, Node]:
        """The events by their names. Kinds that no proof plays are left out."""
        found: dict[str, Node] = {}
        for number, event in enumerate(items_of(events)):
            for kind, told in event.items() if isinstance(event, dict) else [(event, None)]:
                for made in self._translated(str(kind), told):
                    found[f"Event{number}{len(found)}"] = made
        return found

    def asynchronous(self, function: Mapping[str, Node]) -> dict[str, Node]:
        """What follows for invocations without an answer: retries, age, dead letters and destinations."""
        destinations = function.get("destinations")
        failed = destinations.get("onFailure") if isinstance(destinations, dict) else None
        arn = failed.get("arn") if isinstance(failed, dict) else failed
        configured: dict[str, Node] = {
            "MaximumRetryAttempts": function.get("maximumRetryAttempts"),
            "MaximumEventAgeInSeconds": function.get("maximumEventAge"),
        }
        if arn is not None:
            configured["DestinationConfig"] = {"OnFailure": {"Type": "SQS", "Destination": arn}}
        configured = {name: value for name, value in configured.items() if value is not None}
        made: dict[str, Node] = {"EventInvokeConfig": configured} if configured else {}
        if function.get("onError") is not None:
            made["DeadLetterQueue"] = {"Type": "SQS", "TargetArn": function["onError"]}
        return made

    def _translated(self, kind: str, told: Node) -> list[Node]:
        members = told if isinstance(told, dict) and not _is_intrinsic(told) else {}
        match kind:
            case "sqs":
                return [_event("SQS", _mapped(members) | {"Queue": members.get("arn", told)})]
            case "stream":
                arn = members.get("arn", told)
                is_table = members.get("type") == "dynamodb" or "StreamArn" in str(arn) or ":dynamodb:" in str(arn)
                mapped = {"StartingPosition": "TRIM_HORIZON"} | _mapped(members)
                return [_event("DynamoDB" if is_table else "Kinesis", mapped | {"Stream": arn})]
            case "sns":
                return [_event("SNS", {"Topic": self._topic(members, told)})]
            case "s3":
                bucket = self._bucket(str(members.get("bucket", told)))
                return [_event("S3", {"Bucket": bucket, "Events": members.get("event", "s3:ObjectCreated:*")})]
            case "schedule":
                return [_schedule(rate, members) for rate in items_of(members.get("rate", told))]
            case "eventBridge" | "cloudwatchEvent":
                return _of_bus(members)
            case "http" | "httpApi":
                return [_event("Api" if kind == "http" else "HttpApi", _route(members, told))]
            case _:
                return []

    def _topic(self, members: Mapping[str, Node], told: Node) -> Node:
        given = members.get("arn", members.get("topicName", told))
        if not isinstance(given, str) or given.startswith("arn:"):
            return given
        logical_id = f"SNSTopic{_NOT_IN_NAMES.sub('', given).capitalize()}"
        self._resources.setdefault(logical_id, {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": given}})
        return {"Ref": logical_id}

    def _bucket(self, name: str) -> Node:
        """The bucket of this name, which the user may have declared."""
        for logical_id, resource in self._resources.items():
            properties = resource.get("Properties") if isinstance(resource, dict) else None
            if isinstance(properties, dict) and properties.get("BucketName") == name:
                return {"Ref": logical_id}
        logical_id = f"S3Bucket{_NOT_IN_NAMES.sub('', name).capitalize()}"
        self._resources.setdefault(logical_id, {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": name}})
        return {"Ref": logical_id}


def _event(kind: str, properties: Mapping[str, Node]) -> Node:
    return {"Type": kind, "Properties": {name: value for name, value in properties.items() if value is not None}}


def _mapped(members: Mapping[str, Node]) -> dict[str, Node]:
    """What a mapping of an event source says."""
    made = {_SAM[name]: value for name, value in members.items() if name in _SAM}
    reported = members.get("functionResponseType")
    if reported is not None:
        made["FunctionResponseTypes"] = [reported]
    destinations = members.get("destinations")
    failed = destinations.get("onFailure") if isinstance(destinations, dict) else None
    if failed is not None:
        arn = failed.get("arn") if isinstance(failed, dict) and not _is_intrinsic(failed) else failed
        made["DestinationConfig"] = {"OnFailure": {"Destination": arn}}
    return made


def _schedule(rate: Node, members: Mapping[str, Node]) -> Node:
    given = members.get("input")
    is_schedulers = members.get("method") == "scheduler"
    made: dict[str, Node] = {"ScheduleExpression" if is_schedulers else "Schedule": rate}
    if given is not None:
        made["Input"] = _input(given)
    return _event("ScheduleV2" if is_schedulers else "Schedule", made)


def _of_bus(members: Mapping[str, Node]) -> list[Node]:
    bus = members.get("eventBus")
    common = {"EventBusName": bus, "Input": _input(members.get("input"))}
    pattern = members.get("pattern", members.get("event"))
    made = [] if pattern is None else [_event("EventBridgeRule", {**common, "Pattern": pattern})]
    rate = members.get("schedule")
    return made if rate is None else [*made, _event("Schedule", {"Schedule": rate, "Input": common["Input"]})]


def _input(given: Node) -> Node:
    return given if given is None or isinstance(given, str) else dump_json(given)


def _route(members: Mapping[str, Node], told: Node) -> dict[str, Node]:
    method, _, path = str(told).partition(" ") if not members else (str(members.get("method", "any")), "", "")
    path = str(members.get("path", path)) or "/"
    return {"Method": "any" if method == "*" else method.lower(), "Path": path if path[:1] == "/" else f"/{path}"}


def _is_intrinsic(node: Mapping[str, Node]) -> bool:
    return len(node) == 1 and (next(iter(node)).startswith("Fn::") or "Ref" in node)
