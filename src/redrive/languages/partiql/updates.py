"""SET and REMOVE as an update of DynamoDB's expression language, which applies it.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.update.html
"""

from __future__ import annotations

from collections.abc import Sequence

from redrive.languages.dynamo.data.values import SET_TYPES, type_of
from redrive.languages.dynamo.expressions.findings import Findings
from redrive.languages.dynamo.expressions.tree import (
    Action,
    AddTo,
    DeleteFrom,
    Difference,
    Expression,
    ListAppend,
    Literal,
    Path,
    Remove,
    SetTo,
    Sum,
    Update,
)
from redrive.languages.dynamo.paths import note_entangled
from redrive.languages.dynamo.refusals import invalid
from redrive.languages.partiql.refusals import incorrect_count, incorrect_operand, unsupported
from redrive.languages.partiql.syntax import Assignment, Call, Infix, Node
from redrive.languages.partiql.values import Parameters, is_value, value_of

_SET_FUNCTIONS = ("set_add", "set_delete")


def update_of(assignments: Sequence[Assignment], parameters: Parameters) -> Update:
    """The update that SET and REMOVE mean: every value refers to the item before the statement.

    Errors: ValidationException for paths that overlap or conflict, operands of a wrong type, unknown functions.
    """
    actions = tuple(_action(each, parameters) for each in assignments)
    findings = Findings("statement")
    note_entangled(findings, (action.path for action in actions))
    if (problem := findings.first()) is not None:
        raise invalid(problem)
    return Update(actions)


def _action(assignment: Assignment, parameters: Parameters) -> Action:
    path, node = assignment.path, assignment.value
    if node is None:
        return Remove(path)
    if isinstance(node, Call) and node.name in _SET_FUNCTIONS:
        return _set_action(path, node, parameters)
    return SetTo(path, _expression(node, parameters))


def _set_action(path: Path, call: Call, parameters: Parameters) -> AddTo | DeleteFrom:
    if len(call.arguments) != 2:
        raise incorrect_count(call.name, len(call.arguments))
    first, second = call.arguments
    if first != path:
        raise unsupported(f"use of {call.name}: its first operand must be the attribute that is set,", call.place)
    value = value_of(second, parameters)
    if type_of(value) not in SET_TYPES:
        raise incorrect_operand(call.name, type_of(value))
    return AddTo(path, value) if call.name == "set_add" else DeleteFrom(path, value)


def _expression(node: Node, parameters: Parameters) -> Expression:
    match node:
        case Path():
            return node
        case Infix("+" | "-", left, right):
            first, second = _expression(left, parameters), _expression(right, parameters)
            for operand in (first, second):
                _check_type(node.operator, operand, "N")
            return Sum(first, second) if node.operator == "+" else Difference(first, second)
        case Infix():
            raise unsupported(f"operator: {node.operator}", node.place)
        case Call("list_append", arguments):
            if len(arguments) != 2:
                raise incorrect_count("list_append", len(arguments))
            first, second = (_expression(each, parameters) for each in arguments)
            for operand in (first, second):
                _check_type("list_append", operand, "L")
            return ListAppend(first, second)
        case Call(name, _, place):
            raise unsupported(f"function: {name}", place)
        case _ if is_value(node):
            return Literal(value_of(node, parameters))
        case _:
            raise invalid("Unsupported expression in SET: only values, attributes, sums and functions can be set")


def _check_type(operator: str, operand: Expression, wanted: str) -> None:
    match operand:
        case Literal(value):
            found = type_of(value)
        case ListAppend():
            found = "L"
        case Sum() | Difference():
            found = "N"
        case _:
            return
    if found != wanted:
        raise incorrect_operand(operator, found)
