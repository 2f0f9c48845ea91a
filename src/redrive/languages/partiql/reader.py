"""The parser of PartiQL's expressions: operators by their precedence, literals, paths and calls.

The sentences of errors are those of PartiQL's reference parser, as AWS returns them.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-operators.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from redrive.core.errors import ServiceError
from redrive.languages.dynamo.expressions.reader import LIST_INDEX_MAX, OPERATORS_MAX
from redrive.languages.dynamo.expressions.tree import Path
from redrive.languages.dynamo.refusals import invalid
from redrive.languages.partiql.refusals import malformed
from redrive.languages.partiql.syntax import (
    Bag,
    BetweenNode,
    Call,
    Infix,
    InNode,
    IsNode,
    Joined,
    Members,
    Missing,
    Node,
    NotNode,
    Null,
    Number,
    Parameter,
    Struct,
    Text,
    Truth,
)
from redrive.languages.partiql.tokens import Token, TokenKind, place_of, tokens_of

DEPTH_MAX = 64
"""How deep expressions may nest: more than DynamoDB's 32 levels of a value, less than Python's stack. Ours."""

_INDEX_DIGITS_MAX = 10

_COMPARISONS = frozenset({"=", "<>", "!=", "<", "<=", ">", ">="})
_SUMS = frozenset({"+", "-"})
_PRODUCTS = frozenset({"*", "/", "%", "||"})
_OPERATORS = frozenset({"AND", "OR", "IN", "IS", "BETWEEN", "LIKE"})
_FUNCTIONS = frozenset({"SIZE"})
"""Functions whose names are reserved words."""
TYPE_NAMES = frozenset(
    """
    BAG BLOB BOOL BOOLEAN CHAR CHARACTER CLOB DEC DECIMAL DOUBLE FLOAT INT INTEGER LIST MISSING NULL NUMERIC REAL SEXP
    SMALLINT STRING STRUCT SYMBOL TIMESTAMP TUPLE VARCHAR
    """.split()
)

Part = TypeVar("Part")


class ExpressionReader:
    """Reads expressions from a statement, from left to right."""

    __slots__ = ("_at", "_depth", "_operators", "_text", "_tokens", "parameters")

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens_of(text)
        self._at = 0
        self._depth = 0
        self._operators = 0
        self.parameters = 0

    @property
    def token(self) -> Token:
        """The next token, not yet consumed."""
        return self._tokens[self._at]

    @property
    def following(self) -> Token:
        """The token after the next."""
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    @property
    def place(self) -> str:
        """Where the next token is, for an error."""
        return place_of(self._text, self.token)

    def at_end(self) -> bool:
        """Whether the statement has ended; a semicolon at the end is allowed."""
        if self.at(";"):
            self._at += 1
        return self.token.kind is TokenKind.END

    def at(self, *texts: str) -> bool:
        """Whether one of these keywords or symbols comes next."""
        return self.token.kind in (TokenKind.KEYWORD, TokenKind.SYMBOL) and self.token.text in texts

    def accept(self, *texts: str) -> str | None:
        """Consume the next token if it is one of these keywords or symbols."""
        return self.take().text if self.at(*texts) else None

    def expect(self, text: str) -> None:
        """Consume this keyword or symbol. Errors: ValidationException."""
        if self.accept(text) is None:
            raise malformed(f"Expected {text}")

    def take(self) -> Token:
        """Consume the next token, whatever it is."""
        token = self.token
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def expression(self) -> Node:
        """A condition or a value. Errors: ValidationException."""
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise malformed("Expression is nested too deeply")
        node = self._joined("OR", lambda: self._joined("AND", self._negated))
        self._depth -= 1
        return node

    def path(self) -> Path:
        """A document path that begins here. Errors: ValidationException."""
        if self.token.kind is not TokenKind.NAME:
            raise malformed("Expected identifier for simple path")
        return self._path()

    def listed(self, one: Callable[[], Part], closing: str) -> tuple[Part, ...]:
        """Parts with commas between them, up to the closing symbol, which is consumed; there may be none."""
        if self.accept(closing):
            return ()
        found = [one()]
        while self.accept(","):
            found.append(one())
        self.expect(closing)
        return tuple(found)

    def _joined(self, operator: str, operand: Callable[[], Node]) -> Node:
        terms = [operand()]
        while self.accept(operator):
            self._count_operator()
            if self.at_end():
                raise malformed("Missing right-hand side expression of infix operator")
            terms.append(operand())
        return terms[0] if len(terms) == 1 else Joined(operator, tuple(terms))

    def _negated(self) -> Node:
        negations = 0
        while self.accept("NOT"):
            self._count_operator()
            negations += 1
        node = self._compared()
        return NotNode(node) if negations % 2 else node

    def _compared(self) -> Node:
        left = self._sum()
        place = self.place
        if self.at(*_COMPARISONS):
            operator = self.take().text
            return Infix("<>" if operator == "!=" else operator, left, self._right(self._sum), place)
        negated = self.at("NOT") and self.following.text in ("BETWEEN", "IN", "LIKE")
        if negated:
            self.take()
        node = self._predicate(left, place)
        return NotNode(node) if negated else node

    def _predicate(self, left: Node, place: str) -> Node:
        if self.accept("BETWEEN"):
            low = self._right(self._sum)
            if not self.accept("AND"):
                raise malformed("Expected expression after AND" if self.at_end() else "Expected AND after BETWEEN")
            return BetweenNode(left, low, self._right(self._sum))
        if self.accept("IN"):
            return InNode(left, self._right(self._choices))
        if self.accept("LIKE"):
            return Infix("LIKE", left, self._right(self._sum), place)
        if self.accept("IS"):
            negated = self.accept("NOT") is not None
            if self.token.kind is not TokenKind.KEYWORD or self.token.text not in TYPE_NAMES:
                raise malformed("Expected type name")
            node = IsNode(left, self.take().text)
            return NotNode(node) if negated else node
        return left

    def _right(self, operand: Callable[[], Node]) -> Node:
        self._count_operator()
        if self.at_end():
            raise malformed("Missing right-hand side expression of infix operator")
        return operand()

    def _count_operator(self) -> None:
        self._operators += 1
        if self._operators > OPERATORS_MAX:
            raise invalid(f"The expression contains too many operators; operator count: {OPERATORS_MAX + 1}")

    def _choices(self) -> Node:
        """The choices after IN: a list in brackets or parentheses, or a parameter that holds one."""
        if self.accept("("):
            return Members(self.listed(self.expression, ")"))
        return self._sum()

    def _sum(self) -> Node:
        node = self._product()
        while self.at(*_SUMS):
            place = self.place
            operator = self.take().text
            node = Infix(operator, node, self._right(self._product), place)
        return node

    def _product(self) -> Node:
        """DynamoDB has no products, but they are syntax."""
        node = self._term()
        while self.at(*_PRODUCTS):
            place = self.place
            operator = self.take().text
            node = Infix(operator, node, self._right(self._term), place)
        return node

    def _term(self) -> Node:
        sign, place = "", self.place
        while (symbol := self.accept("-", "+")) is not None:
            if symbol == "-":
                sign = "" if sign else "-"
        if sign and self.token.kind is TokenKind.NUMBER:
            return Number(f"-{self.take().text}")
        node = self._primary()
        return Infix("-", Number("0"), node, place) if sign else node

    def _primary(self) -> Node:
        match self.token.kind:
            case TokenKind.STRING:
                return Text(self.take().text)
            case TokenKind.NUMBER:
                return Number(self.take().text)
            case TokenKind.PARAMETER:
                self.take()
                self.parameters += 1
                return Parameter(self.parameters - 1)
            case TokenKind.NAME:
                return self._call() if self.following.text == "(" and self._is_bare() else self._path()
            case TokenKind.KEYWORD:
                return self._keyword()
            case TokenKind.SYMBOL:
                return self._enclosed()
            case TokenKind.END:
                raise malformed("Unexpected term")

    def _is_bare(self) -> bool:
        return not self._text.startswith('"', self.token.start)

    def _keyword(self) -> Node:
        token = self.token
        match token.text:
            case "NULL":
                self.take()
                return Null()
            case "MISSING":
                self.take()
                return Missing()
            case "TRUE" | "FALSE":
                self.take()
                return Truth(token.text == "TRUE")
            case name if name in _FUNCTIONS and self.following.text == "(":
                return self._call()
            case name if name in _OPERATORS:
                raise malformed("Unexpected operator")
            case _:
                raise malformed("Unexpected keyword")

    def _enclosed(self) -> Node:
        match self.token.text:
            case "(":
                self.take()
                if self.at(")"):
                    raise malformed("Expression group cannot be empty")
                node = self.expression()
                self.expect(")")
                return node
            case "[":
                self.take()
                return Members(self.listed(self.expression, "]"))
            case "<<":
                self.take()
                return Bag(self.listed(self.expression, ">>"))
            case "{":
                self.take()
                return Struct(self.listed(self._member, "}"))
            case _:
                raise malformed("Unexpected term")

    def _member(self) -> tuple[Node, Node]:
        name = self.expression()
        self.expect(":")
        return name, self.expression()

    def _call(self) -> Call:
        place = self.place
        name = self.take().text.lower()
        self.expect("(")
        return Call(name, self.listed(self.expression, ")"), place)

    def _path(self) -> Path:
        elements: list[str | int] = [self.take().text]
        while (symbol := self.accept(".", "[")) is not None:
            if symbol == ".":
                if self.token.kind is not TokenKind.NAME:
                    raise malformed("Invalid path dot component")
                elements.append(self.take().text)
                continue
            elements.append(self._element())
            self.expect("]")
        return Path(tuple(elements))

    def _element(self) -> str | int:
        """The text between brackets: an index, or the name of a member."""
        token = self.token
        if token.kind is TokenKind.STRING:
            return self.take().text
        if token.kind is not TokenKind.NUMBER or not token.text.isdecimal():
            raise malformed("Invalid path component for simple path")
        return self._index(self.take().text)

    def _index(self, digits: str) -> int:
        index = int(digits) if len(digits) <= _INDEX_DIGITS_MAX else LIST_INDEX_MAX + 1
        if index > LIST_INDEX_MAX:
            raise _bad_index(digits)
        return index


def _bad_index(digits: str) -> ServiceError:
    return invalid(f"List index is not within the allowable range; index: [{digits}]")
