"""The placeholders of one request, `#name` and `:value`, and which of them its expressions have used.

One request may have several expressions with the same placeholders; AWS refuses placeholders that none of them
uses. So all parsers of a request share one `Placeholders`, and `check_all_used` comes last.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.ExpressionAttributeNames.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from redrive.core.errors import ServiceError
from redrive.languages.dynamo.data.values import AttributeValue, read_value, type_of
from redrive.languages.dynamo.refusals import invalid

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-expression-parameters
PLACEHOLDER_LENGTH_MAX = 255

_NAME = re.compile(r"#[A-Za-z0-9_]+")
_VALUE = re.compile(r":[A-Za-z0-9_]+")


Names = tuple[tuple[str, str], ...]
"""Attribute names by placeholder."""
Types = tuple[tuple[str, str], ...]
"""Types of values by placeholder."""


class Placeholders:
    """The names and values that the expressions of one request may use, and the placeholders that were used.

    None means that the request has no such parameter; an empty one is an error, as on AWS.
    Errors: ValidationException for an empty parameter, a bad placeholder, or a bad value.
    """

    __slots__ = ("_names", "_types", "_used", "_values")

    def __init__(self, names: Mapping[str, str] | None = None, values: Mapping[str, object] | None = None) -> None:
        _check_keys("ExpressionAttributeNames", names, _NAME)
        _check_keys("ExpressionAttributeValues", values, _VALUE)
        self._set(dict(names or {}), {key: _read(key, value) for key, value in (values or {}).items()})

    @classmethod
    def of(cls, names: Mapping[str, str], values: Mapping[str, AttributeValue]) -> Placeholders:
        """Placeholders with these values, which are not validated."""
        made = cls()
        made._set(names, values)
        return made

    def _set(self, names: Mapping[str, str], values: Mapping[str, AttributeValue]) -> None:
        self._names, self._values = names, values
        self._used: set[str] = set()
        self._types = tuple([(key, type_of(value)) for key, value in values.items()])

    @property
    def names(self) -> Names:
        """The attribute names."""
        return tuple(self._names.items())

    @property
    def values(self) -> Mapping[str, AttributeValue]:
        """The values."""
        return self._values

    @property
    def types(self) -> Types:
        """The types of the values."""
        return self._types

    @property
    def used(self) -> frozenset[str]:
        """The used placeholders."""
        return frozenset(self._used)

    def use(self, placeholders: AbstractSet[str]) -> Mapping[str, AttributeValue]:
        """Mark these as used; returns all values."""
        self._used |= placeholders
        return self._values

    def name(self, placeholder: str) -> str | None:
        """The attribute name behind `#name`, which is marked as used; None if the request does not define it."""
        if placeholder in self._names:
            self._used.add(placeholder)
        return self._names.get(placeholder)

    def value(self, placeholder: str) -> AttributeValue | None:
        """The value behind `:value`, which is marked as used; None if the request does not define it."""
        if placeholder in self._values:
            self._used.add(placeholder)
        return self._values.get(placeholder)

    def check_all_used(self) -> None:
        """Refuse placeholders that no expression used. Errors: ValidationException, names before values."""
        if len(self._used) < len(self._names) + len(self._values):
            _check_used("ExpressionAttributeNames", self._names, self._used)
            _check_used("ExpressionAttributeValues", self._values, self._used)


def _check_keys(parameter: str, members: Mapping[str, object] | None, form: re.Pattern[str]) -> None:
    if members is None:
        return
    if not members:
        raise invalid(f"{parameter} must not be empty")
    for key in members:
        if not form.fullmatch(key):
            raise invalid(f'{parameter} contains invalid key: Syntax error; key: "{key}"')
        if len(key) > PLACEHOLDER_LENGTH_MAX:
            raise invalid(f"{parameter} contains invalid key: It has more than {PLACEHOLDER_LENGTH_MAX} characters")


def _read(key: str, raw: object) -> AttributeValue:
    try:
        return read_value(raw)
    except ServiceError as error:
        raise invalid(f"ExpressionAttributeValues contains invalid value: {error.message} for key {key}") from None


def _check_used(parameter: str, defined: Iterable[str], used: AbstractSet[str]) -> None:
    keys = ", ".join(key for key in defined if key not in used)
    if keys:
        raise invalid(f"Value provided in {parameter} unused in expressions: keys: {{{keys}}}")
