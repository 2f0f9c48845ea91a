"""Functions in conditions: their names, the places where each is allowed, and their arguments.

Source:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html#Expressions.OperatorsAndFunctions.Functions
"""

from __future__ import annotations

from collections.abc import Sequence

from redrive.languages.dynamo.data.values import SCALAR_KEY_TYPES, TYPES, compare, described, type_of
from redrive.languages.dynamo.expressions.findings import Findings, Stage
from redrive.languages.dynamo.expressions.reader import Call
from redrive.languages.dynamo.expressions.tree import (
    AttributeExists,
    AttributeNotExists,
    AttributeType,
    BeginsWith,
    Contains,
    Function,
    Literal,
    Operand,
    Path,
    Size,
)

_COUNTS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
    "size": 1,
}
_UPDATE_FUNCTIONS = frozenset({"if_not_exists", "list_append"})
_SIZED_TYPES = frozenset({"S", "B", "SS", "NS", "BS", "M", "L"})
_PREFIX_TYPES = frozenset({"S", "B"})

# AWS's messages list the type names in the order of a hash table.
_ANY_TYPE = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
_VALID_TYPES = "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}"

# The result of a wrong call, until the findings are reported.
_NOWHERE = Path(("",))


class FunctionReader:
    """Converts calls to functions, and notes every mistake in them."""

    __slots__ = ("_findings",)

    def __init__(self, findings: Findings) -> None:
        self._findings = findings

    def operand(self, node: Path | Literal | Call) -> Operand:
        """The node in the place of a value: only `size` returns a value."""
        if not isinstance(node, Call):
            return node
        if not self._is_known(node, as_condition=False):
            return _NOWHERE
        operands = self._arguments(node)
        if operands is None:
            return _NOWHERE
        self._note_types("size", operands[:1], _SIZED_TYPES)
        return Size(operands[0])

    def condition(self, call: Call) -> Function:
        """The call in the place of a condition: any function but `size`."""
        if not self._is_known(call, as_condition=True):
            return AttributeExists(_NOWHERE)
        operands = self._arguments(call)
        if operands is None:
            return AttributeExists(_NOWHERE)
        first, *others = operands
        note_distinct(self._findings, call.name, operands)
        match call.name:
            case "attribute_exists":
                return AttributeExists(self._path(call.name, first))
            case "attribute_not_exists":
                return AttributeNotExists(self._path(call.name, first))
            case "attribute_type":
                return AttributeType(first, self._type(others[0]))
            case "begins_with":
                self._note_types(call.name, operands, _PREFIX_TYPES)
                return BeginsWith(first, others[0])
            case _:
                return Contains(first, others[0])

    def _is_known(self, call: Call, *, as_condition: bool) -> bool:
        if call.name in _UPDATE_FUNCTIONS:
            problem = "The function is not allowed in a condition expression"
        elif call.name not in _COUNTS:
            problem = "Invalid function name"
        elif as_condition == (call.name == "size"):
            problem = "The function is not allowed to be used this way in an expression"
        else:
            return True
        self._findings.note(Stage.FUNCTIONS, f"{problem}; function: {call.name}")
        return False

    def _arguments(self, call: Call) -> list[Operand] | None:
        operands = [self.operand(argument) for argument in call.arguments]
        if len(operands) == _COUNTS[call.name]:
            return operands
        self._findings.note_count(call.name, len(operands))
        return None

    def _path(self, function: str, operand: Operand) -> Path:
        if isinstance(operand, Path):
            return operand
        self._findings.note_path_required(function)
        return _NOWHERE

    def _type(self, operand: Operand) -> str:
        name = type_name_of(operand)
        if name != "S":
            self._findings.note_type("attribute_type", name or _ANY_TYPE)
            return ""
        assert isinstance(operand, Literal)
        wanted = operand.value["S"]
        if wanted not in TYPES:
            self._findings.note(
                Stage.OPERANDS,
                f"Invalid attribute type name found; type: {wanted}, valid types: {_VALID_TYPES}",
            )
        return wanted

    def _note_types(self, function: str, operands: Sequence[Operand], allowed: frozenset[str]) -> None:
        for operand in operands:
            name = type_name_of(operand)
            if name is not None and name not in allowed:
                self._findings.note_type(function, name)


def type_name_of(operand: Operand) -> str | None:
    """The type of an operand, independent of the item; None for a path, whose value may have any type."""
    match operand:
        case Literal(value):
            return type_of(value)
        case Size():
            return "N"
        case Path():
            return None


def note_distinct(findings: Findings, operator: str, operands: Sequence[Operand]) -> None:
    """Note an operator with the same path as its first operand and as another."""
    first, *others = operands
    if isinstance(first, Path) and first in others:
        findings.note(
            Stage.OPERANDS,
            "The first operand must be distinct from the remaining operands for this operator or function; "
            f"operator: {operator}, first operand: {first}",
        )


def note_unordered(findings: Findings, operator: str, operands: Sequence[Operand]) -> None:
    """Note an operand of a type without an order."""
    for operand in operands:
        name = type_name_of(operand)
        if name is not None and name not in SCALAR_KEY_TYPES:
            findings.note_type(operator, name)


def note_bounds(findings: Findings, low: Operand, high: Operand) -> None:
    """Note the bounds of BETWEEN if they have different types, or the lower bound is the greater."""
    if not isinstance(low, Literal) or not isinstance(high, Literal):
        return
    order = compare(low.value, high.value)
    if type_of(low.value) != type_of(high.value):
        problem = "same data type for lower and upper bounds"
    elif order is not None and order > 0:
        problem = "upper bound to be greater than or equal to lower bound"
    else:
        return
    findings.note(
        Stage.OPERANDS,
        f"The BETWEEN operator requires {problem}; "
        f"lower bound operand: AttributeValue: {described(low.value)}, "
        f"upper bound operand: AttributeValue: {described(high.value)}",
    )
