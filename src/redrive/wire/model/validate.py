"""Checks parameters against the constraints of the model, in the words of AWS's own validators.

The checks of an operation are compiled once. Rules beyond the model are the service's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from redrive.core.errors import ServiceError
from redrive.wire.model.shapes import Constraints, Member, OperationModel, Shape

_NOT_NULL = "Member must not be null"
_NUMBERS = frozenset({"integer", "long", "float", "double"})
_SCALARS = _NUMBERS | {"string", "blob", "boolean", "timestamp"}

Problems = list[str]
Check = Callable[[Any, str, Problems], None]

_LEFT_TO_SERVICES = frozenset({"Runtime"})
"""Shapes that the service validates: Lambda refuses an unknown runtime with another code and its own list."""


class _Rule(NamedTuple):
    """A constraint; `holds_for_all` says whether it holds for each of several values, if that is cheaper to ask."""

    text: str
    holds: Callable[[Any], bool]
    holds_for_all: Callable[[list[Any]], bool] | None = None


class Validator:
    """Validates parameters; caches compiled checks.

    Source: the messages follow https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
    and what AWS's services answer; docs/semantics/wire.md.
    """

    def __init__(self) -> None:
        self._operations: dict[tuple[str, str], Check] = {}
        self._shapes: dict[tuple[str, str], Check] = {}
        self._optional: dict[tuple[str, str], set[str]] = {}

    def validate(self, operation: OperationModel, params: Mapping[str, Any]) -> list[str]:
        """One sentence for each violated constraint, in the order of the model."""
        if operation.input is None:
            return []
        key = (operation.service, operation.name)
        check = self._operations.get(key)
        if check is None:
            check = self._operations[key] = self._structure(operation.service, operation.input)
        problems: Problems = []
        check(params, "", problems)
        return problems

    def check(self, operation: OperationModel, params: Mapping[str, Any]) -> None:
        """Refuse parameters that violate the model, unless the service validates them itself.

        Errors: ServiceError with the service's code for this, usually ValidationException.
        """
        problems = self.validate(operation, params) if operation.validation_code else []
        if problems:
            noun = "error" if len(problems) == 1 else "errors"
            text = f"{len(problems)} validation {noun} detected: {'; '.join(problems)}"
            raise ServiceError(operation.validation_code, text)

    def _structure(self, service: str, shape: Shape) -> Check:
        key = (service, shape.name)
        if key in self._shapes:
            return self._shapes[key]
        fields: list[tuple[str, str, bool, Check | None]] = []
        names: set[str] = set()
        if not shape.required:
            self._optional[key] = names

        def check(value: Any, path: str, problems: Problems) -> None:
            # Values of DynamoDB have no required members, and hardly any member with constraints.
            if not shape.required and names.isdisjoint(value.keys()):
                return
            for name, step, is_required, check_member in fields:
                item = value.get(name)
                if item is None:
                    if is_required:
                        problems.append(_problem(None, shape, path + step, _NOT_NULL))
                elif check_member is not None:
                    check_member(item, path + step, problems)

        # A shape may contain itself, so it is registered before its members are compiled.
        self._shapes[key] = check
        for member in shape.members.values():
            is_required = member.name in shape.required
            member_check = self._check(service, member.shape)
            if is_required or member_check is not None:
                fields.append((member.name, f".{_lower_camel(member.name)}", is_required, member_check))
                names.add(member.name)
        return check

    def _check(self, service: str, shape: Shape) -> Check | None:
        """The check for values of a shape; None if every value satisfies the shape."""
        if shape.is_document:
            return None
        match shape.type:
            case "structure":
                return self._structure(service, shape)
            case "list":
                return _all_of(_scalar(shape), self._elements(service, shape))
            case "map":
                return _all_of(_scalar(shape), self._entries(service, shape))
            case _:
                return _scalar(shape)

    def _elements(self, service: str, shape: Shape) -> Check | None:
        element = shape.element
        if element.shape.type in _SCALARS:
            return _scalar_parts(shape, element, "Member", list)
        check_element = self._check(service, element.shape)
        if check_element is None:
            return None

        def check(value: Any, path: str, problems: Problems) -> None:
            for number, item in enumerate(value, start=1):
                check_element(item, f"{path}.{number}.member", problems)

        return check

    def _entries(self, service: str, shape: Shape) -> Check | None:
        keys = _scalar_parts(shape, shape.key, "Map keys", list)
        if shape.value.shape.type in _SCALARS:
            return _all_of(keys, _scalar_parts(shape, shape.value, "Map value", _map_values))
        check_value = self._check(service, shape.value.shape)
        if check_value is None:
            return keys
        # The members that are looked at, if none is required. Most values of DynamoDB have none of these members.
        checked = self._optional.get((service, shape.value.shape.name), frozenset[str]())

        def check(value: Any, path: str, problems: Problems) -> None:
            for key, item in value.items():
                if not checked or not checked.isdisjoint(item):
                    check_value(item, f"{path}.{key}.member", problems)

        return _all_of(keys, check)


def java_text(shape: Shape, value: Any) -> str:
    """A value as Java prints it, which is how AWS's messages repeat it."""
    if value is None:
        return "null"
    match shape.type:
        case "structure" if not shape.is_document:
            fields = (
                f"{_lower_camel(member.name)}={java_text(member.shape, value.get(member.name))}"
                for member in shape.members.values()
            )
            return f"{shape.name}({', '.join(fields)})"
        case "list":
            return f"[{', '.join(java_text(shape.element.shape, item) for item in value)}]"
        case "map":
            entries = (f"{key}={java_text(shape.value.shape, item)}" for key, item in value.items())
            return "{" + ", ".join(entries) + "}"
        case "boolean":
            return "true" if value else "false"
        case "blob":
            return f"java.nio.HeapByteBuffer[pos=0 lim={len(value)} cap={len(value)}]"
        case _:
            return str(value)


def _lower_camel(name: str) -> str:
    return name[:1].lower() + name[1:]


def _problem(value: Any, shape: Shape, path: str, constraint: str) -> str:
    shown = "null" if value is None else f"'{java_text(shape, value)}'"
    return f"Value {shown} at '{path.removeprefix('.')}' failed to satisfy constraint: {constraint}"


def _rules(shape: Shape) -> list[_Rule]:
    """The constraints of a shape with AWS's words for them, in AWS's order: the pattern, the set, the bounds."""
    limits = shape.constraints
    rules = []
    if limits.pattern is not None and shape.type == "string":
        # Imported here: the command line validates by a model without patterns, and starts faster without this import.
        from redrive.wire.model.java_pattern import fitting  # noqa: PLC0415

        fits = fitting(limits.pattern)
        if fits is not None:
            rules.append(_Rule(f"Member must satisfy regular expression pattern: {limits.pattern}", fits))
    if limits.enum and shape.name not in _LEFT_TO_SERVICES:
        allowed = frozenset(limits.enum)
        rules.append(
            _Rule(f"Member must satisfy enum value set: [{', '.join(limits.enum)}]", lambda value: value in allowed)
        )
    return rules + _bounds(shape.type, limits)


def _bounds(kind: str, limits: Constraints) -> list[_Rule]:
    is_number = kind in _NUMBERS
    what = "value" if is_number else "length"
    rules = []
    if limits.max is not None:
        high = limits.max
        text = f"Member must have {what} less than or equal to {high}"
        if is_number:
            rules.append(_Rule(text, lambda value: value <= high))
        else:
            rules.append(
                _Rule(text, lambda value: len(value) <= high, lambda values: max(map(len, values), default=0) <= high)
            )
    if limits.min is not None and (limits.min > 0 or is_number):
        low = limits.min
        text = f"Member must have {what} greater than or equal to {low}"
        rules.append(_Rule(text, (lambda value: value >= low) if is_number else (lambda value: len(value) >= low)))
    return rules


def _scalar(shape: Shape) -> Check | None:
    rules = [(rule.text, rule.holds) for rule in _rules(shape)]
    if not rules:
        return None

    def check(value: Any, path: str, problems: Problems) -> None:
        for text, holds in rules:
            if not holds(value):
                problems.append(_problem(value, shape, path, text))

    return check


def _scalar_parts(shape: Shape, part: Member, whose: str, parts_of: Callable[[Any], list[Any]]) -> Check | None:
    """The check of a collection's scalars. AWS's message names the collection, and all constraints of its elements."""
    rules = _rules(part.shape)
    if not rules:
        return None
    demands = ", ".join([rule.text for rule in rules] + [_NOT_NULL])
    text = f"{whose} must satisfy constraint: [{demands}]"
    demanded = [rule.holds_for_all or partial(_hold, rule.holds) for rule in rules]

    def check(value: Any, path: str, problems: Problems) -> None:
        parts = parts_of(value)
        for hold in demanded:
            if not hold(parts):
                problems.append(_problem(value, shape, path, text))
                return

    return check


def _hold(holds: Callable[[Any], bool], values: list[Any]) -> bool:
    return all(map(holds, values))


def _map_values(value: Mapping[str, Any]) -> list[Any]:
    return list(value.values())


def _all_of(*checks: Check | None) -> Check | None:
    present = [check for check in checks if check is not None]
    if len(present) < 2:
        return present[0] if present else None

    def check(value: Any, path: str, problems: Problems) -> None:
        for one in present:
            one(value, path, problems)

    return check
