"""Makes functions of rows out of expressions."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from redrive.languages.insights.aggregates import AGGREGATES
from redrive.languages.insights.errors import MalformedQuery
from redrive.languages.insights.functions import FUNCTIONS, Apply
from redrive.languages.insights.periods import Period
from redrive.languages.insights.rows import TIMES, Getter, Row, getter_of_event
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
from redrive.languages.insights.values import Value, equal, is_true, less, number, text

_PLAIN = re.compile(r"[\w .:/@-]+", re.ASCII)
_TIME_FUNCTIONS = frozenset(("bin", "datefloor", "dateceil", "frommillis"))
_WHOLE_MAX = 2.0**53


@dataclass(slots=True)
class Names:
    """What names mean at a place of the query.

    `made` are the fields that commands have made, `times` those of them that are instants. After an aggregation there
    are no other fields, and `columns` has their names by the text of their expression without spaces.
    """

    now: int
    made: set[str] = field(default_factory=set)
    times: set[str] = field(default_factory=set)
    columns: dict[str, str] = field(default_factory=dict)
    is_aggregated: bool = False

    def make(self, name: str, *, is_time: bool) -> None:
        """Note that a command makes this field."""
        self.made.add(name)
        (self.times.add if is_time else self.times.discard)(name)

    def aggregate(self) -> None:
        """Begin anew: from here on there are only the fields that an aggregation makes."""
        self.made, self.times, self.columns = set(), set(), {}
        self.is_aggregated = True

    def is_time(self, expression: Expression) -> bool:
        """Whether the values of an expression are instants."""
        match expression:
            case Field(name):
                return name in self.times or (not self.is_aggregated and name not in self.made and name in TIMES)
            case Call(name) if self.column(expression) is not None:
                return self.column(expression) in self.times
            case Call(name, arguments) if name in ("coalesce", "earliest", "latest", "unmask"):
                return bool(arguments) and all(map(self.is_time, arguments))
            case Call(name):
                return name in _TIME_FUNCTIONS
            case _:
                return False

    def column(self, call: Call) -> str | None:
        """The column of an aggregation that a call names, such as count(*)."""
        return self.columns.get(column_key(call.text)) if self.is_aggregated else None


def column_key(written: str) -> str:
    """The text of an expression without spaces and in lower case, by which columns are found."""
    key = "".join(written.split()).lower()
    return "count(*)" if key == "count()" else key


def getter(expression: Expression, scope: Names) -> Getter:
    """The value of an expression for a row. Errors: MalformedQuery."""
    match expression:
        case Field(name):
            return _field(name, scope)
        case Constant(value):
            return _constant(value)
        case PeriodConstant():
            raise MalformedQuery("a period stands only in bin, datefloor and dateceil", 0, 0)
        case Call():
            return _call(expression, scope)
        case Item(of, key):
            return _item(getter(of, scope), key)
        case Arithmetic(sign, left, right):
            return _arithmetic(sign, getter(left, scope), getter(right, scope))
        case Comparison(sign, left, right):
            return _comparison(sign, left, right, scope)
        case Like():
            return _like(expression, scope)
        case In(value, options, is_negated):
            return _membership(getter(value, scope), [getter(one, scope) for one in options], is_negated=is_negated)
        case Not(part):
            inner = getter(part, scope)
            return lambda row: int(not is_true(inner(row)))
        case Both(parts):
            return _both([getter(part, scope) for part in parts])
        case AnyOf(parts):
            return _any_of([getter(part, scope) for part in parts])


def _constant(value: Value) -> Getter:
    return lambda _: value


def _field(name: str, scope: Names) -> Getter:
    if name in scope.made:
        return lambda row: row.made.get(name)
    base, _, rest = name.partition(".")
    while rest:
        if base in scope.made:
            return _inside(base, rest)
        part, _, rest = rest.partition(".")
        base = f"{base}.{part}"
    if scope.is_aggregated:
        return _constant(None)
    return getter_of_event(name)


def _inside(base: str, path: str) -> Getter:
    """A member of a structure that a command has made: `parsed.user.name`, `parsed.list.0`."""
    parts = path.split(".")

    def get(row: Row) -> Value:
        value: object = row.made.get(base)
        for part in parts:
            value = _member(value, int(part) if part.isdecimal() and isinstance(value, list) else part)
        return _shown(value)

    return get


def _item(of: Getter, key: str | int) -> Getter:
    return lambda row: _shown(_member(of(row), key))


def _member(value: object, key: str | int) -> object:
    if isinstance(value, list):
        return value[key] if isinstance(key, int) and key < len(value) else None
    return value.get(str(key)) if isinstance(value, dict) else None


def _shown(value: object) -> Value:
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, str | int | float | list | dict) else None


def _call(call: Call, scope: Names) -> Getter:
    column = scope.column(call)
    if column is not None:
        return lambda row: row.made.get(column)
    name = call.name
    if name in AGGREGATES:
        raise MalformedQuery(f"{name} is only for stats", call.start, call.end)
    if name == "bin":
        if scope.is_aggregated and "@timestamp" not in scope.made:
            raise MalformedQuery(
                "after stats there is no @timestamp for bin; give bin a name there", call.start, call.end
            )
        period, at = _period(call, 0), _field("@timestamp", scope)
        _check_count(call, 1, 1)
        return _floor(at, period)
    if name in ("datefloor", "dateceil"):
        _check_count(call, 2, 2)
        at = getter(call.arguments[0], scope)
        return (_floor if name == "datefloor" else _ceiling)(at, _period(call, 1))
    if name == "now":
        _check_count(call, 0, 0)
        now_s = scope.now // 1000
        return _constant(now_s)
    function = FUNCTIONS.get(name)
    if function is None:
        raise MalformedQuery(f"unknown function {name}", call.start, call.end)
    _check_count(call, function.least, function.most)
    return _applied(function.apply, [getter(argument, scope) for argument in call.arguments])


def _applied(apply: Apply, arguments: Sequence[Getter]) -> Getter:
    if len(arguments) == 1:
        only = arguments[0]
        return lambda row: apply(only(row))
    return lambda row: apply(*[argument(row) for argument in arguments])


def _check_count(call: Call, least: int, most: int) -> None:
    if not least <= len(call.arguments) <= most:
        wanted = str(least) if least == most else f"{least} to {most}" if most < 10 else f"{least} or more"
        message = f"{call.name} takes {wanted} arguments, not {len(call.arguments)}"
        raise MalformedQuery(message, call.start, call.end)


def _period(call: Call, index: int) -> Period:
    found = call.arguments[index] if index < len(call.arguments) else None
    if not isinstance(found, PeriodConstant):
        raise MalformedQuery(f"{call.name} takes a period such as 5m", call.start, call.end)
    return found.period


def _floor(of: Getter, period: Period) -> Getter:
    ms = period.ms if not period.offset_ms else 0

    def floor(row: Row) -> Value:
        at = of(row)
        if ms and type(at) is int:
            return at - at % ms
        found = number(at)
        return None if found is None or abs(found) > _INSTANT_MAX else period.floor(found)

    return floor


def _ceiling(of: Getter, period: Period) -> Getter:
    def ceiling(row: Row) -> Value:
        at = number(of(row))
        if at is None or abs(at) > _INSTANT_MAX:
            return None
        beginning = period.floor(at)
        return beginning if beginning == at else period.after(beginning)

    return ceiling


_INSTANT_MAX = 2.5e14
"""The latest instant that has a calendar date, about."""


def _arithmetic(sign: str, left: Getter, right: Getter) -> Getter:
    apply = _ARITHMETIC[sign]

    def computed(row: Row) -> Value:
        first, second = number(left(row)), number(right(row))
        if first is None or second is None:
            return None
        try:
            found = apply(first, second)
        except (ZeroDivisionError, OverflowError, ValueError):
            return None
        if not math.isfinite(found):
            return None
        return int(found) if found == int(found) and abs(found) < _WHOLE_MAX else found

    return computed


_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": lambda first, second: first + second,
    "-": lambda first, second: first - second,
    "*": lambda first, second: float(first) * second if abs(first) > _WHOLE_MAX else first * second,
    "/": lambda first, second: first / second,
    "%": math.fmod,
    "^": math.pow,
}


def _comparison(sign: str, left: Expression, right: Expression, scope: Names) -> Getter:
    first, second = getter(left, scope), getter(right, scope)
    apply = _COMPARISONS[sign]
    if isinstance(right, Constant):
        wanted = number(right.value)
        if wanted is not None:
            return _compares_number(first, _NUMBERS[sign], wanted, apply)
        if sign == "=":
            return _equals_constant(left, first, right.value, scope)
    return lambda row: int(apply(first(row), second(row)))


def _compares_number(
    value: Getter, compare: Callable[[float, float], bool], wanted: float, apply: Callable[[Value, Value], bool]
) -> Getter:
    """A comparison with a number that stands in the query: most values are numbers too."""

    def compared(row: Row) -> Value:
        found = value(row)
        kind = type(found)
        if kind is int or kind is float:
            return compare(found, wanted)  # type: ignore[arg-type]  # mypy does not follow `type`.
        return apply(found, wanted)

    return compared


def _differs(left: Value, right: Value) -> bool:
    return left is not None and right is not None and not equal(left, right)


def _at_most(left: Value, right: Value) -> bool:
    return less(left, right) or equal(left, right)


_COMPARISONS: dict[str, Callable[[Value, Value], bool]] = {
    "=": equal,
    "!=": _differs,
    "<": less,
    ">": lambda left, right: less(right, left),
    "<=": _at_most,
    ">=": lambda left, right: _at_most(right, left),
}
_NUMBERS: dict[str, Callable[[float, float], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip


def _equals_constant(left: Expression, value: Getter, wanted: str | float, scope: Names) -> Getter:
    is_found = isinstance(left, Field) and not (scope.is_aggregated or left.name in scope.made or left.name[0] == "@")
    if is_found and isinstance(wanted, str) and _PLAIN.fullmatch(wanted):
        plain = wanted

        def equals(row: Row) -> Value:
            # JSON with this value has its text, unless characters are escaped; most events need no reading so.
            event = row.event
            message = event.message if event.transformed is None else event.transformed
            return plain in message and value(row) == plain if "\\" not in message else value(row) == plain

        return equals
    return lambda row: (found := value(row)) is not None and text(found) == wanted


def _like(like: Like, scope: Names) -> Getter:
    value, wanted = getter(like.value, scope), like.wanted
    if isinstance(wanted, str) or wanted.is_plain_text:
        part = wanted if isinstance(wanted, str) else wanted.required
        if like.is_negated:
            return lambda row: (found := value(row)) is not None and part not in text(found)
        return lambda row: (found := value(row)) is not None and part in text(found)
    search = wanted.search
    if like.is_negated:
        return lambda row: (found := value(row)) is not None and not search(text(found))
    return lambda row: (found := value(row)) is not None and search(text(found))


def _membership(value: Getter, options: Sequence[Getter], *, is_negated: bool) -> Getter:
    def is_in(row: Row) -> Value:
        found = value(row)
        if found is None:
            return 0
        return int(any(equal(found, option(row)) for option in options) is not is_negated)

    return is_in


def _both(parts: Sequence[Getter]) -> Getter:
    def both(row: Row) -> Value:
        for part in parts:
            if not is_true(part(row)):
                return 0
        return 1

    return both


def _any_of(parts: Sequence[Getter]) -> Getter:
    def any_of(row: Row) -> Value:
        for part in parts:
            if is_true(part(row)):
                return 1
        return 0

    return any_of
