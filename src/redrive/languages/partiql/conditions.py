"""The WHERE clause as a condition of DynamoDB's expression language, which evaluates it.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-operators.html and
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-functions.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.languages.dynamo.data.values import SCALAR_KEY_TYPES, TYPES, compare, described, type_of
from redrive.languages.dynamo.expressions.conditions import IN_CHOICES_MAX
from redrive.languages.dynamo.expressions.operands import type_name_of
from redrive.languages.dynamo.expressions.tree import (
    And,
    AttributeExists,
    AttributeNotExists,
    AttributeType,
    BeginsWith,
    Between,
    Comparator,
    Comparison,
    Condition,
    Contains,
    In,
    Literal,
    Not,
    Operand,
    Or,
    Path,
    Size,
)
from redrive.languages.dynamo.refusals import invalid
from redrive.languages.partiql.refusals import (
    incorrect_count,
    incorrect_operand,
    malformed,
    path_required,
    unsupported,
)
from redrive.languages.partiql.syntax import (
    BetweenNode,
    Call,
    Infix,
    InNode,
    IsNode,
    Joined,
    Members,
    Missing,
    Node,
    NotNode,
)
from redrive.languages.partiql.values import Parameters, is_value, value_of

_COMPARATORS: Mapping[str, Comparator] = {comparator.value: comparator for comparator in Comparator}
_ORDERING = frozenset({Comparator.LT, Comparator.LE, Comparator.GT, Comparator.GE})
_TYPES: Mapping[str, tuple[str, ...]] = {
    "BAG": ("SS", "NS", "BS"), "BLOB": ("B",), "CLOB": ("B",), "BOOL": ("BOOL",), "BOOLEAN": ("BOOL",),
    "CHAR": ("S",), "CHARACTER": ("S",), "STRING": ("S",), "SYMBOL": ("S",), "VARCHAR": ("S",), "TIMESTAMP": ("S",),
    "DEC": ("N",), "DECIMAL": ("N",), "DOUBLE": ("N",), "FLOAT": ("N",), "INT": ("N",), "INTEGER": ("N",),
    "NUMERIC": ("N",), "REAL": ("N",), "SMALLINT": ("N",), "LIST": ("L",), "SEXP": ("L",), "NULL": ("NULL",),
    "STRUCT": ("M",), "TUPLE": ("M",),
}  # fmt: skip
"""DynamoDB's types for PartiQL's; judgement for all but NULL."""

_VALID_TYPES = "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}"
_SIZED_TYPES = frozenset({"S", "B", "SS", "NS", "BS", "M", "L"})
_ANY_TYPE = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
_PREFIX_TYPES = frozenset({"S", "B"})


def condition_of(node: Node, parameters: Parameters) -> Condition:
    """The condition that a WHERE clause means.

    Errors: ValidationException for operands of a wrong type, and for operators and functions that DynamoDB does not
    have.
    """
    match node:
        case Joined("AND", terms):
            return And(tuple(condition_of(term, parameters) for term in terms))
        case Joined(_, terms):
            return Or(tuple(condition_of(term, parameters) for term in terms))
        case NotNode(IsNode(operand, "MISSING")):
            return AttributeExists(_path("MISSING", operand))
        case NotNode(term):
            return Not(condition_of(term, parameters))
        case Infix():
            return _comparison(node, parameters)
        case BetweenNode(operand, low, high):
            return _between(*[_operand(each, parameters) for each in (operand, low, high)])
        case InNode(operand, choices):
            return _in(_operand(operand, parameters), _choices(choices, parameters))
        case IsNode(operand, type_name):
            return _is(operand, type_name)
        case Call():
            return _function(node, parameters)
        case _:
            raise malformed("Unexpected term")


def _comparison(node: Infix, parameters: Parameters) -> Condition:
    comparator = _COMPARATORS.get(node.operator)
    if comparator is None:
        raise unsupported(f"operator in a condition: {node.operator}", node.place)
    for one, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(other, Missing):
            if comparator in _ORDERING:
                raise incorrect_operand(comparator.value, "MISSING")
            path = _path("MISSING", one)
            return AttributeNotExists(path) if comparator is Comparator.EQ else AttributeExists(path)
    left, right = _operand(node.left, parameters), _operand(node.right, parameters)
    if comparator in _ORDERING:
        _check_ordered(comparator.value, (left, right))
    return Comparison(comparator, left, right)


def _between(operand: Operand, low: Operand, high: Operand) -> Between:
    _check_ordered("BETWEEN", (operand, low, high))
    if isinstance(low, Literal) and isinstance(high, Literal):
        order = compare(low.value, high.value)
        bounds = (
            f"lower bound operand: AttributeValue: {described(low.value)}, "
            f"upper bound operand: AttributeValue: {described(high.value)}"
        )
        if order is None:
            raise invalid(f"The BETWEEN operator requires same data type for lower and upper bounds; {bounds}")
        if order > 0:
            raise invalid(
                f"The BETWEEN operator requires upper bound to be greater than or equal to lower bound; {bounds}"
            )
    return Between(operand, low, high)


def _choices(node: Node, parameters: Parameters) -> tuple[Operand, ...]:
    if isinstance(node, Members):
        return tuple(_operand(each, parameters) for each in node.members)
    value = value_of(node, parameters)
    if "L" not in value:
        raise incorrect_operand("IN", type_of(value))
    return tuple(Literal(each) for each in value["L"])


def _in(operand: Operand, choices: tuple[Operand, ...]) -> In:
    if not choices:
        raise incorrect_count("IN", 1)
    if len(choices) > IN_CHOICES_MAX:
        raise invalid(f"The IN operator is provided with too many operands; number of operands: {len(choices)}")
    return In(operand, choices)


def _is(operand: Node, type_name: str) -> Condition:
    path = _path(type_name, operand)
    if type_name == "MISSING":
        return AttributeNotExists(path)
    found = tuple(AttributeType(path, each) for each in _TYPES[type_name])
    return found[0] if len(found) == 1 else Or(found)


def _function(call: Call, parameters: Parameters) -> Condition:
    match call.name:
        case "attribute_type":
            first, second = _pair(call, parameters)
            return AttributeType(first, _type(second))
        case "begins_with":
            first, second = _pair(call, parameters)
            for operand in (first, second):
                _check_type(call.name, operand, _PREFIX_TYPES)
            return BeginsWith(first, second)
        case "contains":
            return Contains(*_pair(call, parameters))
        case "size":
            raise invalid("The function is not allowed to be used this way in an expression; function: size")
        case _:
            raise unsupported(f"function: {call.name}", call.place)


def _pair(call: Call, parameters: Parameters) -> tuple[Operand, Operand]:
    if len(call.arguments) != 2:
        raise incorrect_count(call.name, len(call.arguments))
    first, second = (_operand(argument, parameters) for argument in call.arguments)
    return first, second


def _type(operand: Operand) -> str:
    if not isinstance(operand, Literal) or "S" not in operand.value:
        raise incorrect_operand("attribute_type", type_name_of(operand) or _ANY_TYPE)
    wanted = operand.value["S"]
    if wanted not in TYPES:
        raise invalid(f"Invalid attribute type name found; type: {wanted}, valid types: {_VALID_TYPES}")
    return wanted


def _operand(node: Node, parameters: Parameters) -> Operand:
    match node:
        case Path():
            return node
        case Call("size", arguments):
            if len(arguments) != 1:
                raise incorrect_count("size", len(arguments))
            inner = _operand(arguments[0], parameters)
            _check_type("size", inner, _SIZED_TYPES)
            return Size(inner)
        case Call(name, _, place):
            raise unsupported(f"function in the place of a value: {name}", place)
        case Infix(operator, _, _, place):
            raise unsupported(f"operator in a condition: {operator}", place)
        case _ if is_value(node):
            return Literal(value_of(node, parameters))
        case _:
            raise malformed("Unexpected term")


def _path(function: str, node: Node) -> Path:
    if not isinstance(node, Path):
        raise path_required(function)
    return node


def _check_type(function: str, operand: Operand, allowed: frozenset[str]) -> None:
    name = type_name_of(operand)
    if name is not None and name not in allowed:
        raise incorrect_operand(function, name)


def _check_ordered(operator: str, operands: Sequence[Operand]) -> None:
    for operand in operands:
        _check_type(operator, operand, frozenset(SCALAR_KEY_TYPES))
