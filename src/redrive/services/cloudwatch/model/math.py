"""The parser of metric math: from text to a syntax tree.

    sum  = METRICS("e") / m1 > 0.5 && IF(m2, 1, 0)

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

NESTING_MAX = 50

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"""|(?P<text>"[^"]*"|'[^']*')|(?P<sign>&&|\|\||[<>=!]=|[-+*/^<>(),\[\]]))"""
)
_WORDS = {"AND": "&&", "OR": "||"}
# From the lowest precedence to the highest. All operators are left-associative except `^`.
_LEVELS = (("||",), ("&&",), ("==", "!=", "<", ">", "<=", ">="), ("+", "-"), ("*", "/"))


class Malformed(ValueError):
    """The text is not a valid expression, or the expression cannot be evaluated."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number."""

    value: float


@dataclass(frozen=True, slots=True)
class Text:
    """A quoted text."""

    value: str


@dataclass(frozen=True, slots=True)
class Name:
    """The id of a query, or a keyword such as REPEAT."""

    name: str


@dataclass(frozen=True, slots=True)
class Listed:
    """An array: expressions in brackets."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A function call with its arguments."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Negated:
    """An expression with a minus sign in front."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Operation:
    """Two expressions and the operator between them."""

    operator: str
    left: Expression
    right: Expression


Expression = Number | Text | Name | Listed | Call | Negated | Operation


def parse_math(text: str) -> Expression:
    """Parse an expression. Errors: Malformed."""
    parser = _Parser(list(_tokens(text)))
    found = parser.expression(0)
    parser.end()
    return found


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Malformed(f"Unexpected character '{text[at:].lstrip()[0]}'.")
        kind = str(match.lastgroup)
        token = match[kind]
        yield ("sign", _WORDS[token]) if token in _WORDS else (kind, token)
        at = match.end()


class _Parser:
    """A recursive-descent parser that reads tokens from left to right."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def end(self) -> None:
        """Refuse remaining tokens."""
        if self._at < len(self._tokens):
            raise Malformed(f"Unexpected '{self._tokens[self._at][1]}'.")

    def expression(self, level: int) -> Expression:
        """Parse an expression whose operators have at least this precedence."""
        if level == len(_LEVELS):
            return self._signed()
        left = self.expression(level + 1)
        while (operator := self._take(*_LEVELS[level])) is not None:
            left = Operation(operator, left, self.expression(level + 1))
        return left

    def _signed(self) -> Expression:
        if self._take("-"):
            return Negated(self._nested(self._signed))
        if self._take("+"):
            return self._nested(self._signed)
        base = self._nested(self._operand)
        if self._take("^"):
            return Operation("^", base, self._nested(self._signed))
        return base

    def _nested(self, read: Callable[[], Expression]) -> Expression:
        self._depth += 1
        if self._depth > NESTING_MAX:
            raise Malformed(f"The expression nests deeper than {NESTING_MAX} levels.")
        found = read()
        self._depth -= 1
        return found

    def _operand(self) -> Expression:
        if self._at == len(self._tokens):
            raise Malformed("The expression ends too early.")
        kind, token = self._tokens[self._at]
        self._at += 1
        match kind:
            case "number":
                return Number(float(token))
            case "text":
                return Text(token[1:-1])
            case "name":
                return Call(token, self._listed(")")) if self._take("(") else Name(token)
        if token == "(":
            inner = self.expression(0)
            self._expect(")")
            return inner
        if token == "[":
            return Listed(self._listed("]"))
        raise Malformed(f"Unexpected '{token}'.")

    def _listed(self, closing: str) -> tuple[Expression, ...]:
        if self._take(closing):
            return ()
        items = [self.expression(0)]
        while self._take(","):
            items.append(self.expression(0))
        self._expect(closing)
        return tuple(items)

    def _take(self, *signs: str) -> str | None:
        if self._at < len(self._tokens):
            kind, token = self._tokens[self._at]
            if kind == "sign" and token in signs:
                self._at += 1
                return token
        return None

    def _expect(self, sign: str) -> None:
        if self._take(sign) is None:
            raise Malformed(f"'{sign}' is missing.")
