"""The checks of a target before it is stored, where known with AWS's messages.

The wire has already checked the shapes: lengths, patterns, enums, required members.
Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_Target.html
"""

from __future__ import annotations

import re

from redrive.core.arn import Arn
from redrive.core.documents import Document, load_json
from redrive.core.scope import Scope
from redrive.languages.input_transformer import RESERVED, parse_template
from redrive.languages.json_path import MalformedPath, parse_path
from redrive.services.events.model.requests import invalid
from redrive.services.events.model.targets import BUS, Kind, find_kind

_INPUTS = ("Input", "InputPath", "InputTransformer")
_QUEUE_ARN = re.compile(r"arn:aws[a-z-]*:sqs:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+")


def check_target(target: Document, scope: Scope) -> None:
    """Refuse a target that AWS refuses, for a rule in this scope. Errors: ValidationException."""
    kind = find_kind(target["Arn"])
    if kind is None:
        raise invalid(f"Parameter {target['Arn']} is not valid. Reason: Provided Arn is not in correct format.")
    _check_input(target)
    _check_blocks(target, kind)
    _check_role(target, kind, scope)
    dead_letters = (target.get("DeadLetterConfig") or {}).get("Arn")
    if dead_letters is not None and _QUEUE_ARN.fullmatch(dead_letters) is None:
        raise invalid(
            f"Parameter DeadLetterConfig.Arn is not valid for target {target['Id']}. "
            "Reason: It must be the Arn of a standard SQS queue."
        )


def _check_role(target: Document, kind: Kind, scope: Scope) -> None:
    """A bus in this account and region needs no role; one elsewhere does."""
    arn = Arn.parse(target["Arn"])
    is_elsewhere = kind.name == BUS and (arn.account, arn.region) != (scope.account, scope.region)
    if (kind.needs_role or is_elsewhere) and "RoleArn" not in target:
        raise invalid(f"RoleArn is required for target {target['Arn']}.")
    if kind.name == BUS and arn.account != scope.account and any(name in target for name in _INPUTS):
        raise invalid(f"Input, InputPath and InputTransformer are not available for target {target['Id']}.")


def _check_blocks(target: Document, kind: Kind) -> None:
    is_fifo = kind.service == "sqs" and target["Arn"].endswith(".fifo")
    block = target.get(kind.block) if kind.block else None
    if (kind.needs_block and block is None) or (is_fifo and not (block or {}).get("MessageGroupId")):
        raise invalid(f"Parameter(s) {kind.block} must be specified for target: {target['Id']}.")
    path = (target.get("KinesisParameters") or {}).get("PartitionKeyPath")
    if path is not None:
        _check_path(path, f"PartitionKeyPath for target {target['Id']}")


def _check_input(target: Document) -> None:
    target_id = target["Id"]
    if sum(name in target for name in _INPUTS) > 1:
        raise invalid(f"Only one of Input, InputPath, or InputTransformer must be provided for target {target_id}.")
    if "Input" in target:
        try:
            load_json(target["Input"])
        except ValueError as error:
            raise invalid(f"JSON syntax error in input for target {target_id}.") from error
    if "InputPath" in target:
        _check_path(target["InputPath"], f"InputPath for target {target_id}")
    if "InputTransformer" in target:
        _check_transformer(target["InputTransformer"], target_id)


def _check_transformer(transformer: Document, target_id: str) -> None:
    paths = transformer.get("InputPathsMap") or {}
    for name, path in paths.items():
        if name.upper().startswith("AWS"):
            raise invalid(f"InputPathsMap for target {target_id} contains the reserved key {name}.")
        _check_path(path, f"InputPathsMap for target {target_id}")
    template = parse_template(transformer["InputTemplate"])
    for name in template.names:
        if name not in paths and name not in RESERVED:
            raise invalid(f"InputTemplate for target {target_id} contains invalid placeholder {name}.")
    if template.has_key:
        raise invalid(f"InputTemplate for target {target_id} contains a placeholder as the key of an object.")


def _check_path(path: str, where: str) -> None:
    try:
        parse_path(path)
    except MalformedPath as error:
        raise invalid(f"{where} is not a valid JSONPath: {error}.") from error
