"""Pipes of EventBridge from a queue or a stream to a function, as the mappings that they resemble.

A pipe polls its source as a mapping does, and invokes its target with a list of records, which have no envelope. What
its function reports in `batchItemFailures` comes again; any other answer is a success. Sources:
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-pipes-batching-concurrency.html and
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-pipes-event-source.html
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from redrive.languages.template import Node
from redrive.prove.project.nodes import mentioned, properties_of, resources_of, stubbed

_PIPE = "AWS::Pipes::Pipe"
_FUNCTION = "AWS::Lambda::Function"
_SOURCES = {
    "SqsQueueParameters": ("AWS::SQS::Queue",), "KinesisStreamParameters": ("AWS::Kinesis::Stream",),
    "DynamoDBStreamParameters": ("AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable"),
}  # fmt: skip
_SAME = ("BatchSize", "MaximumRecordAgeInSeconds", "MaximumRetryAttempts", "ParallelizationFactor", "StartingPosition")
_ENRICHMENTS = {
    "function": ("AWS::Lambda::Function",), "API destination": ("AWS::Events::ApiDestination",),
    "state machine": ("AWS::StepFunctions::StateMachine",),
    "API": ("AWS::ApiGateway::RestApi", "AWS::ApiGatewayV2::Api"),
}  # fmt: skip
_NEXT = "{} is proved with what it reads of a list; give its event with --event, and --trigger lambda"
_WINDOW = "MaximumBatchingWindowInSeconds"


@dataclass(slots=True)
class Pipes:
    """The functions that pipes feed, and what is told of each pipe."""

    functions: set[str] = field(default_factory=set)
    guesses: dict[str, str] = field(default_factory=dict)


def take_in_pipes(root: dict[str, Node], reports: Callable[[str], bool]) -> Pipes:
    """Declare pipes to functions as mappings. `reports` says of a function whether it names what has failed."""
    found = Pipes()
    types = {name: str(resource.get("Type")) for name, resource in resources_of(root)}
    for name, resource in list(resources_of(root, _PIPE)):
        properties = properties_of(resource)
        kind = _kind_of(properties, types)
        target = _function_in(properties.get("Target"), types)
        first = _function_in(properties.get("Enrichment"), types)
        reason = _refusal(properties, types)
        fed = first if reason and kind else target
        if not fed or not kind or (reason and not first):
            if target and kind:
                found.guesses[f"pipe {name}"] = f"left out, because {reason}; {_NEXT.format(target)}"
                left_out = stubbed(resource)
                resource.clear()
                resource.update(left_out)
            continue
        mapping = _mapping_of(properties, kind, fed)
        if reports(fed) and not first:
            mapping["FunctionResponseTypes"] = ["ReportBatchItemFailures"]
        resource.update({"Type": "AWS::Lambda::EventSourceMapping", "Properties": mapping})
        found.functions.add(fed)
        told = f"gives {fed} a list of records, and is played as a mapping"
        after = f"; {reason}; {_NEXT.format(target)}" if first and target else ""
        found.guesses[f"pipe {name}"] = told + after
    return found


def _kind_of(properties: Mapping[str, Node], types: Mapping[str, str]) -> str:
    """The parameters that its source takes; empty if it is no queue of SQS and no stream."""
    named = {types.get(one) for one in mentioned(properties.get("Source"))}
    by_type = next((kind for kind, of_kind in _SOURCES.items() if named & set(of_kind)), "")
    said = _object(properties.get("SourceParameters"))
    text = json.dumps(properties.get("Source"))
    by_arn = {
        ":sqs:": "SqsQueueParameters",
        ":kinesis:": "KinesisStreamParameters",
        ":dynamodb:": "DynamoDBStreamParameters",
    }
    return (
        by_type
        or next((kind for kind in _SOURCES if kind in said), "")
        or next((kind for part, kind in by_arn.items() if part in text), "")
    )


def _function_in(node: Node, types: Mapping[str, str]) -> str:
    return next((one for one in mentioned(node) if types.get(one) == _FUNCTION), "")


def _refusal(properties: Mapping[str, Node], types: Mapping[str, str]) -> str:
    """Why what its target is given cannot be told; empty if it can."""
    enrichment = properties.get("Enrichment")
    if enrichment:
        named = next(iter(mentioned(enrichment)), "") or (enrichment if isinstance(enrichment, str) else "")
        kind = next((noun for noun, of_kind in _ENRICHMENTS.items() if types.get(named) in of_kind), "")
        return f"what its enrichment, {f'the {kind} ' if kind else ''}{named}, answers is the event of its target"
    if _object(properties.get("TargetParameters")).get("InputTemplate"):
        return "its input template makes the event of its target"
    return ""


def _mapping_of(properties: Mapping[str, Node], kind: str, function: str) -> dict[str, Node]:
    said = _object(properties.get("SourceParameters"))
    own = _object(said.get(kind))
    made: dict[str, Node] = {
        "FunctionName": {"Ref": function}, "EventSourceArn": properties.get("Source"),
        "FilterCriteria": said.get("FilterCriteria"), **{name: own.get(name) for name in _SAME},
        _WINDOW: own.get(_WINDOW),
    }  # fmt: skip
    if kind != "SqsQueueParameters":
        made["StartingPosition"] = own.get("StartingPosition", "LATEST")
        made["BisectBatchOnFunctionError"] = (
            True if own.get("OnPartialBatchItemFailure") == "AUTOMATIC_BISECT" else None
        )
        dead = _object(own.get("DeadLetterConfig")).get("Arn")
        made["DestinationConfig"] = None if dead is None else {"OnFailure": {"Destination": dead}}
    return {name: value for name, value in made.items() if value is not None}


def _object(node: Node) -> Mapping[str, Node]:
    return node if isinstance(node, dict) else {}
