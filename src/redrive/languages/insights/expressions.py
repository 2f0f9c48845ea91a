"""Reads expressions.

expression   conjunction { "or" conjunction }
conjunction  negation { "and" negation }
negation     "not" negation | comparison
comparison   sum [ sign sum | ["not"] "like" pattern | "=~" pattern | ["not"] "in" "[" expression { "," expression } "]" ]
sum          product { ("+" | "-") product }
product      power { ("*" | "/" | "%") power }
power        unary [ "^" power ]
unary        "-" unary | primary { "[" index "]" }
primary      number | period | string | name | function "(" … ")" | "(" expression ")"
"""  # noqa: E501

from __future__ import annotations

from redrive.languages.insights.errors import MalformedQuery
from redrive.languages.insights.periods import UNITS, period_of
from redrive.languages.insights.text import QueryText
from redrive.languages.insights.tree import (
    AnyOf,
    Arithmetic,
    Both,
    Call,
    Comparison,
    Constant,
    Expression,
    Field,
    In,
    Item,
    Like,
    Not,
    PeriodConstant,
)
from redrive.languages.matching import Capturing, MalformedPattern

DEPTH_MAX = 40
"""How deep expressions nest."""

_COMPARED = ("=", "!=", "<", "<=", ">", ">=")
_CONSTANTS = {"true": 1, "false": 0}


class ExpressionReader:
    """Reads expressions from a query's text."""

    def __init__(self, text: QueryText) -> None:
        self.text = text
        self._depth = 0

    def expression(self) -> Expression:
        """The next expression. Errors: MalformedQuery."""
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise self.text.error(f"expressions are nested more than {DEPTH_MAX} deep")
        parts = [self._conjunction()]
        while self.text.took_word("or"):
            parts.append(self._conjunction())
        self._depth -= 1
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _conjunction(self) -> Expression:
        parts = [self._negation()]
        while self.text.took_word("and"):
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def _negation(self) -> Expression:
        nots = 0
        while self.text.took_word("not"):
            nots += 1
        found = self._comparison()
        return Not(found) if nots % 2 else found

    def _comparison(self) -> Expression:
        left = self._sum()
        sign = self.text.sign(*_COMPARED)
        if sign is not None:
            return Comparison(sign, left, self._sum())
        if self.text.sign("=~"):
            return Like(left, self._pattern(), is_negated=False)
        if self.text.took_word("like"):
            return Like(left, self._pattern(), is_negated=False)
        if self.text.took_word("not", "like"):
            return Like(left, self._pattern(), is_negated=True)
        if self.text.took_word("in"):
            return In(left, self._options(), is_negated=False)
        if self.text.took_word("not", "in"):
            return In(left, self._options(), is_negated=True)
        return left

    def _pattern(self) -> str | Capturing:
        text = self.text.string()
        return self.regex() if text is None else text

    def regex(self) -> Capturing:
        """The next regular expression between slashes. Errors: MalformedQuery."""
        start = self.text.at
        source = self.text.regex()
        if source is None:
            raise self.text.unexpected("a text in quotation marks or a regular expression between slashes")
        return compiled(source, start, self.text.read_until)

    def _options(self) -> tuple[Expression, ...]:
        if not self.text.sign("["):
            raise self.text.unexpected("[ and the values")
        options = [self._sum()]
        while self.text.sign(","):
            options.append(self._sum())
        if not self.text.sign("]"):
            raise self.text.unexpected("] or another value")
        return tuple(options)

    def _sum(self) -> Expression:
        left = self._product()
        while sign := self.text.sign("+", "-"):
            left = Arithmetic(sign, left, self._product())
        return left

    def _product(self) -> Expression:
        left = self._power()
        while sign := self.text.sign("*", "/", "%"):
            left = Arithmetic(sign, left, self._power())
        return left

    def _power(self) -> Expression:
        signs: list[Expression] = [self._unary()]
        while self.text.sign("^"):
            signs.append(self._unary())
        right = signs.pop()
        while signs:
            right = Arithmetic("^", signs.pop(), right)
        return right

    def operand(self) -> Expression:
        """The next value, without signs around it: a name, a function, a list's item. Errors: MalformedQuery."""
        return self._unary()

    def _unary(self) -> Expression:
        minus = 0
        while self.text.sign("-"):
            minus += 1
        found = self._primary()
        while True:
            if self.text.sign("["):
                found = Item(found, self._index())
            elif (part := self.text.part_after_dot()) is not None:
                found = Item(found, part)
            else:
                break
        return Arithmetic("-", Constant(0), found) if minus % 2 else found

    def _index(self) -> str | int:
        number = self.text.number()
        key: str | int | None = self.text.string() if number is None else int(number[0])
        if key is None:
            raise self.text.unexpected("a number or a name in quotation marks")
        if not self.text.sign("]"):
            raise self.text.unexpected("]")
        return key

    def _primary(self) -> Expression:
        start = self.text.at
        if self.text.sign("("):
            found = self.expression()
            if not self.text.sign(")"):
                raise self.text.unexpected(")")
            return found
        number = self.text.number()
        if number is not None:
            return self._number(*number, start)
        string = self.text.string()
        if string is not None:
            return Constant(string)
        return self._name(start)

    def _number(self, number: float, unit: str, start: int) -> Expression:
        if not unit:
            return Constant(number)
        period = period_of(number, unit)
        if period is None:
            end = self.text.read_until
            raise MalformedQuery(f"{self.text.between(start)} is no period; the units are {UNITS}", start, end)
        return PeriodConstant(period)

    def _name(self, start: int) -> Expression:
        quoted = self.text.quoted_name()
        name = self.text.word() if quoted is None else quoted
        if name is None:
            raise self.text.unexpected("a field, a value or a function")
        if quoted is None and self.text.sign("("):
            return self._call(name, start)
        parts = [name]
        while (part := self.text.part_after_dot()) is not None:
            parts.append(part)
        if quoted is None and len(parts) == 1 and name.lower() in _CONSTANTS:
            return Constant(_CONSTANTS[name.lower()])
        return Field(".".join(parts), start, self.text.read_until)

    def _call(self, name: str, start: int) -> Expression:
        arguments: list[Expression] = []
        if not self.text.sign(")"):
            if self.text.sign("*"):
                arguments.append(Constant("*"))
            else:
                arguments.append(self.expression())
            while self.text.sign(","):
                arguments.append(self.expression())
            if not self.text.sign(")"):
                raise self.text.unexpected(") or another argument")
        end = self.text.read_until
        return Call(name.lower(), tuple(arguments), self.text.between(start), start, end)


def compiled(source: str, start: int, end: int) -> Capturing:
    """A regular expression of a query. Errors: MalformedQuery."""
    try:
        return Capturing.of(source)
    except MalformedPattern as error:
        raise MalformedQuery(f"invalid regular expression: {error}", start, end) from error
