"""Literals and parameters as attribute values.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.data-types.html
"""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.errors import ServiceError
from redrive.languages.dynamo.data.numbers import canonical
from redrive.languages.dynamo.data.values import AttributeValue, read_value, type_of
from redrive.languages.dynamo.refusals import invalid, invalid_parameter
from redrive.languages.partiql.syntax import Bag, Members, Node, Null, Number, Parameter, Struct, Text, Truth

Parameters = Sequence[AttributeValue]
"""The values for a statement's question marks, in order."""

ROOT = "root"
"""How AWS's errors name the value as a whole; a member is `root.name`, an element `root[1]`."""

_SETS = {"S": "SS", "N": "NS", "B": "BS"}


def value_of(node: Node, parameters: Parameters, place: str = ROOT) -> AttributeValue:
    """The value of a literal, a parameter, or a structure of both.

    Errors: ValidationException for a number or set that DynamoDB does not have, and for what is no value.
    """
    match node:
        case Text(text):
            return {"S": text}
        case Number(digits):
            return {"N": _number(digits, place)}
        case Truth(truth):
            return {"BOOL": truth}
        case Null():
            return {"NULL": True}
        case Parameter(number):
            return parameters[number]
        case Members(members):
            return {"L": [value_of(each, parameters, f"{place}[{at}]") for at, each in enumerate(members)]}
        case Bag(members):
            return _set([value_of(each, parameters, f"{place}[{at}]") for at, each in enumerate(members)])
        case Struct(members):
            return {"M": _struct(members, parameters, place)}
        case _:
            raise invalid("Unsupported expression in a value: only literals and parameters make values")


def is_value(node: Node) -> bool:
    """Whether a node is a literal or a parameter."""
    return isinstance(node, Text | Number | Truth | Null | Parameter | Members | Bag | Struct)


def _struct(members: Sequence[tuple[Node, Node]], parameters: Parameters, place: str) -> dict[str, AttributeValue]:
    found: dict[str, AttributeValue] = {}
    for name_node, node in members:
        name = value_of(name_node, parameters, place).get("S")
        if name is None:
            raise invalid("The name of a member of a map must be a string")
        found[name] = value_of(node, parameters, f"{place}.{name}")
    return found


def _set(members: Sequence[AttributeValue]) -> AttributeValue:
    types = {type_of(member) for member in members}
    if not types <= _SETS.keys() or len(types) > 1:
        raise invalid_parameter("The members of a set must be all strings, all numbers, or all binary")
    kind = types.pop() if types else "S"
    return read_value({_SETS[kind]: [member.get(kind) for member in members]})


def _number(digits: str, place: str) -> str:
    try:
        return canonical(digits)
    except ServiceError as error:
        raise invalid(f"{error.message} under {place}") from None
