"""Reads a query: its commands, between pipes.

query    command { "|" command }
fields   "fields" expression ["as" name] { "," … }          display, likewise
filter   "filter" expression                                 filterindex, likewise
parse    "parse" [operand] ( glob "as" name { "," name } | regex )
stats    "stats" expression ["as" name] { "," … } ["by" expression ["as" name] { "," … }]
sort     "sort" expression ["asc" | "desc"] { "," … }
limit    "limit" number
dedup    "dedup" expression { "," … }
unnest   "unnest" expression "into" name
pattern  "pattern" expression
diff     "diff" ["previousDay" | "previousWeek" | "previousMonth"]
unmask   "unmask" expression { "," … }
source   "source" ( name { "," name } | "logGroups" "(" key ":" … ")" )
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from redrive.languages.insights.errors import MalformedQuery
from redrive.languages.insights.expressions import ExpressionReader, compiled
from redrive.languages.insights.globs import Glob
from redrive.languages.insights.text import QueryText
from redrive.languages.insights.tree import (
    Before,
    Command,
    Dedup,
    Diff,
    Display,
    Field,
    Fields,
    Filter,
    Limit,
    Named,
    Parse,
    Pattern,
    Sort,
    SortKey,
    Source,
    Stats,
    Unnest,
)

_CAPTURE = re.compile(r"\(\?P?<[A-Za-z_]")
_EARLIER = (Before.DAY, Before.WEEK, Before.MONTH)
_UNSERVED = frozenset(
    ("anomaly", "join", "lookup", "subqueries", "addtotals", "logcompare", "relevantfields", "timechart", "eval")
)


@dataclass(frozen=True, slots=True)
class Placed:
    """A command and where it stands in the query."""

    command: Command
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """The commands of a query, and the numbers of the lines that are comments of SQL."""

    commands: tuple[Placed, ...]
    sql_comments: tuple[int, ...]


def read_query(query: str) -> ReadQuery:
    """The commands of a query. Errors: MalformedQuery."""
    reader = _CommandReader(QueryText(query))
    return ReadQuery(reader.commands(), reader.text.sql_comments)


class _CommandReader:
    """Reads commands, once."""

    def __init__(self, text: QueryText) -> None:
        self.text = text
        self._expressions = ExpressionReader(text)
        self._readers: dict[str, Callable[[], Command]] = {
            "fields": lambda: Fields(self._named()), "display": lambda: Display(self._named()),
            "filter": lambda: Filter(self._expressions.expression()),
            "filterindex": lambda: Filter(self._expressions.expression()),
            "parse": self._parse, "stats": self._stats, "sort": self._sort, "limit": self._limit,
            "dedup": self._dedup, "unnest": self._unnest, "pattern": self._pattern, "diff": self._diff,
            "unmask": lambda: Fields(self._named()), "source": self._source,
        }  # fmt: skip

    def commands(self) -> tuple[Placed, ...]:
        """All commands."""
        found: list[Placed] = []
        if self.text.is_at_end():
            raise self.text.error("the query has no command")
        while True:
            found.append(self._command())
            if self.text.is_at_end():
                return tuple(found)
            if not self.text.sign("|"):
                raise self.text.unexpected("| and the next command, or the end of the query")

    def _command(self) -> Placed:
        start = self.text.at
        name = (self.text.peek_word() or "").lower()
        read = self._readers.get(name)
        if name in _UNSERVED:
            raise self.text.error(f"redrive does not serve the command {name}")
        if read is None:
            raise self.text.unexpected(f"a command: {', '.join(sorted(self._readers))}")
        self.text.word()
        command = read()
        return Placed(command, start, self.text.read_until)

    def _named(self) -> tuple[Named, ...]:
        found = [self._one_named()]
        while self.text.sign(","):
            found.append(self._one_named())
        return tuple(found)

    def _one_named(self) -> Named:
        start = self.text.at
        expression = self._expressions.expression()
        name = expression.name if isinstance(expression, Field) else self.text.between(start)
        if self.text.took_word("as"):
            return Named(expression, self._name(), is_alias=True)
        return Named(expression, name)

    def _name(self) -> str:
        name = self.text.quoted_name() or self.text.word()
        if name is None:
            raise self.text.unexpected("a name")
        while (part := self.text.part_after_dot()) is not None:
            name = f"{name}.{part}"
        return name

    def _names(self) -> tuple[str, ...]:
        names = [self._name()]
        while self.text.sign(","):
            names.append(self._name())
        return tuple(names)

    def _parse(self) -> Command:
        source = Field("@message", self.text.at, self.text.at)
        operand = source if self.text.text[self.text.at : self.text.at + 1] in ("'", '"', "/") else None
        of = self._expressions.operand() if operand is None else operand
        start = self.text.at
        glob = self.text.string()
        if glob is None:
            pattern = self._expressions.regex()
        elif "*" not in glob and _CAPTURE.search(glob):
            # A regular expression in quotation marks, as people write it; a glob without a star would capture nothing.
            pattern = compiled(glob, start, self.text.read_until)
        else:
            return Parse(of, self._glob(glob, start))
        if not pattern.names:
            raise MalformedQuery("the pattern has no named group, such as (?<name>…)", start, self.text.read_until)
        return Parse(of, pattern)

    def _glob(self, glob: str, start: int) -> Glob:
        end = self.text.read_until
        if not self.text.took_word("as"):
            raise self.text.unexpected("as and a name for each * of the pattern")
        names = self._names()
        if len(names) != glob.count("*"):
            message = f"the pattern has {glob.count('*')} times *, and there are {len(names)} names"
            raise MalformedQuery(message, start, end)
        return Glob.of(glob, names)

    def _stats(self) -> Command:
        items = self._named()
        by = self._named() if self.text.took_word("by") else ()
        return Stats(items, by)

    def _sort(self) -> Command:
        self.text.took_word("by")
        keys = [self._sort_key()]
        while self.text.sign(","):
            keys.append(self._sort_key())
        return Sort(tuple(keys))

    def _sort_key(self) -> SortKey:
        expression = self._expressions.expression()
        if self.text.took_word("desc"):
            return SortKey(expression, is_descending=True)
        self.text.took_word("asc")
        return SortKey(expression, is_descending=False)

    def _limit(self) -> Command:
        start = self.text.at
        number = self.text.number()
        if number is None or number[1] or not isinstance(number[0], int) or number[0] < 1:
            raise MalformedQuery("limit takes a whole number from 1 on", start, max(start, self.text.read_until))
        return Limit(number[0])

    def _dedup(self) -> Command:
        keys = [self._expressions.expression()]
        while self.text.sign(","):
            keys.append(self._expressions.expression())
        return Dedup(tuple(keys))

    def _unnest(self) -> Command:
        source = self._expressions.operand()
        if not self.text.took_word("into"):
            raise self.text.unexpected("into and a name")
        return Unnest(source, self._name())

    def _pattern(self) -> Command:
        return Pattern(self._expressions.expression())

    def _diff(self) -> Command:
        word = (self.text.peek_word() or "").lower()
        found = next((one for one in _EARLIER if one.value == word), None)
        if found is not None:
            self.text.word()
        return Diff(found or Before.SAME_LENGTH)

    def _source(self) -> Command:
        if not self.text.took_word("loggroups"):
            return Source(names=self._strings())
        if not self.text.sign("("):
            raise self.text.unexpected("(")
        found: dict[str, tuple[str, ...]] = {}
        while not self.text.sign(")"):
            start = self.text.at
            key = (self.text.word() or "").lower()
            if key not in ("nameprefix", "class", "accountidentifier", "accountidentifiers"):
                message = "logGroups takes namePrefix, class and accountIdentifiers"
                raise MalformedQuery(message, start, max(start, self.text.read_until))
            if not self.text.colon():
                raise self.text.unexpected(":")
            found[key.rstrip("s") if key.startswith("account") else key] = self._strings()
            self.text.sign(",")
        return Source(
            prefixes=found.get("nameprefix", ()), group_class=next(iter(found.get("class", ())), ""),
            accounts=found.get("accountidentifier", ()),
        )  # fmt: skip

    def _strings(self) -> tuple[str, ...]:
        """Texts in quotation marks, with or without brackets."""
        is_list = self.text.sign("[") is not None
        found: list[str] = []
        while True:
            text = self.text.string()
            if text is None:
                raise self.text.unexpected("a text in quotation marks")
            found.append(text)
            if not self.text.sign(","):
                break
        if is_list and not self.text.sign("]"):
            raise self.text.unexpected("]")
        return tuple(found)
