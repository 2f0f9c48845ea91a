"""What a pattern can ask of one value: the conditions that stand in the list of a field.

A condition sees scalars alone: text, numbers, booleans and null. Whether a field is there at all is asked by the field.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from redrive.languages.matching import Wildcard

Scalar = str | int | float | bool | None
"""A value of an event that is neither an object nor an array."""

Number = int | float

ADDRESS_LENGTH_MAX = 45
"""The longest text of an IP address."""


def key_of(value: Scalar) -> object:
    """A key under which equal values are found. In Python 1 equals True; in JSON they differ."""
    return (value,) if isinstance(value, bool) else value


@dataclass(frozen=True, slots=True)
class Equals:
    """The value is this one. Numbers are compared as numbers: 300, 300.0 and 3.0e2 are equal."""

    value: Scalar

    def accepts(self, value: Scalar) -> bool:
        return key_of(value) == key_of(self.value)


@dataclass(frozen=True, slots=True)
class EqualsIgnoreCase:
    """The value is this text, in any case. `folded` is in lower case."""

    folded: str

    def accepts(self, value: Scalar) -> bool:
        return isinstance(value, str) and value.lower() == self.folded


@dataclass(frozen=True, slots=True)
class Prefix:
    """The value is a text that begins so. If `any_case`, `text` is in lower case and the case is ignored."""

    text: str
    any_case: bool = False

    def accepts(self, value: Scalar) -> bool:
        return isinstance(value, str) and (value.lower() if self.any_case else value).startswith(self.text)


@dataclass(frozen=True, slots=True)
class Suffix:
    """The value is a text that ends so. If `any_case`, `text` is in lower case and the case is ignored."""

    text: str
    any_case: bool = False

    def accepts(self, value: Scalar) -> bool:
        return isinstance(value, str) and (value.lower() if self.any_case else value).endswith(self.text)


@dataclass(frozen=True, slots=True)
class Wild:
    """The value is a text that the wildcard pattern covers. `text` is the pattern as its author wrote it."""

    text: str
    wildcard: Wildcard

    def accepts(self, value: Scalar) -> bool:
        return isinstance(value, str) and self.wildcard.matches(value)


@dataclass(frozen=True, slots=True)
class Range:
    """The value is a number in an interval. None is no bound; `=` is an interval of one number."""

    low: Number | None
    high: Number | None
    takes_low: bool = False
    takes_high: bool = False

    def accepts(self, value: Scalar) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if self.low is not None and (value < self.low or (value == self.low and not self.takes_low)):
            return False
        return self.high is None or value < self.high or (value == self.high and self.takes_high)


@dataclass(frozen=True, slots=True)
class Cidr:
    """The value is a text with an IP address of a network. `text` is the network as its author wrote it."""

    text: str
    network: ipaddress.IPv4Network | ipaddress.IPv6Network

    def accepts(self, value: Scalar) -> bool:
        address = address_of(value)
        return address is not None and address in self.network


@dataclass(frozen=True, slots=True)
class Exists:
    """The field has a value, whatever it is."""

    def accepts(self, value: Scalar) -> bool:
        return True


Excluded = Equals | EqualsIgnoreCase | Prefix | Suffix | Wild


@dataclass(frozen=True, slots=True)
class AnythingBut:
    """The field has a value that none of these conditions accepts."""

    excluded: tuple[Excluded, ...]

    def accepts(self, value: Scalar) -> bool:
        return not any(condition.accepts(value) for condition in self.excluded)


Condition = Equals | EqualsIgnoreCase | Prefix | Suffix | Wild | Range | Cidr | Exists | AnythingBut


def address_of(value: Scalar) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address that a value holds; None if it holds none."""
    if not isinstance(value, str) or len(value) > ADDRESS_LENGTH_MAX or "%" in value:
        return None
    try:
        return ipaddress.ip_address(value)
    except ValueError:
        return None
