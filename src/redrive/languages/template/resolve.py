"""Replaces functions by their values.

It must not know where values come from: a scope provides parameters, resources and exports.
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
from redrive.languages.template.text import text_of, whole_number

# https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-cidr.html
CIDR_COUNT_MAX = 256
# AWS lists the zones of an account; most regions have three.
ZONE_LETTERS = "abc"

RESOLVED_MAX = 1_048_576
"""The most characters and items that the functions of one value may return together, nested ones included.

Our own limit: nested functions can double their input at each level. No template is larger than this.
"""


class ResolutionScope(Protocol):
    """Provides the values that functions name."""

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
        """The value of every condition."""
        ...

    def ref(self, name: str) -> Node:
        """A parameter's value, or the id of an existing resource. Errors: TemplateError."""
        ...

    def get_att(self, logical_id: str, attribute: str) -> Node:
        """An attribute of an existing resource. Errors: TemplateError."""
        ...

    def import_value(self, name: str) -> Node:
        """Another stack's export with this name. Errors: TemplateError."""
        ...


class _Resolving:
    """A scope during the resolution of one value: adds up the sizes of the functions' results."""

    def __init__(self, scope: ResolutionScope) -> None:
        self.scope = scope
        self._left = RESOLVED_MAX

    def spend(self, size: int) -> None:
        """Add the size of a function's next result. Errors: TemplateError."""
        self._left -= size
        if self._left < 0:
            raise TemplateError(
                f"Template error: a value has more than {RESOLVED_MAX} characters once its functions are resolved"
            )


class _Removed(Enum):
    """The result of AWS::NoValue: the property or item is removed."""

    REMOVED = "removed"


_Result: TypeAlias = "Node | _Removed"


def resolve(node: Node, scope: ResolutionScope) -> Node:
    """The value with every function replaced by its result; AWS::NoValue removes its property.

    If the whole value is AWS::NoValue, the result is None. Errors: TemplateError.
    """
    return _value(node, _Resolving(scope))


def _value(node: Node, resolving: _Resolving) -> Node:
    result = _resolve(node, resolving)
    return None if isinstance(result, _Removed) else result


def _resolve(node: Node, resolving: _Resolving) -> _Result:
    call = function_of(node)
    if call is not None:
        name, argument = call
        if name not in _FUNCTIONS:
            raise TemplateError(f"Template error: {name} cannot be used here")
        result = _FUNCTIONS[name](argument, resolving)
        resolving.spend(_size(result))
        return result
    match node:
        case dict():
            members = ((key, _member(value, resolving)) for key, value in node.items())
            return {key: value for key, value in members if not isinstance(value, _Removed)}
        case list():
            items = (_resolve(item, resolving) for item in node)
            return [item for item in items if not isinstance(item, _Removed)]
        case _:
            return node


def _member(node: Node, resolving: _Resolving) -> _Result:
    """The value of a property: a parameter that holds the text AWS::NoValue removes it, as the pseudo parameter does.

    In texts, lists and conditions such a parameter is the text that it holds.
    """
    result = _resolve(node, resolving)
    return _Removed.REMOVED if result == NO_VALUE and isinstance(node, dict) and "Ref" in node else result


def _size(result: _Result) -> int:
    """The size of a function's result, in characters and items."""
    match result:
        case str():
            return len(result)
        case list():
            return len(result) + sum(len(item) for item in result if isinstance(item, str))
        case _:
            return 1


def _text(node: Node, resolving: _Resolving) -> str:
    return text_of(_value(node, resolving))


def _ref(argument: Node, resolving: _Resolving) -> _Result:
    name = ref_name(argument)
    if name == NO_VALUE:
        return _Removed.REMOVED
    pseudo = resolving.scope.pseudo.values()
    return pseudo[name] if name in pseudo else resolving.scope.ref(name)


def _get_att(argument: Node, resolving: _Resolving) -> _Result:
    logical_id, attribute = get_att_arguments(argument)
    return resolving.scope.get_att(logical_id, _text(attribute, resolving))


def _sub(argument: Node, resolving: _Resolving) -> _Result:
    text, values = sub_arguments(argument)
    written: list[str] = []
    known: dict[str, str] = {}
    for before, name in sub_pieces(text):
        written.append(before)
        if name is not None:
            if name not in known:
                known[name] = _sub_value(name, values, resolving)
            resolving.spend(len(known[name]))
            written.append(known[name])
    return "".join(written)


def _sub_value(name: str, values: Mapping[str, Node], resolving: _Resolving) -> str:
    if name in values:
        return _text(values[name], resolving)
    logical_id, dot, attribute = name.partition(".")
    value = resolving.scope.get_att(logical_id, attribute) if dot else _ref(name, resolving)
    if isinstance(value, list | dict | _Removed) or value is None:
        raise TemplateError(f"Template error: Fn::Sub expression does not resolve to a string: {name}")
    return text_of(value)


def _join(argument: Node, resolving: _Resolving) -> _Result:
    delimiter, items = join_arguments(argument)
    resolved = _value(items, resolving)
    if not isinstance(resolved, list):
        raise TemplateError(JOIN_SHAPE)
    texts = [text_of(item) for item in resolved]
    resolving.spend(len(delimiter) * len(texts))
    return delimiter.join(texts)


def _split(argument: Node, resolving: _Resolving) -> _Result:
    delimiter, text = split_arguments(argument)
    whole = _text(text, resolving)
    resolving.spend(whole.count(delimiter))
    return list(whole.split(delimiter))


def _select(argument: Node, resolving: _Resolving) -> _Result:
    index_node, items_node = select_arguments(argument)
    index = whole_number(_text(index_node, resolving))
    items = _value(items_node, resolving)
    if not isinstance(items, list) or index is None:
        raise TemplateError(SELECT_SHAPE)
    if index >= len(items):
        raise TemplateError(f"Template error: Fn::Select cannot select nonexistent value at index {index}")
    return items[index]


def _if(argument: Node, resolving: _Resolving) -> _Result:
    condition, then, otherwise = if_arguments(argument)
    if condition not in resolving.scope.conditions:
        raise TemplateError(f"Template error: unresolved condition dependency {condition} in Fn::If")
    return _member(then if resolving.scope.conditions[condition] else otherwise, resolving)


def _find_in_map(argument: Node, resolving: _Resolving) -> _Result:
    name, first, second = (_text(part, resolving) for part in find_in_map_arguments(argument))
    if name not in resolving.scope.mappings:
        raise TemplateError(
            f"Template error: Mapping named '{name}' is not present in the 'Mappings' section of template."
        )
    try:
        return resolving.scope.mappings[name][first][second]
    except KeyError:
        raise TemplateError(f"Template error: Unable to get mapping for {name}::{first}::{second}") from None


def _import_value(argument: Node, resolving: _Resolving) -> _Result:
    return resolving.scope.import_value(_text(argument, resolving))


def _base64(argument: Node, resolving: _Resolving) -> _Result:
    return base64.b64encode(_text(argument, resolving).encode()).decode()


def _get_azs(argument: Node, resolving: _Resolving) -> _Result:
    region = _text(argument, resolving) or resolving.scope.pseudo.region
    return [f"{region}{letter}" for letter in ZONE_LETTERS]


def _cidr(argument: Node, resolving: _Resolving) -> _Result:
    block, *numbers = (_text(part, resolving) for part in cidr_arguments(argument))
    count, bits = map(whole_number, numbers)
    if count is None or not 1 <= count <= CIDR_COUNT_MAX or bits is None:
        raise TemplateError(CIDR_SHAPE)
    try:
        network = ipaddress.ip_network(block)
        parts = islice(network.subnets(new_prefix=network.max_prefixlen - bits), count)
        blocks: list[Node] = [str(part) for part in parts]
    except ValueError:
        raise TemplateError(f"Template error: Fn::Cidr cannot divide {block} by {bits} bits") from None
    if len(blocks) < count:
        raise TemplateError(f"Template error: Fn::Cidr cannot take {count} blocks of {bits} bits from {block}")
    return blocks


_FUNCTIONS: Mapping[str, Callable[[Node, _Resolving], _Result]] = MappingProxyType(
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
