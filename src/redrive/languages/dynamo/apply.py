"""Applies an update to an item. The item is never changed: the result shares all unchanged parts with it.

Every right-hand side and every path refer to the item before the update: indexes count the elements of the old list.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
"""

from __future__ import annotations

from typing import assert_never

from redrive.core.errors import ServiceError
from redrive.languages.dynamo.data.numbers import add, subtract
from redrive.languages.dynamo.data.values import AttributeValue, Item, check_nesting
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
from redrive.languages.dynamo.paths import Branch, branches_of, lookup
from redrive.languages.dynamo.refusals import invalid

_MISSING = "The provided expression refers to an attribute that does not exist in the item"
_BAD_PATH = "The document path provided in the update expression is invalid for update"


def apply_update(update: Update, item: Item) -> dict[str, AttributeValue]:
    """The item after the update. For an item that does not exist yet, pass its key attributes.

    Errors: ValidationException for an attribute that the item does not have, an operand of a wrong type, a
    path through a value that is not a map or list, a number out of range, more than 32 levels.
    """
    applied = _Application(update, item).result()
    check_nesting(applied)
    return applied


def creates_item(update: Update) -> bool:
    """Whether the update creates an item where there is none: not if it only removes or deletes.

    An update without any action does create an item.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LegacyConditionalParameters.AttributeUpdates.html
    """
    return not update.actions or any(isinstance(action, SetTo | AddTo) for action in update.actions)


def touched_paths(update: Update) -> tuple[Path, ...]:
    """The paths that the update writes, in order: UPDATED_OLD and UPDATED_NEW return these."""
    return tuple(action.path for action in update.actions)


class _Application:
    """One update during its application to one item."""

    __slots__ = ("_item", "_update")

    def __init__(self, update: Update, item: Item) -> None:
        self._update = update
        self._item = item

    def result(self) -> dict[str, AttributeValue]:
        computed = [(action.path, self._computed(action)) for action in self._update.actions]
        return _members(branches_of(computed), self._item)

    def _computed(self, action: Action) -> AttributeValue | None:
        """The new value at the action's path; None if the value is removed."""
        match action:
            case SetTo(_, expression):
                return self._evaluated(expression)
            case Remove():
                return None
            case AddTo(path, value):
                return self._added(lookup(self._item, path), value)
            case DeleteFrom(path, value):
                return self._without(lookup(self._item, path), value)
            case _:
                assert_never(action)

    def _evaluated(self, expression: Expression) -> AttributeValue:
        match expression:
            case Path():
                found = lookup(self._item, expression)
                if found is None:
                    raise invalid(_MISSING)
                return found
            case Literal(value):
                return value
            case IfNotExists(path, default):
                return lookup(self._item, path) or self._evaluated(default)
            case ListAppend(first, second):
                return {"L": self._list(first) + self._list(second)}
            case Sum(left, right):
                return {"N": add(self._number(left), self._number(right))}
            case Difference(left, right):
                return {"N": subtract(self._number(left), self._number(right))}
            case _:
                assert_never(expression)

    def _number(self, expression: Expression) -> str:
        match self._evaluated(expression):
            case {"N": number}:
                return number
            case _:
                raise self._mismatch()

    def _list(self, expression: Expression) -> list[AttributeValue]:
        match self._evaluated(expression):
            case {"L": elements}:
                return elements
            case _:
                raise self._mismatch()

    def _added(self, old: AttributeValue | None, value: AttributeValue) -> AttributeValue:
        if old is None:
            return value
        match old, value:
            case {"N": str(left)}, {"N": str(right)}:
                return {"N": add(left, right)}
            case {"SS": list(texts)}, {"SS": list(more_texts)}:
                return {"SS": list(dict.fromkeys(texts + more_texts))}
            case {"NS": list(numbers)}, {"NS": list(more_numbers)}:
                return {"NS": list(dict.fromkeys(numbers + more_numbers))}
            case {"BS": list(chunks)}, {"BS": list(more_chunks)}:
                return {"BS": list(dict.fromkeys(chunks + more_chunks))}
            case _:
                raise self._mismatch()

    def _without(self, old: AttributeValue | None, value: AttributeValue) -> AttributeValue | None:
        """The old set without the members of the other; None instead of an empty set."""
        if old is None:
            return None
        match old, value:
            case {"SS": list(texts)}, {"SS": list(gone_texts)}:
                kept = [text for text in texts if text not in set(gone_texts)]
                return {"SS": kept} if kept else None
            case {"NS": list(numbers)}, {"NS": list(gone_numbers)}:
                left = [number for number in numbers if number not in set(gone_numbers)]
                return {"NS": left} if left else None
            case {"BS": list(chunks)}, {"BS": list(gone_chunks)}:
                rest = [chunk for chunk in chunks if chunk not in set(gone_chunks)]
                return {"BS": rest} if rest else None
            case _:
                raise self._mismatch()

    def _mismatch(self) -> ServiceError:
        return invalid(self._update.mismatch)


def _members(branch: Branch[AttributeValue | None], old: Item) -> dict[str, AttributeValue]:
    """The map's members, with the values of the branch replaced."""
    members = dict(old)
    for name, child in branch.children.items():
        if not isinstance(name, str):
            raise invalid(_BAD_PATH)
        value = _changed(child, old.get(name))
        if value is None:
            members.pop(name, None)
        else:
            members[name] = value
    return members


def _elements(branch: Branch[AttributeValue | None], old: list[AttributeValue]) -> list[AttributeValue]:
    """The list's elements, with the values of the branch replaced; an index beyond the end appends."""
    elements: dict[int, AttributeValue | None] = dict(enumerate(old))
    for index, child in branch.children.items():
        if not isinstance(index, int):
            raise invalid(_BAD_PATH)
        elements[index] = _changed(child, elements.get(index))
    return [value for _, value in sorted(elements.items()) if value is not None]


def _changed(branch: Branch[AttributeValue | None], old: AttributeValue | None) -> AttributeValue | None:
    if not branch.children:
        return branch.leaf
    if old is not None and "M" in old:
        return {"M": _members(branch, old["M"])}
    if old is not None and "L" in old:
        return {"L": _elements(branch, old["L"])}
    raise invalid(_BAD_PATH)
