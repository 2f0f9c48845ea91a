"""Reads the match expressions of a pattern, such as `{"prefix": "a"}` or `{"numeric": [">", 0, "<=", 5]}`."""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable
from typing import NoReturn

from redrive.languages.event_pattern.conditions import (
    AnythingBut,
    Cidr,
    Condition,
    Equals,
    EqualsIgnoreCase,
    Excluded,
    Exists,
    Number,
    Prefix,
    Range,
    Suffix,
    Wild,
)
from redrive.languages.event_pattern.errors import PatternError
from redrive.languages.event_pattern.tokens import Kind, Tokens
from redrive.languages.event_pattern.wildcards import complexity_of, read_wildcard

RESERVED = frozenset(
    "exactly equals-ignore-case prefix suffix anything-but exists wildcard numeric cidr = < <= > >= regex not-wildcard "
    "not-equals-ignore-case date-after date-on-or-after date-before date-on-or-before in-date-range "
    "ip-address-in-range ip-address-not-in-range".split()
)
"""Field names that make `$or` an ordinary field."""

WILDCARD_COMPLEXITY_MAX = 100
"""How many places of a wildcard pattern a text can be at in one moment. AWS's own figure is not published."""

TOO_COMPLEX = (
    "Rule is too complex - try using fewer wildcard characters or fewer repeating character sequences after a wildcard "
    "character"
)
_IGNORE_CASE = "equals-ignore-case"
_BUT = "Value of anything-but must be an array or single string/number value."
_LIST = re.compile(r"[0-9]+\Z", re.ASCII)


def read_match_expression(tokens: Tokens) -> Condition | None:
    """The condition of the object whose brace was just read; None for the absence of the field.

    Errors: PatternError.
    """
    if tokens.next() is not Kind.NAME:
        tokens.fail("Match expression name not found")
    name = tokens.name
    condition: Condition | None
    if name == "exists":
        condition = _read_exists(tokens)
    elif name in _READERS:
        condition = _READERS[name](tokens)
    else:
        tokens.fail(f"Unrecognized match type {name}")
    _end(tokens)
    return condition


def _end(tokens: Tokens) -> None:
    if tokens.next() is not Kind.OBJECT_END:
        tokens.fail("Only one key allowed in match expression")


def _read_exists(tokens: Tokens) -> Exists | None:
    kind = tokens.next()
    if kind not in {Kind.TRUE, Kind.FALSE}:
        tokens.fail("exists match pattern must be either true or false.")
    return Exists() if kind is Kind.TRUE else None


def _read_text(tokens: Tokens, what: str) -> str:
    if tokens.next() is not Kind.STRING:
        tokens.fail(f"{what} match pattern must be a string")
    return tokens.text()


def _read_exactly(tokens: Tokens) -> Equals:
    return Equals(_read_text(tokens, "exact"))


def _read_ignore_case(tokens: Tokens) -> EqualsIgnoreCase:
    return EqualsIgnoreCase(_read_text(tokens, _IGNORE_CASE).lower())


def _read_affix(tokens: Tokens, kind: type[Prefix | Suffix], what: str) -> Prefix | Suffix:
    token = tokens.next()
    if token is Kind.STRING:
        return kind(tokens.text())
    if token is not Kind.OBJECT:
        tokens.fail(f"{what} match pattern must be a string")
    if tokens.next() is not Kind.NAME or tokens.name != _IGNORE_CASE:
        tokens.fail(f"Unsupported anything-but pattern: {tokens.name}")
    folded = _read_text(tokens, _IGNORE_CASE).lower()
    _end(tokens)
    return kind(folded, any_case=True)


def _read_prefix(tokens: Tokens) -> Prefix | Suffix:
    return _read_affix(tokens, Prefix, "prefix")


def _read_suffix(tokens: Tokens) -> Prefix | Suffix:
    return _read_affix(tokens, Suffix, "suffix")


def _wild(tokens: Tokens, text: str) -> Wild:
    """Errors: PatternError for a text that is no wildcard pattern, or too complex."""
    wildcard = read_wildcard(text)
    if isinstance(wildcard, str):
        tokens.fail(wildcard)
    if complexity_of(wildcard) > WILDCARD_COMPLEXITY_MAX:
        raise PatternError(TOO_COMPLEX)
    return Wild(text, wildcard)


def _read_wildcard(tokens: Tokens) -> Wild:
    return _wild(tokens, _read_text(tokens, "wildcard"))


def _read_cidr(tokens: Tokens) -> Cidr:
    if tokens.next() is not Kind.STRING:
        # AWS answers with the sentence for prefixes.
        tokens.fail("prefix match pattern must be a string")
    text = tokens.text()
    address, slash, bits = text.partition("/")
    if not slash or "/" in bits:
        raise PatternError("Malformed CIDR, one '/' required")
    if not _LIST.match(bits) or len(bits) > 9:
        raise PatternError("Malformed CIDR, mask bits must be an integer")
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        raise PatternError(f"Nonstandard IP address: {address}") from None
    if "%" in address:
        raise PatternError(f"Nonstandard IP address: {address}")
    if int(bits) > parsed.max_prefixlen:
        raise PatternError(f"Malformed CIDR, mask bits must not be greater than {parsed.max_prefixlen}")
    return Cidr(text, ipaddress.ip_network((address, int(bits)), strict=False))


def _read_numeric(tokens: Tokens) -> Range:
    if tokens.next() is not Kind.ARRAY:
        tokens.fail("Value of numeric must be an array.")
    operator = _read_comparison(tokens)
    if operator is None:
        tokens.fail("Invalid member in numeric match: ]")
    number = _read_bound(tokens, operator)
    if operator == "=":
        _end_of_numeric(tokens)
        return Range(number, number, takes_low=True, takes_high=True)
    if operator in {"<", "<="}:
        _end_of_numeric(tokens)
        return Range(None, number, takes_high=operator == "<=")
    if operator not in {">", ">="}:
        tokens.fail(f"Unrecognized numeric range operator: {operator}")
    upper = _read_comparison(tokens)
    if upper is None:
        return Range(number, None, takes_low=operator == ">=")
    if upper not in {"<", "<="}:
        tokens.fail(f"Bad numeric range operator: {upper}")
    high = _read_bound(tokens, upper)
    if number >= high:
        tokens.fail("Bottom must be less than top")
    _end_of_numeric(tokens)
    return Range(number, high, takes_low=operator == ">=", takes_high=upper == "<=")


def _read_comparison(tokens: Tokens) -> str | None:
    """The next operator of a numeric expression; None at the end of its list."""
    kind = tokens.next()
    if kind is Kind.ARRAY_END:
        return None
    if kind is not Kind.STRING:
        tokens.fail(f"Invalid member in numeric match: {kind.value}")
    return tokens.text()


def _read_bound(tokens: Tokens, operator: str) -> Number:
    if tokens.next() is not Kind.NUMBER:
        tokens.fail(f"Value of {operator} must be numeric")
    number = tokens.number
    if not math.isfinite(number) or float(number) != number:
        tokens.fail(f"Cannot compare number : {number}")
    return number


def _end_of_numeric(tokens: Tokens) -> None:
    if tokens.next() is not Kind.ARRAY_END:
        tokens.fail("Too many elements in numeric expression")


def _read_anything_but(tokens: Tokens) -> AnythingBut:
    kind = tokens.next()
    if kind is Kind.OBJECT:
        return _read_anything_but_expression(tokens)
    if kind is Kind.ARRAY:
        return AnythingBut(tuple(dict.fromkeys(map(Equals, _read_excluded_values(tokens)))))
    if kind is Kind.STRING:
        return AnythingBut((Equals(tokens.text()),))
    if kind is not Kind.NUMBER:
        tokens.fail(_BUT)
    return AnythingBut((Equals(tokens.number),))


def _read_excluded_values(tokens: Tokens) -> list[str | Number]:
    values: list[str | Number] = []
    while (kind := tokens.next()) is not Kind.ARRAY_END:
        if kind is Kind.STRING:
            values.append(tokens.text())
        elif kind is Kind.NUMBER:
            values.append(tokens.number)
        else:
            _fail_twice(tokens, "Inside anything but list, start|null|boolean is not supported.")
        if isinstance(values[0], str) is not isinstance(values[-1], str):
            tokens.fail("Inside anything but list, either all values are number or string, mixed type is not supported")
    if not values:
        tokens.fail("Empty arrays are not allowed")
    return values


def _read_anything_but_expression(tokens: Tokens) -> AnythingBut:
    if tokens.next() is not Kind.NAME or tokens.name not in _EXCLUDING:
        tokens.fail(_BUT)
    name = tokens.name
    kind = tokens.next()
    if kind is Kind.STRING:
        texts = [tokens.text()]
    elif kind is Kind.ARRAY:
        texts = _read_excluded_texts(tokens, name)
    else:
        what = "prefix/suffix" if name in {"prefix", "suffix"} else name
        tokens.fail(f"{what} match pattern must be a string")
    if name in {"prefix", "suffix"} and "" in texts:
        tokens.fail("Null prefix/suffix not allowed")
    excluded = tuple(_EXCLUDING[name](tokens, text) for text in dict.fromkeys(texts))
    _end(tokens)
    return AnythingBut(excluded)


def _read_excluded_texts(tokens: Tokens, name: str) -> list[str]:
    texts: list[str] = []
    while (kind := tokens.next()) is not Kind.ARRAY_END:
        if kind is not Kind.STRING:
            _fail_twice(tokens, f"Inside anything-but/{name} list, number|start|null|boolean is not supported.")
        texts.append(tokens.text())
    if not texts:
        tokens.fail("Empty arrays are not allowed")
    return texts


def _fail_twice(tokens: Tokens, reason: str) -> NoReturn:
    """AWS names the place twice when a list of anything-but is wrong."""
    try:
        tokens.fail(reason)
    except PatternError as error:
        twice = str(error).removeprefix("Event pattern is not valid. Reason: ")
        raise PatternError(twice, text=tokens.source, at=tokens.at) from None


_READERS: dict[str, Callable[[Tokens], Condition]] = {
    "exactly": _read_exactly,
    "equals-ignore-case": _read_ignore_case,
    "prefix": _read_prefix,
    "suffix": _read_suffix,
    "wildcard": _read_wildcard,
    "cidr": _read_cidr,
    "numeric": _read_numeric,
    "anything-but": _read_anything_but,
}

_EXCLUDING: dict[str, Callable[[Tokens, str], Excluded]] = {
    "prefix": lambda _, text: Prefix(text),
    "suffix": lambda _, text: Suffix(text),
    "equals-ignore-case": lambda _, text: EqualsIgnoreCase(text.lower()),
    "wildcard": _wild,
}
