"""Makes stages out of commands, and says which columns the result has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from redrive.languages.insights.aggregates import AGGREGATES, Aggregate
from redrive.languages.insights.commands import Placed
from redrive.languages.insights.compiling import Names, column_key, getter
from redrive.languages.insights.errors import MalformedQuery
from redrive.languages.insights.rows import Getter
from redrive.languages.insights.stages import (
    DIFF_COLUMNS,
    PATTERN_COLUMNS,
    Aggregating,
    Collecting,
    Deduplicating,
    Filtering,
    Grouping,
    Limiting,
    Making,
    Parsing,
    Patterning,
    Sorting,
    Stage,
    Tallying,
    Unnesting,
)
from redrive.languages.insights.tree import (
    AnyOf,
    Arithmetic,
    Both,
    Call,
    Command,
    Comparison,
    Constant,
    Dedup,
    Diff,
    Display,
    Expression,
    Field,
    Fields,
    Filter,
    In,
    Item,
    Like,
    Limit,
    Named,
    Not,
    Parse,
    Pattern,
    Sort,
    Source,
    Stats,
    Unnest,
    children,
)

STATS_MAX = 2
LIMIT_MAX = 100_000

_SLOT = "\0"
"""The names of aggregates in a group begin so; no field of a user's does."""


@dataclass(slots=True)
class Plan:
    """The stages of a run, and the columns of its result: each with its name, value, and whether it is an instant."""

    stages: list[Stage]
    tally: Tallying
    last: Collecting
    columns: list[tuple[str, Getter, bool]]
    has_events: bool
    notes: list[str] = field(default_factory=list)


def plan_of(placed: Sequence[Placed], now: int, limit: int) -> Plan:
    """The plan for commands. Errors: MalformedQuery."""
    _check_order(placed)
    return _Planner(now, limit).plan([one for one in placed if not isinstance(one.command, Source)])


def _check_order(placed: Sequence[Placed]) -> None:
    """Refuse commands that cannot stand where they stand."""
    stats = [one for one in placed if isinstance(one.command, Stats)]
    if len(stats) > STATS_MAX:
        raise MalformedQuery(f"a query has at most {STATS_MAX} stats commands", stats[-1].start, stats[-1].end)
    for index, one in enumerate(placed):
        if isinstance(one.command, Source) and index:
            raise MalformedQuery("SOURCE is the first command", one.start, one.end)
        if isinstance(one.command, Dedup):
            other = next((after for after in placed[index + 1 :] if not isinstance(after.command, Limit)), None)
            if other is not None:
                raise MalformedQuery("after dedup there can only be limit", other.start, other.end)


class _Planner:
    """Makes the plan of one query."""

    def __init__(self, now: int, limit: int) -> None:
        self._scope = Names(now)
        self._limit = limit
        self._stages: list[Stage] = []
        self._tally: Tallying | None = None
        self._shown: list[str] = []
        self._chosen = False
        self._added: list[str] = []
        self._notes: list[str] = []

    def plan(self, placed: Sequence[Placed]) -> Plan:
        """The plan of these commands."""
        ordered = _filters_before_sorts(placed)
        for index, one in enumerate(ordered):
            try:
                self._add(one.command, [after.command for after in ordered[index + 1 :]])
            except MalformedQuery as error:
                if error.end:
                    raise
                raise MalformedQuery(error.message, one.start, one.end) from error
        self._tallied()
        assert self._tally is not None
        last = Collecting(self._limit)
        self._stages.append(last)
        for stage, following in zip(self._stages, self._stages[1:], strict=False):
            stage.following = following
        return Plan(self._stages, self._tally, last, self._columns(), not self._scope.is_aggregated, self._notes)

    def _columns(self) -> list[tuple[str, Getter, bool]]:
        names = self._shown
        if not names and not self._scope.is_aggregated:
            names = ["@timestamp", "@message"]
        if not self._chosen:
            names = names + self._added
        fields = [(name, Field(name, 0, 0)) for name in dict.fromkeys(names)]
        return [(name, getter(one, self._scope), self._scope.is_time(one)) for name, one in fields]

    def _tallied(self) -> None:
        """Count what comes here, unless it was counted before."""
        if self._tally is None:
            self._tally = Tallying()
            self._stages.append(self._tally)

    def _add(self, command: Command, following: Sequence[Command]) -> None:
        match command:
            case Filter(condition):
                self._stages.append(Filtering(getter(condition, self._scope)))
            case Fields(items):
                self._make(items)
                self._shown += [item.name for item in items]
            case Display(items):
                self._make(items)
                self._shown = [item.name for item in items]
                self._chosen = True
            case Parse(source, pattern):
                self._stages.append(Parsing(getter(source, self._scope), pattern))
                for name in pattern.names:
                    self._scope.make(name, is_time=False)
                    self._added.append(name)
            case Unnest(source, name):
                self._tallied()
                self._stages.append(Unnesting(getter(source, self._scope), name))
                self._scope.make(name, is_time=False)
                self._added.append(name)
            case _:
                self._tallied()
                self._add_whole(command, following)

    def _add_whole(self, command: Command, following: Sequence[Command]) -> None:
        """Add a command that looks at all rows together."""
        match command:
            case Stats():
                self._aggregate(command)
            case Sort(keys):
                self._note_unknown(keys_of := [key.expression for key in keys])
                sorted_by = [
                    (getter(one, self._scope), key.is_descending) for one, key in zip(keys_of, keys, strict=True)
                ]
                self._stages.append(Sorting(sorted_by, self._wanted(following)))
            case Limit(count):
                self._stages.append(Limiting(min(count, LIMIT_MAX)))
            case Dedup(keys):
                wanted = self._wanted(following)
                getters = [getter(key, self._scope) for key in keys]
                self._stages.append(Deduplicating(getters, self._limit if wanted is None else wanted))
            case Pattern(source):
                self._find_patterns(source, is_diff=any(isinstance(one, Diff) for one in following))
            case Diff():
                if not any(isinstance(stage, Patterning) for stage in self._stages):
                    self._find_patterns(Field("@message", 0, 0), is_diff=True)
            case _:
                raise AssertionError(command)

    def _make(self, items: Sequence[Named]) -> None:
        """Compute what is more than a field under its own name."""
        made: list[tuple[str, Getter]] = []
        for item in items:
            if isinstance(item.expression, Field) and not item.is_alias:
                self._note_unknown([item.expression])
                continue
            if isinstance(item.expression, Call) and self._scope.column(item.expression) == item.name:
                continue
            is_time = self._scope.is_time(item.expression)
            made.append((item.name, getter(item.expression, self._scope)))
            self._scope.make(item.name, is_time=is_time)
        if made:
            self._stages.append(Making(made))

    def _wanted(self, following: Sequence[Command]) -> int | None:
        """How many rows are needed of those in order, by what follows; None if all are."""
        for command in following:
            match command:
                case Limit(count):
                    return min(count, self._limit)
                case Fields() | Display() | Parse() | Sort():
                    continue
                case _:
                    return None
        return self._limit

    def _note_unknown(self, expressions: Sequence[Expression]) -> None:
        """Note fields that an aggregation has not made."""
        if not self._scope.is_aggregated:
            return
        for one in expressions:
            if isinstance(one, Field) and one.name not in self._scope.made:
                near = next((name for name in self._scope.made if name.partition("(")[0] == one.name), None)
                hint = f" Name it: {near} as {one.name}." if near else ""
                self._notes.append(f"stats makes no field {one.name}, so it has no value.{hint}")

    def _find_patterns(self, source: Expression, *, is_diff: bool) -> None:
        self._stages.append(Patterning(getter(source, self._scope), is_diff=is_diff))
        self._scope.aggregate()
        self._shown, self._added, self._chosen = list(DIFF_COLUMNS if is_diff else PATTERN_COLUMNS), [], False
        for name in self._shown:
            self._scope.make(name, is_time=False)

    def _aggregate(self, stats: Stats) -> None:
        scope = self._scope
        by = [(item.name, getter(item.expression, scope), scope.is_time(item.expression)) for item in stats.by]
        begin: list[tuple[str, Callable[[], Aggregate]]] = []
        outer = Names(scope.now, is_aggregated=True)
        for name, _, is_time in by:
            outer.make(name, is_time=is_time)
        columns: list[tuple[str, Getter]] = []
        for item in stats.items:
            aggregated, is_time = self._slotted(item.expression, begin), _is_instant(item.expression, scope)
            for name, _ in begin:
                outer.make(name, is_time=False)
            self._check_made(aggregated, outer, item)
            columns.append((item.name, getter(aggregated, outer)))
            outer.make(item.name, is_time=is_time)
        self._stages.append(Aggregating(Grouping([(name, value) for name, value, _ in by], begin, columns)))
        for name, _ in begin:
            outer.made.discard(name)
        outer.columns = {column_key(name): name for name in outer.made}
        self._scope = outer
        self._shown = [*(name for name, _, _ in by), *(name for name, _ in columns)]
        self._added, self._chosen = [], False

    def _check_made(self, expression: Expression, outer: Names, item: Named) -> None:
        """Refuse a column of stats that needs a single event's field."""
        if isinstance(expression, Field) and expression.name not in outer.made:
            message = f"{item.name} is neither an aggregate function nor a field that this stats command makes"
            raise MalformedQuery(message, expression.start, expression.end)
        for part in children(expression):
            self._check_made(part, outer, item)

    def _slotted(self, expression: Expression, begin: list[tuple[str, Callable[[], Aggregate]]]) -> Expression:
        """The expression with a field in place of each aggregate, which is added to `begin`."""
        match expression:
            case Call(name) if name in AGGREGATES:
                slot = f"{_SLOT}{len(begin)}"
                begin.append((slot, self._begun(expression)))
                return Field(slot, expression.start, expression.end)
            case Call(_, arguments):
                return replace(expression, arguments=tuple(self._slotted(one, begin) for one in arguments))
            case Arithmetic(_, left, right) | Comparison(_, left, right):
                return replace(expression, left=self._slotted(left, begin), right=self._slotted(right, begin))
            case Item(of):
                return replace(expression, of=self._slotted(of, begin))
            case Like(value) | In(value):
                return replace(expression, value=self._slotted(value, begin))
            case Not(part):
                return replace(expression, part=self._slotted(part, begin))
            case Both(parts) | AnyOf(parts):
                return replace(expression, parts=tuple(self._slotted(part, begin) for part in parts))
            case _:
                return expression

    def _begun(self, call: Call) -> Callable[[], Aggregate]:
        function = AGGREGATES[call.name]
        arguments = call.arguments
        if call.name == "count" and arguments == (Constant("*"),):
            arguments = ()
        if not function.least <= len(arguments) <= function.most:
            message = f"{call.name} takes {function.least} arguments, not {len(arguments)}"
            raise MalformedQuery(message, call.start, call.end)
        percent = 0.0
        if function.most == 2:
            last = arguments[1]
            if not isinstance(last, Constant) or isinstance(last.value, str) or not 0 <= last.value <= 100:
                raise MalformedQuery(f"{call.name} takes a number from 0 to 100", call.start, call.end)
            percent = float(last.value)
        of = getter(arguments[0], self._scope) if arguments else None
        return partial(function.begin, of, percent)


def _is_instant(expression: Expression, scope: Names) -> bool:
    return isinstance(expression, Call) and expression.name in ("earliest", "latest") and scope.is_time(expression)


def _filters_before_sorts(placed: Sequence[Placed]) -> list[Placed]:
    """The commands with each filter before the sorts right before it: the result is the same, and less is held."""
    found: list[Placed] = []
    for one in placed:
        at = len(found)
        if isinstance(one.command, Filter):
            while at and isinstance(found[at - 1].command, Sort):
                at -= 1
        found.insert(at, one)
    return found
