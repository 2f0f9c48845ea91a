"""A query as a tree: its commands and their expressions."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from redrive.languages.insights.globs import Glob
from redrive.languages.insights.periods import Period
from redrive.languages.matching import Capturing


@dataclass(frozen=True, slots=True)
class Field:
    """A field by its name."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A number or a text that stands in the query."""

    value: str | float


@dataclass(frozen=True, slots=True)
class PeriodConstant:
    """A period, such as 5m."""

    period: Period


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments. `text` is as the query has it; `name` is in lower case."""

    name: str
    arguments: tuple[Expression, ...]
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Item:
    """A member of a structure: `list[0]` or `(…).name`."""

    of: Expression
    key: str | int


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two numbers, joined by one of + - * / ^ %."""

    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two values, compared by one of = != < <= > >=."""

    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Like:
    """Whether a text has a part, or a part that matches."""

    value: Expression
    wanted: str | Capturing
    is_negated: bool


@dataclass(frozen=True, slots=True)
class In:
    """Whether a value is one of several."""

    value: Expression
    options: tuple[Expression, ...]
    is_negated: bool


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite."""

    part: Expression


@dataclass(frozen=True, slots=True)
class Both:
    """All of several conditions."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of several conditions."""

    parts: tuple[Expression, ...]


Expression = Field | Constant | PeriodConstant | Call | Item | Arithmetic | Comparison | Like | In | Not | Both | AnyOf


@dataclass(frozen=True, slots=True)
class Named:
    """An expression and the name of its column. `is_alias`: the name was given by `as`."""

    expression: Expression
    name: str
    is_alias: bool = False


@dataclass(frozen=True, slots=True)
class Fields:
    """Compute and show."""

    items: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class Display:
    """Show these alone."""

    items: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """Keep what meets a condition."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class Parse:
    """Take fields out of a text by a pattern."""

    source: Expression
    pattern: Capturing | Glob


@dataclass(frozen=True, slots=True)
class Stats:
    """Aggregate by groups."""

    items: tuple[Named, ...]
    by: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class SortKey:
    """One key of an order."""

    expression: Expression
    is_descending: bool


@dataclass(frozen=True, slots=True)
class Sort:
    """Put into an order."""

    keys: tuple[SortKey, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """Keep the first."""

    count: int


@dataclass(frozen=True, slots=True)
class Dedup:
    """Keep the first of those with the same values."""

    keys: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Unnest:
    """Make one row for each item of a list."""

    source: Expression
    name: str


@dataclass(frozen=True, slots=True)
class Pattern:
    """Group texts that have the same form."""

    source: Expression


class Before(enum.Enum):
    """Which earlier time `diff` compares with."""

    SAME_LENGTH = ""
    DAY = "previousday"
    WEEK = "previousweek"
    MONTH = "previousmonth"


@dataclass(frozen=True, slots=True)
class Diff:
    """Compare the patterns with those of an earlier time."""

    before: Before


@dataclass(frozen=True, slots=True)
class Source:
    """Which log groups are read: by names, or by prefixes and class of those there are."""

    names: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    group_class: str = ""
    accounts: tuple[str, ...] = ()


Command = Fields | Display | Filter | Parse | Stats | Sort | Limit | Dedup | Unnest | Pattern | Diff | Source


def children(expression: Expression) -> Sequence[Expression]:
    """The expressions directly inside of one."""
    match expression:
        case Call(_, arguments):
            return arguments
        case Item(of):
            return (of,)
        case Arithmetic(_, left, right) | Comparison(_, left, right):
            return (left, right)
        case Like(value):
            return (value,)
        case In(value, options):
            return (value, *options)
        case Not(part):
            return (part,)
        case Both(parts) | AnyOf(parts):
            return parts
        case _:
            return ()
