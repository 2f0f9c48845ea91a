"""The condition operators: one table from AWS's names to comparisons.

Every comparison is written once; a negated operator negates the same comparison.
Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
"""

from __future__ import annotations

import base64
import ipaddress
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, DecimalException
from types import MappingProxyType
from typing import TypeVar

from redrive.core.clock import parse_instant
from redrive.languages.iam.wildcards import Lookup, Pattern, expand, matches, matches_arn, plain

_Value = TypeVar("_Value")

NULL = "Null"
"""The operator that tests whether a key is present; it has no comparison."""


@dataclass(frozen=True, slots=True)
class Operator:
    """How an operator compares a value of the request with a value of the policy.

    `check` raises ValueError for an invalid policy value.
    """

    compare: Callable[[Pattern, str], bool]
    check: Callable[[str], object] = str
    negated: bool = False

    def holds(self, actual: str, wanted: str, lookup: Lookup | None) -> bool:
        """Whether the comparison holds, without negation. A variable without a value equals nothing."""
        pattern = expand(wanted, lookup)
        return pattern is not None and self.compare(pattern, actual)


def _text(compare: Callable[[str, str], bool], check: Callable[[str], object] = str) -> Operator:
    """An operator on texts, with wildcards as plain characters."""
    return Operator(lambda pattern, actual: compare(actual, plain(pattern)), check)


def _valued(read: Callable[[str], _Value], compare: Callable[[_Value, _Value], bool]) -> Operator:
    """An operator on numbers, instants or bytes; an invalid value in the request satisfies no comparison."""

    def compare_read(pattern: Pattern, actual: str) -> bool:
        try:
            return compare(read(actual), read(plain(pattern)))
        except ValueError:
            return False

    return Operator(compare_read, read)


def _number(text: str) -> Decimal:
    """Errors: ValueError."""
    try:
        number = Decimal(text)
    except DecimalException:
        raise ValueError(f"not a number: {text!r}") from None
    if not number.is_finite():
        raise ValueError(f"not a number: {text!r}")
    return number


def _moment(text: str) -> Decimal:
    """Milliseconds since the epoch, from an ISO 8601 time or from seconds since the epoch.

    Errors: ValueError.
    """
    if text.isdecimal():
        return Decimal(text) * 1000
    return Decimal(parse_instant(text))


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """Errors: ValueError. Host bits may be set: `10.0.0.1/8` means `10.0.0.0/8`."""
    return ipaddress.ip_network(text, strict=False)


def _in_network(pattern: Pattern, actual: str) -> bool:
    try:
        return ipaddress.ip_address(actual) in _network(plain(pattern))
    except ValueError:
        return False


def _decoded(text: str) -> bytes:
    """Errors: ValueError (binascii's is one)."""
    return base64.b64decode(text, validate=True)


def truth(text: str) -> bool:
    """Parse `true` or `false`, in any letter case; a variable may have either value.

    Errors: ValueError.
    """
    if text.lower() not in ("true", "false") and "${" not in text:
        raise ValueError(f"neither true nor false: {text!r}")
    return text.lower() == "true"


def _same_ignoring_case(actual: str, wanted: str) -> bool:
    return actual.casefold() == wanted.casefold()


def _with_negations(positive: Mapping[str, Operator]) -> Mapping[str, Operator]:
    """Add AWS's Not forms: `StringEquals` gets `StringNotEquals`, `IpAddress` gets `NotIpAddress`."""
    table = dict(positive)
    for name, negation in _NEGATIONS.items():
        table[negation] = replace(positive[name], negated=True)
    return MappingProxyType(table)


_NEGATIONS = {
    "StringEquals": "StringNotEquals",
    "StringEqualsIgnoreCase": "StringNotEqualsIgnoreCase",
    "StringLike": "StringNotLike",
    "NumericEquals": "NumericNotEquals",
    "DateEquals": "DateNotEquals",
    "IpAddress": "NotIpAddress",
    "ArnEquals": "ArnNotEquals",
    "ArnLike": "ArnNotLike",
}

OPERATORS = _with_negations(
    {
        "StringEquals": _text(operator.eq),
        "StringEqualsIgnoreCase": _text(_same_ignoring_case),
        "StringLike": Operator(matches),
        "NumericEquals": _valued(_number, operator.eq),
        "NumericLessThan": _valued(_number, operator.lt),
        "NumericLessThanEquals": _valued(_number, operator.le),
        "NumericGreaterThan": _valued(_number, operator.gt),
        "NumericGreaterThanEquals": _valued(_number, operator.ge),
        "DateEquals": _valued(_moment, operator.eq),
        "DateLessThan": _valued(_moment, operator.lt),
        "DateLessThanEquals": _valued(_moment, operator.le),
        "DateGreaterThan": _valued(_moment, operator.gt),
        "DateGreaterThanEquals": _valued(_moment, operator.ge),
        "Bool": _text(_same_ignoring_case, truth),
        "BinaryEquals": _valued(_decoded, operator.eq),
        "IpAddress": Operator(_in_network, _network),
        "ArnEquals": Operator(matches_arn),
        "ArnLike": Operator(matches_arn),
    }
)
