"""What a template looks up in its mappings, held against them before anything is made.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-findinmap.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from redrive.languages.template.functions import function_of, if_arguments
from redrive.languages.template.model import Resource
from redrive.languages.template.references import AttributeOf, RefTo, references
from redrive.languages.template.resolve import ResolutionScope, resolve
from redrive.languages.template.source import Node


def check_lookups(nodes: Iterable[Node], scope: ResolutionScope, resources: Mapping[str, Resource]) -> None:
    """Look up what the values look up in mappings, on the branches of If that are taken.

    A key that only a resource knows is left to the resource's own deployment. Errors: TemplateError (no such entry).
    """
    for node in nodes:
        for lookup in _lookups(node, scope.conditions):
            found = references(lookup, scope.conditions)
            if not any(isinstance(each, RefTo | AttributeOf) and each.name in resources for each in found):
                resolve(lookup, scope)


def _lookups(node: Node, conditions: Mapping[str, bool]) -> Iterator[Node]:
    call = function_of(node)
    match call, node:
        case ("Fn::FindInMap", _), _:
            yield node
        case ("Fn::If", argument), _:
            condition, then, otherwise = if_arguments(argument)
            yield from _lookups(then if conditions[condition] else otherwise, conditions)
        case (_, argument), _:
            yield from _lookups(argument, conditions)
        case None, dict():
            for value in node.values():
                yield from _lookups(value, conditions)
        case None, list():
            for item in node:
                yield from _lookups(item, conditions)
        case _:
            return
