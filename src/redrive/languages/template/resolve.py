"""Put values in the place of functions.

It must not know where values come from: a scope answers for parameters, resources and exports.
Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
"""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Callable, Mapping
from enum import Enum
from itertools import islice
from types import MappingProxyType
from typing import Protocol, TypeAlias

from redrive.languages.template.errors import TemplateError
from redrive.languages.template.functions import (
    CIDR_SHAPE,
    JOIN_SHAPE,
    SELECT_SHAPE,
    cidr_arguments,
    find_in_map_arguments,
    function_of,
    get_att_arguments,
    if_arguments,
    join_arguments,
    ref_name,
    select_arguments,
    split_arguments,
    sub_arguments,
    sub_pieces,
)
from redrive.languages.template.pseudo import NO_VALUE, PseudoParameters
from redrive.languages.template.source import Node
from redrive.languages.template.text import text_of

# https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-cidr.html
CIDR_COUNT_MAX = 256
# AWS lists the zones an account has; three is what most regions have.
ZONE_LETTERS = "abc"


class ResolutionScope(Protocol):
    """Where a value's functions find what they name."""

    @property
    def pseudo(self) -> PseudoParameters:
        """The stack's own facts."""
        ...

    @property
    def mappings(self) -> Mapping[str, Mapping[str, Mapping[str, Node]]]:
        """The template's mappings."""
        ...

    @property
    def conditions(self) -> Mapping[str, bool]:
        """Every condition's answer."""
        ...

    def ref(self, name: str) -> Node:
        """A parameter's value, or the id of a resource that exists already. Errors: TemplateError."""
        ...

    def get_att(self, logical_id: str, attribute: str) -> Node:
        """An attribute of a resource that exists already. Errors: TemplateError."""
        ...

    def import_value(self, name: str) -> Node:
        """What another stack exports under this name. Errors: TemplateError."""
        ...


class _Removed(Enum):
    """The result of AWS::NoValue: the property or item it stands for is not there."""

    REMOVED = "removed"


_Result: TypeAlias = "Node | _Removed"


def resolve(node: Node, scope: ResolutionScope) -> Node:
    """The value with every function replaced by its result; AWS::NoValue removes the property it stands for.

    AWS::NoValue in the place of the whole value gives None. Errors: TemplateError.
    """
    result = _resolve(node, scope)
    return None if isinstance(result, _Removed) else result


def _resolve(node: Node, scope: ResolutionScope) -> _Result:
    call = function_of(node)
    if call is not None:
        name, argument = call
        if name not in _FUNCTIONS:
            raise TemplateError(f"Template error: {name} cannot be used here")
        return _FUNCTIONS[name](argument, scope)
    match node:
        case dict():
            members = ((key, _resolve(value, scope)) for key, value in node.items())
            return {key: value for key, value in members if not isinstance(value, _Removed)}
        case list():
            items = (_resolve(item, scope) for item in node)
            return [item for item in items if not isinstance(item, _Removed)]
        case _:
            return node


def _text(node: Node, scope: ResolutionScope) -> str:
    return text_of(resolve(node, scope))


def _ref(argument: Node, scope: ResolutionScope) -> _Result:
    name = ref_name(argument)
    if name == NO_VALUE:
        return _Removed.REMOVED
    pseudo = scope.pseudo.values()
    return pseudo[name] if name in pseudo else scope.ref(name)


def _get_att(argument: Node, scope: ResolutionScope) -> _Result:
    logical_id, attribute = get_att_arguments(argument)
    return scope.get_att(logical_id, _text(attribute, scope))


def _sub(argument: Node, scope: ResolutionScope) -> _Result:
    text, values = sub_arguments(argument)
    written: list[str] = []
    for before, name in sub_pieces(text):
        written.append(before)
        if name is not None:
            written.append(_sub_value(name, values, scope))
    return "".join(written)


def _sub_value(name: str, values: Mapping[str, Node], scope: ResolutionScope) -> str:
    if name in values:
        return _text(values[name], scope)
    logical_id, dot, attribute = name.partition(".")
    value = scope.get_att(logical_id, attribute) if dot else _ref(name, scope)
    if isinstance(value, list | dict | _Removed) or value is None:
        raise TemplateError(f"Template error: Fn::Sub expression does not resolve to a string: {name}")
    return text_of(value)


def _join(argument: Node, scope: ResolutionScope) -> _Result:
    delimiter, items = join_arguments(argument)
    resolved = resolve(items, scope)
    if not isinstance(resolved, list):
        raise TemplateError(JOIN_SHAPE)
    return delimiter.join(map(text_of, resolved))


def _split(argument: Node, scope: ResolutionScope) -> _Result:
    delimiter, text = split_arguments(argument)
    return list(_text(text, scope).split(delimiter))


def _select(argument: Node, scope: ResolutionScope) -> _Result:
    index_node, items_node = select_arguments(argument)
    index = _text(index_node, scope)
    items = resolve(items_node, scope)
    if not isinstance(items, list) or not index.isdecimal():
        raise TemplateError(SELECT_SHAPE)
    if int(index) >= len(items):
        raise TemplateError(f"Template error: Fn::Select cannot select nonexistent value at index {index}")
    return items[int(index)]


def _if(argument: Node, scope: ResolutionScope) -> _Result:
    condition, then, otherwise = if_arguments(argument)
    if condition not in scope.conditions:
        raise TemplateError(f"Template error: unresolved condition dependency {condition} in Fn::If")
    return _resolve(then if scope.conditions[condition] else otherwise, scope)


def _find_in_map(argument: Node, scope: ResolutionScope) -> _Result:
    name, first, second = (_text(part, scope) for part in find_in_map_arguments(argument))
    if name not in scope.mappings:
        raise TemplateError(
            f"Template error: Mapping named '{name}' is not present in the 'Mappings' section of template."
        )
    try:
        return scope.mappings[name][first][second]
    except KeyError:
        raise TemplateError(f"Template error: Unable to get mapping for {name}::{first}::{second}") from None


def _import_value(argument: Node, scope: ResolutionScope) -> _Result:
    return scope.import_value(_text(argument, scope))


def _base64(argument: Node, scope: ResolutionScope) -> _Result:
    return base64.b64encode(_text(argument, scope).encode()).decode()


def _get_azs(argument: Node, scope: ResolutionScope) -> _Result:
    region = _text(argument, scope) or scope.pseudo.region
    return [f"{region}{letter}" for letter in ZONE_LETTERS]


def _cidr(argument: Node, scope: ResolutionScope) -> _Result:
    block, count, bits = (_text(part, scope) for part in cidr_arguments(argument))
    if not count.isdecimal() or not 1 <= int(count) <= CIDR_COUNT_MAX or not bits.isdecimal():
        raise TemplateError(CIDR_SHAPE)
    try:
        network = ipaddress.ip_network(block)
        parts = islice(network.subnets(new_prefix=network.max_prefixlen - int(bits)), int(count))
        blocks: list[Node] = [str(part) for part in parts]
    except ValueError:
        raise TemplateError(f"Template error: Fn::Cidr cannot divide {block} by {bits} bits") from None
    if len(blocks) < int(count):
        raise TemplateError(f"Template error: Fn::Cidr cannot take {count} blocks of {bits} bits from {block}")
    return blocks


_FUNCTIONS: Mapping[str, Callable[[Node, ResolutionScope], _Result]] = MappingProxyType(
    {
        "Ref": _ref,
        "Fn::GetAtt": _get_att,
        "Fn::Sub": _sub,
        "Fn::Join": _join,
        "Fn::Split": _split,
        "Fn::Select": _select,
        "Fn::If": _if,
        "Fn::FindInMap": _find_in_map,
        "Fn::ImportValue": _import_value,
        "Fn::Base64": _base64,
        "Fn::GetAZs": _get_azs,
        "Fn::Cidr": _cidr,
    }
)
