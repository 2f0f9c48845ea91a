"""The syntax trees of expressions, as immutable values: paths, operands, conditions, updates.

Parsers build these trees, from expressions or from the legacy parameters; evaluation walks them. All placeholders are
already replaced, so a tree is independent of its request: it can be cached, compared and used for any number of items.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from redrive.languages.dynamo.data.values import AttributeValue


@dataclass(frozen=True, slots=True)
class Path:
    """A document path: the name of an attribute, then names within maps and indexes (from 0) within lists."""

    elements: tuple[str | int, ...]

    @property
    def attribute(self) -> str:
        """The name of the attribute of the item in which the path begins."""
        return str(self.elements[0])

    def __str__(self) -> str:
        """The path as AWS's error messages show it: `[a, [1], b]`."""
        shown = (f"[{element}]" if isinstance(element, int) else element for element in self.elements)
        return f"[{', '.join(shown)}]"


@dataclass(frozen=True, slots=True)
class Literal:
    """A value from the request."""

    value: AttributeValue


@dataclass(frozen=True, slots=True)
class Size:
    """`size(operand)`: a number."""

    operand: Operand


Operand: TypeAlias = Path | Literal | Size


class Comparator(Enum):
    """The six comparators, as they are written."""

    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left comparator right`."""

    comparator: Comparator
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Between:
    """`operand BETWEEN low AND high`, both bounds included."""

    operand: Operand
    low: Operand
    high: Operand


@dataclass(frozen=True, slots=True)
class In:
    """`operand IN (choice, …)`."""

    operand: Operand
    choices: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class AttributeExists:
    """`attribute_exists(path)`."""

    path: Path


@dataclass(frozen=True, slots=True)
class AttributeNotExists:
    """`attribute_not_exists(path)`."""

    path: Path


@dataclass(frozen=True, slots=True)
class AttributeType:
    """`attribute_type(operand, type)`; `type` is one of the ten type names."""

    operand: Operand
    type: str


@dataclass(frozen=True, slots=True)
class BeginsWith:
    """`begins_with(operand, prefix)`."""

    operand: Operand
    prefix: Operand


@dataclass(frozen=True, slots=True)
class Contains:
    """`contains(operand, member)`."""

    operand: Operand
    member: Operand


@dataclass(frozen=True, slots=True)
class And:
    """All terms hold; there are at least two."""

    terms: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one term holds; there are at least two."""

    terms: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The term does not hold."""

    term: Condition


Function: TypeAlias = AttributeExists | AttributeNotExists | AttributeType | BeginsWith | Contains
Condition: TypeAlias = Comparison | Between | In | Function | And | Or | Not


@dataclass(frozen=True, slots=True)
class IfNotExists:
    """`if_not_exists(path, default)`."""

    path: Path
    default: Expression


@dataclass(frozen=True, slots=True)
class ListAppend:
    """`list_append(first, second)`."""

    first: Expression
    second: Expression


@dataclass(frozen=True, slots=True)
class Sum:
    """`left + right`."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Difference:
    """`left - right`."""

    left: Expression
    right: Expression


Expression: TypeAlias = Path | Literal | IfNotExists | ListAppend | Sum | Difference


@dataclass(frozen=True, slots=True)
class SetTo:
    """`SET path = expression`."""

    path: Path
    expression: Expression


@dataclass(frozen=True, slots=True)
class Remove:
    """`REMOVE path`."""

    path: Path


@dataclass(frozen=True, slots=True)
class AddTo:
    """`ADD path value`: a number, or members of a set."""

    path: Path
    value: AttributeValue


@dataclass(frozen=True, slots=True)
class DeleteFrom:
    """`DELETE path value`: members of a set."""

    path: Path
    value: AttributeValue


Action: TypeAlias = SetTo | Remove | AddTo | DeleteFrom

INCORRECT_OPERAND = "An operand in the update expression has an incorrect data type"


@dataclass(frozen=True, slots=True)
class Update:
    """The actions of an update, in written order. No two paths overlap or conflict.

    `mismatch` is the error message for an attribute of a wrong type: the legacy parameter has one of its own.
    """

    actions: tuple[Action, ...]
    mismatch: str = INCORRECT_OPERAND


@dataclass(frozen=True, slots=True)
class Projection:
    """The paths to return, in written order. No two overlap or conflict."""

    paths: tuple[Path, ...]
