"""Statements with their parameters: what a service runs. Conditions and updates are DynamoDB's own.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.statements.html
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from redrive.languages.dynamo.data.values import AttributeValue, Item, check_nesting, read_item
from redrive.languages.dynamo.expressions.tree import Condition, Path, Update
from redrive.languages.dynamo.refusals import invalid
from redrive.languages.partiql.conditions import condition_of
from redrive.languages.partiql.syntax import (
    DeleteSyntax,
    ExistsSyntax,
    InsertSyntax,
    Node,
    Order,
    Parsed,
    Returning,
    SelectSyntax,
    Source,
    StatementSyntax,
    UpdateSyntax,
)
from redrive.languages.partiql.updates import update_of
from redrive.languages.partiql.values import Parameters, value_of


@dataclass(frozen=True, slots=True)
class Select:
    """A SELECT; no projection means all attributes."""

    source: Source
    projection: tuple[Path, ...] | None
    where: Condition | None
    order: tuple[Order, ...]


@dataclass(frozen=True, slots=True)
class Insert:
    """An INSERT."""

    source: Source
    item: Item


@dataclass(frozen=True, slots=True)
class UpdateStatement:
    """An UPDATE."""

    source: Source
    update: Update
    where: Condition | None
    returning: Returning | None


@dataclass(frozen=True, slots=True)
class Delete:
    """A DELETE; `returning` can only be ALL OLD."""

    source: Source
    where: Condition | None
    returning: Returning | None


@dataclass(frozen=True, slots=True)
class Exists:
    """An EXISTS, which checks a condition in a transaction."""

    select: Select

    @property
    def source(self) -> Source:
        """The table of the SELECT."""
        return self.select.source


Statement: TypeAlias = Select | Insert | UpdateStatement | Delete | Exists


def bind(parsed: Parsed, parameters: Sequence[AttributeValue]) -> Statement:
    """The statement with these values for its question marks.

    Errors: ValidationException if there are more or fewer values, and for whatever does not depend on a table.
    """
    if len(parameters) != parsed.parameters:
        raise invalid("Number of parameters in request and statement don't match.")
    return _bound(parsed.statement, parameters)


def _bound(syntax: StatementSyntax, parameters: Parameters) -> Statement:
    match syntax:
        case SelectSyntax():
            return _select(syntax, parameters)
        case InsertSyntax(source, item):
            return Insert(source, _item(item, parameters))
        case UpdateSyntax(source, assignments, where, returning):
            update = update_of(assignments, parameters)
            return UpdateStatement(source, update, _where(where, parameters), returning)
        case DeleteSyntax(source, where, returning):
            if returning not in (None, Returning.ALL_OLD):
                raise invalid(
                    f"Invalid returning clause: RETURNING {returning.value} *. "
                    "Only RETURNING ALL OLD * is allowed in DELETE statements."
                )
            return Delete(source, _where(where, parameters), returning)
        case ExistsSyntax(select):
            return Exists(_select(select, parameters))
        case _:
            assert_never(syntax)


def _select(syntax: SelectSyntax, parameters: Parameters) -> Select:
    return Select(syntax.source, syntax.projection, _where(syntax.where, parameters), syntax.order)


def _where(node: Node | None, parameters: Parameters) -> Condition | None:
    return None if node is None else condition_of(node, parameters)


def _item(node: Node, parameters: Parameters) -> Item:
    value = value_of(node, parameters)
    if "M" not in value:
        raise invalid("The value of an INSERT must be a map")
    item = read_item(value["M"])
    check_nesting(item)
    return item
