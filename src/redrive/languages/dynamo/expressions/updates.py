"""Update expressions: the grammar, and AWS's checks that need no item.

The parsed tree has no placeholders; `apply` applies it to an item.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from redrive.languages.dynamo.data.values import SET_TYPES, AttributeValue, type_of
from redrive.languages.dynamo.expressions.findings import Findings, Stage
from redrive.languages.dynamo.expressions.forms import read_form
from redrive.languages.dynamo.expressions.placeholders import Placeholders
from redrive.languages.dynamo.expressions.reader import Call, Reader
from redrive.languages.dynamo.expressions.tree import (
    Action,
    AddTo,
    DeleteFrom,
    Difference,
    Expression,
    IfNotExists,
    ListAppend,
    Literal,
    Path,
    Remove,
    SetTo,
    Sum,
    Update,
)
from redrive.languages.dynamo.paths import note_entangled

_SECTIONS = frozenset({"SET", "REMOVE", "ADD", "DELETE"})
_FUNCTIONS = frozenset({"if_not_exists", "list_append"})
_CONDITION_FUNCTIONS = frozenset(
    {"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size"}
)
_FUNCTION_OPERANDS = 2

# AWS writes the types in words only in the messages on ADD and DELETE.
_TYPE_WORDS = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "BINARY",
    "BOOL": "BOOLEAN",
    "NULL": "NULL",
    "M": "MAP",
    "L": "LIST",
}

# The result of a wrong call, until the findings are reported.
_NOWHERE = Path(("",))

Written = TypeVar("Written")


def parse_update(text: str, placeholders: Placeholders) -> Update:
    """Parse an update expression: SET, REMOVE, ADD and DELETE, each at most once.

    Errors: ValidationException for a text that is empty, larger than 4 KB or malformed, for undefined
    placeholders, reserved words, repeated sections, paths that overlap or conflict, unknown functions and
    operands of a wrong type.
    """
    return read_form(_read, text, "UpdateExpression", placeholders)


def _read(text: str, kind: str, placeholders: Placeholders) -> Update:
    reader = Reader(text, kind, placeholders, _SECTIONS)
    actions = _Grammar(reader).sections()
    note_entangled(reader.findings, (action.path for action in actions))
    reader.findings.report()
    return Update(tuple(actions))


class _Grammar:
    __slots__ = ("_reader",)

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def sections(self) -> list[Action]:
        """All actions; there is at least one section, and the text ends after the last."""
        actions: list[Action] = []
        seen: set[str] = set()
        while not self._reader.at_end():
            section = self._reader.at_keyword()
            if section is None:
                raise self._reader.syntax_error()
            if section in seen:
                self._reader.findings.note(
                    Stage.SECTIONS,
                    f'The "{section}" section can only be used once in an update expression;',
                )
            seen.add(section)
            actions += self._section(section)
        return actions

    def _section(self, section: str) -> Sequence[Action]:
        self._reader.expect_keyword(section)
        match section:
            case "SET":
                return self._listed(self._assignment)
            case "REMOVE":
                return self._listed(lambda: Remove(self._reader.path()))
            case "ADD":
                return [
                    AddTo(path, value) for path, value in self._listed(lambda: self._pair("ADD", ("N", *SET_TYPES)))
                ]
            case _:
                return [
                    DeleteFrom(path, value) for path, value in self._listed(lambda: self._pair("DELETE", SET_TYPES))
                ]

    def _listed(self, one: Callable[[], Written]) -> list[Written]:
        found = [one()]
        while self._reader.accept(","):
            found.append(one())
        return found

    def _pair(self, operator: str, types: Sequence[str]) -> tuple[Path, AttributeValue]:
        path = self._reader.path()
        value = self._reader.value().value
        name = type_of(value)
        if name not in types:
            self._reader.findings.note(
                Stage.ACTIONS,
                "Incorrect operand type for operator or function; "
                f"operator: {operator}, operand type: {_TYPE_WORDS[name]}",
            )
        return path, value

    def _assignment(self) -> SetTo:
        path = self._reader.path()
        self._reader.expect("=")
        return SetTo(path, self._value())

    def _value(self) -> Expression:
        """One operand, or two with a sign between them; each operand and the whole may be in parentheses."""
        reader = self._reader
        left = reader.parenthesised(self._value) if reader.token.text == "(" else self._operand()
        symbol = reader.accept("+", "-")
        if symbol is None:
            return left
        reader.count_operator()
        right = reader.parenthesised(self._operand) if reader.token.text == "(" else self._operand()
        for operand in (left, right):
            _note_type(reader.findings, symbol, operand, "N")
        return Sum(left, right) if symbol == "+" else Difference(left, right)

    def _operand(self) -> Expression:
        return self._expression(self._reader.operand())

    def _expression(self, node: Path | Literal | Call) -> Expression:
        if not isinstance(node, Call):
            return node
        if node.name not in _FUNCTIONS:
            known = node.name in _CONDITION_FUNCTIONS
            problem = "The function is not allowed in an update expression" if known else "Invalid function name"
            self._reader.findings.note(Stage.FUNCTIONS, f"{problem}; function: {node.name}")
            return _NOWHERE
        operands = [self._expression(argument) for argument in node.arguments]
        if node.name == "list_append" and any(isinstance(operand, ListAppend) for operand in operands):
            self._reader.findings.note(
                Stage.FUNCTIONS,
                "The function is not allowed to be used this way in an expression; function: list_append",
            )
        if len(operands) != _FUNCTION_OPERANDS:
            self._reader.findings.note_count(node.name, len(operands))
            return _NOWHERE
        return self._function(node.name, *operands)

    def _function(self, name: str, first: Expression, second: Expression) -> Expression:
        if name == "list_append":
            for operand in (first, second):
                _note_type(self._reader.findings, name, operand, "L")
            return ListAppend(first, second)
        if isinstance(first, Path):
            return IfNotExists(first, second)
        self._reader.findings.note_path_required(name)
        return _NOWHERE


def _note_type(findings: Findings, operator: str, operand: Expression, wanted: str) -> None:
    name = _type_name_of(operand)
    if name not in {None, wanted}:
        findings.note_type(operator, str(name))


def _type_name_of(expression: Expression) -> str | None:
    """The type of an expression, independent of the item; None if the type depends on the item."""
    match expression:
        case Literal(value):
            return type_of(value)
        case ListAppend():
            return "L"
        case Sum() | Difference():
            return "N"
        case Path() | IfNotExists():
            return None
