"""The stages that rows go through, one for each command: each takes rows and passes rows on, some at the end only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from redrive.languages.insights.aggregates import Aggregate
from redrive.languages.insights.errors import QueryTooLarge
from redrive.languages.insights.globs import Glob
from redrive.languages.insights.patterns import Cluster, Clusters
from redrive.languages.insights.rows import NO_EVENT, Getter, Row
from redrive.languages.insights.values import SortsBefore, Value, is_true, order, text
from redrive.languages.matching import Capturing

HELD_MAX = 200_000
"""How many rows a sort without a limit holds, and how many values a dedup remembers."""
GROUPS_MAX = 100_000
"""How many groups an aggregation has."""

PATTERN_COLUMNS = ("@pattern", "@ratio", "@sampleCount", "@severityLabel")
DIFF_COLUMNS = ("@pattern", "@sampleCount", "@previousSampleCount", "@differenceDescription", "@severityLabel")

Push = Callable[[Row], None]


class Stage(ABC):
    """Takes rows and passes rows on to `following`."""

    def __init__(self) -> None:
        self.following: Stage = self

    @abstractmethod
    def push(self, row: Row) -> None:
        """Take a row."""

    def finish(self) -> None:
        """No more rows come."""
        self.following.finish()


class Filtering(Stage):
    """Passes on what meets a condition."""

    def __init__(self, condition: Getter) -> None:
        super().__init__()
        self._condition = condition

    def push(self, row: Row) -> None:
        if is_true(self._condition(row)):
            self.following.push(row)


class Tallying(Stage):
    """Counts rows: those that matched all conditions on events. Rows of earlier times are not counted."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def push(self, row: Row) -> None:
        if not row.event.origin.is_earlier:
            self.count += 1
        self.following.push(row)


class Making(Stage):
    """Computes fields."""

    def __init__(self, made: Sequence[tuple[str, Getter]]) -> None:
        super().__init__()
        self._made = made

    def push(self, row: Row) -> None:
        for name, value in self._made:
            row.made[name] = value(row)
        self.following.push(row)


class Parsing(Stage):
    """Takes fields out of a text. A row whose text does not fit stays, without the fields."""

    def __init__(self, source: Getter, pattern: Capturing | Glob) -> None:
        super().__init__()
        self._source = source
        self._names = pattern.names
        self._groups = pattern.groups

    def push(self, row: Row) -> None:
        value = self._source(row)
        found = None if value is None else self._groups(text(value))
        for index, name in enumerate(self._names):
            row.made[name] = None if found is None else found[index]
        self.following.push(row)


class Unnesting(Stage):
    """Passes on a row for each item of a list, in place of the row. What has no list has no rows."""

    def __init__(self, source: Getter, name: str) -> None:
        super().__init__()
        self._source = source
        self._name = name

    def push(self, row: Row) -> None:
        items = self._source(row)
        for item in items if isinstance(items, list) else ():
            made = row.copied()
            made.made[self._name] = int(item) if isinstance(item, bool) else item
            self.following.push(made)


class Limiting(Stage):
    """Passes on the first rows."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._left = count

    def push(self, row: Row) -> None:
        if self._left > 0:
            self._left -= 1
            self.following.push(row)


class Deduplicating(Stage):
    """Passes on the first row of each combination of values. Rows with a missing value are no duplicates."""

    def __init__(self, keys: Sequence[Getter], wanted: int) -> None:
        """`wanted`: how many rows are needed at most."""
        super().__init__()
        self._keys = keys
        self._left = wanted
        self._seen: set[tuple[str, ...]] = set()

    def push(self, row: Row) -> None:
        if self._left <= 0:
            return
        values = [key(row) for key in self._keys]
        if None not in values:
            shown = tuple(map(text, values))
            if shown in self._seen:
                return
            self._seen.add(shown)
        self._left -= 1
        self.following.push(row)


class Sorting(Stage):
    """Passes on rows in order. `wanted` bounds how many are needed, and with it how many are held; None: all."""

    def __init__(self, keys: Sequence[tuple[Getter, bool]], wanted: int | None) -> None:
        """`keys`: values, and whether they sort in descending order."""
        super().__init__()
        self._keys = keys
        self._wanted = wanted
        self._held_max = HELD_MAX if wanted is None else 2 * wanted + 1_000
        self._held: list[tuple[tuple[SortsBefore, ...], Row]] = []

    def push(self, row: Row) -> None:
        self._held.append((tuple([order(key(row)) for key, _ in self._keys]), row))
        if len(self._held) > self._held_max:
            if self._wanted is None:
                raise QueryTooLarge(f"a sort without a limit holds {HELD_MAX} rows at most")
            self._sort()
            del self._held[self._wanted :]

    def finish(self) -> None:
        self._sort()
        for _, row in self._held if self._wanted is None else self._held[: self._wanted]:
            self.following.push(row)
        self._held = []
        self.following.finish()

    def _sort(self) -> None:
        for index in reversed(range(len(self._keys))):
            _, is_descending = self._keys[index]
            column = itemgetter(index)
            self._held.sort(key=lambda held, column=column: column(held[0]), reverse=is_descending)  # type: ignore[misc]


@dataclass(frozen=True, slots=True)
class Grouping:
    """What an aggregation computes: the groups' values, the aggregates, and then the columns, out of both."""

    by: Sequence[tuple[str, Getter]]
    begin: Sequence[tuple[str, Callable[[], Aggregate]]]
    columns: Sequence[tuple[str, Getter]]


class Aggregating(Stage):
    """Passes on a row for each group, in the order in which the groups came."""

    def __init__(self, grouping: Grouping) -> None:
        super().__init__()
        self._grouping = grouping
        self._by = [value for _, value in grouping.by]
        self._groups: dict[object, tuple[Sequence[Value], list[Aggregate]]] = {}

    def push(self, row: Row) -> None:
        values = [value(row) for value in self._by]
        key = (
            _key(values[0]) if len(values) == 1 else tuple([_key(value) for value in values])
        )  # fmt: skip
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= GROUPS_MAX:
                raise QueryTooLarge(f"stats makes {GROUPS_MAX} groups at most")
            group = self._groups[key] = (values, [begin() for _, begin in self._grouping.begin])
        for aggregate in group[1]:
            aggregate.add(row)

    def finish(self) -> None:
        for values, aggregates in self._groups.values():
            made: dict[str, Value] = {name: value for (name, _), value in zip(self._grouping.by, values, strict=True)}
            for (name, _), aggregate in zip(self._grouping.begin, aggregates, strict=True):
                made[name] = aggregate.result()
            row = Row(NO_EVENT, made)
            for name, value in self._grouping.columns:
                made[name] = value(row)
            self.following.push(row)
        self._groups = {}
        self.following.finish()


def _key(value: Value) -> object:
    return value if value is None or isinstance(value, str) else text(value)


class Patterning(Stage):
    """Passes on the patterns of texts, the most frequent first; with `is_diff`, how they differ from earlier ones."""

    def __init__(self, source: Getter, *, is_diff: bool) -> None:
        super().__init__()
        self._source = source
        self._is_diff = is_diff
        self._clusters = Clusters()

    def push(self, row: Row) -> None:
        value = self._source(row)
        if value is not None:
            self._clusters.add(text(value), is_earlier=row.event.origin.is_earlier)

    def finish(self) -> None:
        for cluster in self._clusters.all:
            made = self._difference(cluster) if self._is_diff else self._described(cluster)
            self.following.push(Row(NO_EVENT, made))
        self.following.finish()

    def _described(self, cluster: Cluster) -> dict[str, Value]:
        ratio = cluster.count / self._clusters.total if self._clusters.total else 0
        return {
            "@pattern": cluster.text, "@ratio": ratio, "@sampleCount": cluster.count,
            "@severityLabel": cluster.severity or None,
        }  # fmt: skip

    def _difference(self, cluster: Cluster) -> dict[str, Value]:
        if not cluster.earlier:
            told = "new"
        elif not cluster.count:
            told = "gone"
        else:
            change = (cluster.count - cluster.earlier) / cluster.earlier * 100
            told = f"{change:+.0f}%"
        return {
            "@pattern": cluster.text, "@sampleCount": cluster.count, "@previousSampleCount": cluster.earlier,
            "@differenceDescription": told, "@severityLabel": cluster.severity or None,
        }  # fmt: skip


class Collecting(Stage):
    """The last stage: keeps the rows."""

    def __init__(self, wanted: int) -> None:
        super().__init__()
        self._wanted = wanted
        self.rows: list[Row] = []

    def push(self, row: Row) -> None:
        if len(self.rows) < self._wanted:
            self.rows.append(row)

    def finish(self) -> None:
        """Nothing follows."""
