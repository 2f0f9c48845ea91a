"""A slow reading of queries, for tests: it holds all rows as dicts and does one command after the other.

It shares no code with the language. Conditions and commands are tuples; `written` gives the query that they stand for.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Condition = tuple[Any, ...]
Command = tuple[Any, ...]
Row = dict[str, Any]


def written(commands: Sequence[Command]) -> str:
    """The query of commands."""
    return " | ".join(map(_command_text, commands))


def answered(commands: Sequence[Command], events: Sequence[tuple[int, str]]) -> list[dict[str, str]]:
    """The result over events (time, message), newest first. Columns are those of the last stats, or k, n and s."""
    rows: list[Row] = [_discovered(at, message) for at, message in sorted(events, reverse=True, key=lambda one: one[0])]
    columns = ["k", "n", "s"]
    for command in commands:
        match command:
            case ("filter", condition):
                rows = [row for row in rows if _holds(condition, row)]
            case ("stats", aggregates, by):
                rows, columns = _grouped(rows, aggregates, by)
            case ("sort", keys):
                for key, is_descending in reversed(keys):
                    rows = _sorted(rows, key, is_descending=is_descending)
            case ("limit", count):
                rows = rows[:count]
            case ("dedup", keys):
                rows = _distinct(rows, keys)
    return [{name: _shown(row[name]) for name in columns if row.get(name) is not None} for row in rows]


def _command_text(command: Command) -> str:
    match command:
        case ("filter", condition):
            return f"filter {_condition_text(condition)}"
        case ("stats", aggregates, by):
            items = ", ".join(f"{_call(function, field)} as {name}" for function, field, name in aggregates)
            return f"stats {items}" + (f" by {', '.join(by)}" if by else "")
        case ("sort", keys):
            return "sort " + ", ".join(f"{key} {'desc' if down else 'asc'}" for key, down in keys)
        case ("limit", count):
            return f"limit {count}"
        case ("dedup", keys):
            return f"dedup {', '.join(keys)}"
    raise AssertionError(command)


def _call(function: str, field: str) -> str:
    return f"pct({field}, 50)" if function == "pct" else f"{function}({field})"


def _condition_text(condition: Condition) -> str:
    match condition:
        case ("and" | "or" as word, left, right):
            return f"({_condition_text(left)} {word} {_condition_text(right)})"
        case ("not", part):
            return f"not ({_condition_text(part)})"
        case ("in", field, options):
            return f"{field} in [{', '.join(map(json.dumps, options))}]"
        case ("like", field, part):
            return f"{field} like {json.dumps(part)}"
        case ("present", field):
            return f"ispresent({field})"
        case (sign, field, value):
            return f"{field} {sign} {json.dumps(value)}"
    raise AssertionError(condition)


def _discovered(at: int, message: str) -> Row:
    document = json.loads(message)
    return {**{name: int(value) if isinstance(value, bool) else value for name, value in document.items()}, "@at": at}


def _number(value: Any) -> float | None:
    if isinstance(value, int | float):
        return float(value)
    return float(value) if isinstance(value, str) and re.fullmatch(r"[+-]?\d+(\.\d+)?", value) else None


def _same(left: Any, right: Any) -> bool:
    first, second = _number(left), _number(right)
    return first == second if first is not None and second is not None else _shown(left) == _shown(right)


def _before(left: Any, right: Any) -> bool:
    first, second = _number(left), _number(right)
    return first < second if first is not None and second is not None else _shown(left) < _shown(right)


_SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": _same,
    "!=": lambda left, right: not _same(left, right),
    "<": _before,
    ">": lambda left, right: _before(right, left),
    "<=": lambda left, right: _before(left, right) or _same(left, right),
    ">=": lambda left, right: _before(right, left) or _same(left, right),
}


def _holds(condition: Condition, row: Row) -> bool:
    match condition:
        case ("and", left, right):
            return _holds(left, row) and _holds(right, row)
        case ("or", left, right):
            return _holds(left, row) or _holds(right, row)
        case ("not", part):
            return not _holds(part, row)
        case ("present", field):
            return row.get(field) is not None
        case ("in", field, options):
            return row.get(field) is not None and any(_same(row[field], option) for option in options)
        case ("like", field, part):
            return row.get(field) is not None and part in _shown(row[field])
        case (sign, field, value):
            return row.get(field) is not None and _SIGNS[sign](row[field], value)
    raise AssertionError(condition)


def _grouped(rows: list[Row], aggregates: Any, by: Sequence[str]) -> tuple[list[Row], list[str]]:
    groups: list[tuple[list[str | None], list[Row]]] = []
    for row in rows:
        key = [None if row.get(name) is None else _shown(row[name]) for name in by]
        members = next((members for known, members in groups if known == key), None)
        if members is None:
            groups.append((key, [row]))
        else:
            members.append(row)
    made = [
        {
            **{name: members[0].get(name) for name in by},
            **{name: _AGGREGATES[function](field, members) for function, field, name in aggregates},
        }
        for _, members in groups
    ]
    return made, [*by, *(name for _, _, name in aggregates)]


def _numbers(field: str, rows: list[Row]) -> list[float]:
    return [found for row in rows if (found := _number(row.get(field))) is not None]


def _percentile(numbers: list[float]) -> float:
    return min(one for one in numbers if sum(other <= one for other in numbers) * 2 >= len(numbers))


def _deviation(numbers: list[float]) -> float:
    mean = sum(numbers) / len(numbers)
    return math.sqrt(sum((one - mean) ** 2 for one in numbers) / len(numbers))


def _of_numbers(compute: Callable[[list[float]], float]) -> Callable[[str, list[Row]], Any]:
    def aggregate(field: str, rows: list[Row]) -> Any:
        numbers = _numbers(field, rows)
        return compute(numbers) if numbers else None

    return aggregate


def _last_by_time(field: str, rows: list[Row]) -> Any:
    present = [row for row in rows if row.get(field) is not None]
    return max(present, key=lambda row: row["@at"])[field] if present else None


def _count(field: str, rows: list[Row]) -> int:
    return len([row for row in rows if field == "*" or row.get(field) is not None])


_AGGREGATES: Mapping[str, Callable[[str, list[Row]], Any]] = {
    "count": _count,
    "count_distinct": lambda field, rows: len({_shown(row[field]) for row in rows if row.get(field) is not None}),
    "sum": _of_numbers(sum),
    "avg": _of_numbers(lambda numbers: sum(numbers) / len(numbers)),
    "pct": _of_numbers(_percentile),
    "stddev": _of_numbers(_deviation),
    "latest": _last_by_time,
}


def _distinct(rows: list[Row], keys: Sequence[str]) -> list[Row]:
    found: list[Row] = []
    seen: list[list[str]] = []
    for row in rows:
        values = [row.get(key) for key in keys]
        shown = [_shown(value) for value in values]
        if None in values or shown not in seen:
            found.append(row)
            seen.append(shown)
    return found


def _sorted(rows: list[Row], key: str, *, is_descending: bool) -> list[Row]:
    def compared(one: Row, other: Row) -> int:
        return _compared(one.get(key), other.get(key))

    return sorted(rows, key=functools.cmp_to_key(compared), reverse=is_descending)


def _compared(one: Any, other: Any) -> int:
    """As sort compares: missing values, texts, numbers."""
    first, second = _rank(one), _rank(other)
    if first != second:
        return -1 if first < second else 1
    if first == 0:
        return 0
    if first == 2:
        return int(_before(other, one)) - int(_before(one, other))
    return int(one > other) - int(one < other)  # The texts of these tests have no digits.


def _rank(value: Any) -> int:
    return 0 if value is None else 1 if _number(value) is None else 2


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else f"{value:.4f}".rstrip("0").rstrip(".")
    return str(value)
