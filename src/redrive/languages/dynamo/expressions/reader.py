"""The common parser of all expressions: tokens, paths, values, calls, and the form of syntax errors.

The grammars of conditions, projections and updates use a `Reader`. It resolves placeholders while it parses, and knows
nothing of the meaning of an expression.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.Attributes.html
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from redrive.core.errors import ServiceError
from redrive.languages.dynamo.data.values import utf8
from redrive.languages.dynamo.expressions.findings import Findings, Stage
from redrive.languages.dynamo.expressions.placeholders import Placeholders
from redrive.languages.dynamo.expressions.reserved import is_reserved
from redrive.languages.dynamo.expressions.tokens import Token, TokenKind, tokens_of
from redrive.languages.dynamo.expressions.tree import Literal, Path
from redrive.languages.dynamo.refusals import invalid

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-expression-parameters
EXPRESSION_BYTES_MAX = 4096

# The page names only update expressions; AWS limits all. Source: https://github.com/scylladb/scylladb/issues/14473
OPERATORS_MAX = 300

NESTING_MAX = OPERATORS_MAX + 1
"""A text that nests deeper has too many operators, or redundant parentheses."""

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-data-types
PATH_LEVELS_MAX = 32
LIST_INDEX_MAX = 2**31 - 1

_INDEX_DIGITS_MAX = 10

UNDEFINED = Literal({"NULL": True})
Inner = TypeVar("Inner")


@dataclass(frozen=True, slots=True)
class Call:
    """A function call as written; a later step checks the function's name and arguments."""

    name: str
    arguments: tuple[Path | Literal | Call, ...]


class Reader:
    """One expression, parsed from left to right."""

    __slots__ = (
        "_at",
        "_depth",
        "_keywords",
        "_operators",
        "_pair",
        "_parameter",
        "_placeholders",
        "_text",
        "_tokens",
        "findings",
    )

    def __init__(
        self, text: str, parameter: str, placeholders: Placeholders, keywords: frozenset[str] = frozenset()
    ) -> None:
        _check_length(text, parameter)
        self._text = text
        self._parameter = parameter
        self._placeholders = placeholders
        self._keywords = keywords
        self._tokens = tokens_of(text)
        self._at = 0
        self._depth = 0
        self._operators = 0
        self._pair = (0, 0)
        self.findings = Findings(parameter)

    @property
    def token(self) -> Token:
        """The next token, not yet consumed."""
        return self._tokens[self._at]

    def at_end(self) -> bool:
        """Whether the whole text has been parsed."""
        return self.token.kind is TokenKind.END

    def at_keyword(self) -> str | None:
        """The next token as a keyword, in capitals; None if it is no keyword."""
        word = self.token.text.upper()
        return word if self.token.kind is TokenKind.NAME and word in self._keywords else None

    def accept(self, *symbols: str) -> str | None:
        """Consume the next token if it is one of these symbols."""
        if self.token.kind is TokenKind.SYMBOL and self.token.text in symbols:
            return self._take().text
        return None

    def accept_keyword(self, keyword: str) -> bool:
        """Consume the next token if it is this keyword, in any case."""
        if self.at_keyword() != keyword:
            return False
        self._take()
        return True

    def expect(self, symbol: str) -> None:
        """Consume this symbol. Errors: a syntax error if the next token is another."""
        if self.accept(symbol) is None:
            raise self.syntax_error()

    def expect_keyword(self, keyword: str) -> None:
        """Consume this keyword. Errors: a syntax error if the next token is another."""
        if not self.accept_keyword(keyword):
            raise self.syntax_error()

    def expect_end(self) -> None:
        """Check that the text has ended. Errors: a syntax error if it has not."""
        if not self.at_end():
            raise self.syntax_error()

    def syntax_error(self) -> ServiceError:
        """The error for the next token, with its two neighbours."""
        before = self._tokens[max(self._at - 1, 0)]
        after = self._tokens[min(self._at + 1, len(self._tokens) - 1)]
        near = self._text[before.start : after.end]
        return self.error(f'Syntax error; token: "{self.token.text}", near: "{near.strip()}"')

    def error(self, message: str) -> ServiceError:
        """An error that ends parsing at once."""
        return invalid(f"Invalid {self._parameter}: {message}")

    def enter(self) -> None:
        """Enter a level of parentheses or calls. Errors: ValidationException beyond the depth of 300 operators."""
        self._depth += 1
        if self._depth > NESTING_MAX:
            raise self._too_many()

    def count_operator(self) -> None:
        """Count one more operator or function. Errors: ValidationException for the 301st."""
        self._operators += 1
        if self._operators > OPERATORS_MAX:
            raise self._too_many()

    def leave(self) -> None:
        """Leave the current level."""
        self._depth -= 1

    def at_path(self) -> bool:
        """Whether a document path comes next."""
        if self.token.kind is TokenKind.NAME:
            return self.at_keyword() is None
        return self.token.kind is TokenKind.NAME_PLACEHOLDER

    def path(self) -> Path:
        """Parse a document path: `a`, `#a.b[0].c`. Errors: a syntax error if there is none."""
        elements: list[str | int] = [self._name()]
        while (symbol := self.accept(".", "[")) is not None:
            if symbol == ".":
                elements.append(self._name())
                continue
            if self.token.kind is not TokenKind.NUMBER:
                raise self.syntax_error()
            elements.append(self._index(self._take().text))
            self.expect("]")
        if len(elements) > PATH_LEVELS_MAX:
            self.findings.note(
                Stage.PATHS, f"The document path has too many nesting elements; nesting levels: {len(elements)}"
            )
        return Path(tuple(elements))

    def at_value(self) -> bool:
        """Whether a value placeholder comes next."""
        return self.token.kind is TokenKind.VALUE_PLACEHOLDER

    def value(self) -> Literal:
        """Parse a value placeholder. Errors: a syntax error if there is none."""
        if not self.at_value():
            raise self.syntax_error()
        placeholder = self._take().text
        value = self._placeholders.value(placeholder)
        if value is None:
            self.findings.note(
                Stage.PLACEHOLDERS,
                f"An expression attribute value used in expression is not defined; attribute value: {placeholder}",
            )
            return UNDEFINED
        return Literal(value)

    def at_call(self) -> bool:
        """Whether a function call comes next: a name and an opening parenthesis."""
        following = self._tokens[min(self._at + 1, len(self._tokens) - 1)]
        return self.token.kind is TokenKind.NAME and self.at_keyword() is None and following.text == "("

    def call(self) -> Call:
        """Parse a function call with its arguments. Errors: a syntax error if there is none."""
        name = self._take().text
        self.count_operator()
        self.expect("(")
        self.enter()
        arguments = [self.operand()]
        while self.accept(","):
            arguments.append(self.operand())
        self.expect(")")
        self.leave()
        return Call(name, tuple(arguments))

    def parenthesised(self, inner: Callable[[], Inner]) -> Inner:
        """Parse `inner` between parentheses. Errors: redundant parentheses, one pair directly within another."""
        opened = self.open()
        found = inner()
        self.close(opened)
        return found

    def open(self) -> int:
        """Consume an opening parenthesis; returns the argument for `close`. Errors: a syntax error."""
        opened = self._at
        self.expect("(")
        self.enter()
        return opened

    def close(self, opened: int) -> None:
        """Consume the closing parenthesis. Errors: a syntax error; redundant parentheses."""
        closed = self._at
        self.expect(")")
        self.leave()
        if self._pair == (opened + 1, closed - 1):
            raise self.error("The expression has redundant parentheses;")
        self._pair = (opened, closed)

    def operand(self) -> Path | Literal | Call:
        """Parse a path, a value, a call, or one of these in parentheses. Errors: a syntax error."""
        if self.token.text == "(":
            return self.parenthesised(self.operand)
        if self.at_call():
            return self.call()
        if self.at_value():
            return self.value()
        if self.at_path():
            return self.path()
        raise self.syntax_error()

    def _index(self, digits: str) -> int:
        # Python's int refuses texts of thousands of digits.
        index = int(digits) if len(digits) <= _INDEX_DIGITS_MAX else LIST_INDEX_MAX + 1
        if index > LIST_INDEX_MAX:
            self.findings.note(Stage.PATHS, f"List index is not within the allowable range; index: [{digits}]")
        return index

    def _too_many(self) -> ServiceError:
        return self.error(f"The expression contains too many operators; operator count: {OPERATORS_MAX + 1}")

    def _name(self) -> str:
        if not self.at_path():
            raise self.syntax_error()
        token = self._take()
        if token.kind is TokenKind.NAME:
            if is_reserved(token.text):
                self.findings.note(
                    Stage.RESERVED_WORDS,
                    f"Attribute name is a reserved keyword; reserved keyword: {token.text}",
                )
            return token.text
        name = self._placeholders.name(token.text)
        if name is None:
            self.findings.note(
                Stage.PLACEHOLDERS,
                f"An expression attribute name used in the document path is not defined; attribute name: {token.text}",
            )
            return token.text
        return name

    def _take(self) -> Token:
        token = self.token
        self._at += 1
        return token


def _check_length(text: str, parameter: str) -> None:
    size = len(utf8(text))
    if size > EXPRESSION_BYTES_MAX:
        raise invalid(
            f"Invalid {parameter}: Expression size has exceeded the maximum allowed size; expression size: {size}"
        )
    if not text.strip():
        raise invalid(f"Invalid {parameter}: The expression can not be empty;")
