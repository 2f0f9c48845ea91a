"""The syntax trees of PartiQL statements, as written: parameters are numbers, and nothing has been checked.

A tree depends on its text alone, so it can be cached. `binding` makes from it what the service runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from redrive.languages.dynamo.expressions.tree import Path


@dataclass(frozen=True, slots=True)
class Text:
    """`'text'`."""

    value: str


@dataclass(frozen=True, slots=True)
class Number:
    """`1`, `-1.5e3`, with its sign."""

    digits: str


@dataclass(frozen=True, slots=True)
class Truth:
    """`TRUE` or `FALSE`."""

    value: bool


@dataclass(frozen=True, slots=True)
class Null:
    """`NULL`."""


@dataclass(frozen=True, slots=True)
class Missing:
    """`MISSING`, which is no value."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """`?`: the parameter of this number, from 0."""

    number: int


@dataclass(frozen=True, slots=True)
class Members:
    """`[a, b]`, a list; or `(a, b)` after IN."""

    members: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Bag:
    """`<<a, b>>`, a set."""

    members: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Struct:
    """`{'name': value}`, a map."""

    members: tuple[tuple[Node, Node], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """`name(argument, …)`; the name is in lower case. `place` tells where it is written."""

    name: str
    arguments: tuple[Node, ...]
    place: str


@dataclass(frozen=True, slots=True)
class Infix:
    """`left operator right`: arithmetic or a comparison. `place` tells where the operator is written."""

    operator: str
    left: Node
    right: Node
    place: str


@dataclass(frozen=True, slots=True)
class BetweenNode:
    """`operand BETWEEN low AND high`."""

    operand: Node
    low: Node
    high: Node


@dataclass(frozen=True, slots=True)
class InNode:
    """`operand IN [choice, …]`."""

    operand: Node
    choices: Node


@dataclass(frozen=True, slots=True)
class IsNode:
    """`operand IS type`; the type is in capitals."""

    operand: Node
    type: str


@dataclass(frozen=True, slots=True)
class NotNode:
    """`NOT term`."""

    term: Node


@dataclass(frozen=True, slots=True)
class Joined:
    """Terms with AND or OR between them; there are at least two."""

    operator: str
    terms: tuple[Node, ...]


Node: TypeAlias = (
    Path | Text | Number | Truth | Null | Missing | Parameter | Members | Bag | Struct | Call | Infix | BetweenNode
    | InNode | IsNode | NotNode | Joined
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Order:
    """A term of ORDER BY."""

    path: Path
    descending: bool


@dataclass(frozen=True, slots=True)
class Source:
    """What a statement reads or writes: a table, or an index of a table."""

    table: str
    index: str | None = None


class Returning(Enum):
    """What a write returns, as it is written before the asterisk."""

    ALL_OLD = "ALL OLD"
    MODIFIED_OLD = "MODIFIED OLD"
    ALL_NEW = "ALL NEW"
    MODIFIED_NEW = "MODIFIED NEW"


@dataclass(frozen=True, slots=True)
class SelectSyntax:
    """`SELECT projection FROM source WHERE where ORDER BY order`; no projection means all attributes."""

    projection: tuple[Path, ...] | None
    source: Source
    where: Node | None
    order: tuple[Order, ...]


@dataclass(frozen=True, slots=True)
class InsertSyntax:
    """`INSERT INTO source VALUE item`."""

    source: Source
    item: Node


@dataclass(frozen=True, slots=True)
class Assignment:
    """`SET path = value`; without a value `REMOVE path`."""

    path: Path
    value: Node | None


@dataclass(frozen=True, slots=True)
class UpdateSyntax:
    """`UPDATE source SET … REMOVE … WHERE where RETURNING returning *`."""

    source: Source
    assignments: tuple[Assignment, ...]
    where: Node | None
    returning: Returning | None


@dataclass(frozen=True, slots=True)
class DeleteSyntax:
    """`DELETE FROM source WHERE where RETURNING returning *`."""

    source: Source
    where: Node | None
    returning: Returning | None


@dataclass(frozen=True, slots=True)
class ExistsSyntax:
    """`EXISTS(SELECT …)`."""

    select: SelectSyntax


StatementSyntax: TypeAlias = SelectSyntax | InsertSyntax | UpdateSyntax | DeleteSyntax | ExistsSyntax


@dataclass(frozen=True, slots=True)
class Parsed:
    """A statement, and how many parameters it has."""

    statement: StatementSyntax
    parameters: int
