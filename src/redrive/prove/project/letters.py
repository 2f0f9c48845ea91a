"""Queues for dead letters that are another stack's: the template only names them, by an output or an export."""

from __future__ import annotations

from redrive.core.documents import dump_json
from redrive.languages.template import Node
from redrive.prove.project.nodes import STUB, replaced, resources_of

_NAMES = ("Destination", "TargetArn", "deadLetterTargetArn")
"""The members that name the queue of a destination on failure, a function, a mapping, a rule and a redrive policy."""
_NAME = "RedriveProveLetters"


def take_in_letters(root: dict[str, Node]) -> dict[str, str]:
    """Make each of these queues, so that what is given up lies there and is not lost; returns what is told of them.

    Nested stacks are stubs by now.
    """
    stubs = {name for name, _ in resources_of(root, STUB)}
    made: dict[str, str] = {}

    def change(node: Node) -> Node:
        if not isinstance(node, dict) or node.get("Type", "SQS") != "SQS":
            return node
        found = {name: node[name] for name in _NAMES if _is_elsewhere(node.get(name), stubs)}
        arns: dict[str, Node] = {
            name: {"Fn::GetAtt": [made.setdefault(dump_json(place), f"{_NAME}{len(made) or ''}"), "Arn"]}
            for name, place in found.items()
        }
        return {**node, **arns}

    root |= {name: replaced(node, change) for name, node in root.items() if name in {"Globals", "Resources"}}
    resources = root.get("Resources")
    if isinstance(resources, dict):
        resources |= {name: {"Type": "AWS::SQS::Queue"} for name in made.values()}
    return {
        f"dead-letter queue {name}": f"it stands for {place}, which is another stack's" for place, name in made.items()
    }


def _is_elsewhere(node: Node, stubs: set[str]) -> bool:
    """Whether another stack has what a value names."""
    match node:
        case {"Fn::ImportValue": _}:
            return True
        case {"Fn::GetAtt": [str(name), *_]}:
            return name in stubs
        case _:
            return False
