"""Statements of PostgreSQL and MySQL as statements of SQLite, and what they say about tables.

sqlglot parses and writes them. Here stands what is different about placeholders, time, conflicts and types.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from redrive.prove.process.statements import first_word
from redrive.prove.sql.statement import Statement, Table, declaration
from redrive.prove.sql.unnesting import settle_arrays, unnest_columns

_NOW = re.compile(r"('(?:[^']|'')*'|\"[^\"]*\")|\bCURRENT_(TIMESTAMP|DATE|TIME)\b", re.IGNORECASE)
_NOW_CALLS = {"TIMESTAMP": "datetime", "DATE": "date", "TIME": "time"}
_OWN_FUNCTIONS = frozenset({"now", "utc_timestamp", "sysdate", "getdate", "statement_timestamp", "clock_timestamp"})
_UUIDS = frozenset({"uuid", "gen_random_uuid", "uuid_generate_v4"})

_TYPES: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPLTZ", "TIMESTAMPNTZ", "DATETIME"}), "RD_TIMESTAMP"),
    (frozenset({"DATE"}), "RD_DATE"), (frozenset({"BOOLEAN"}), "RD_BOOLEAN"), (frozenset({"JSON", "JSONB"}), "RD_JSON"),
    (frozenset({"DECIMAL"}), "RD_DECIMAL"), (frozenset({"UUID"}), "RD_UUID"),
    (frozenset({"ARRAY"}), "RD_ARRAY"),
    (frozenset({"INT", "BIGINT", "SMALLINT", "TINYINT", "UINT", "UBIGINT"}), "INTEGER"),
    (frozenset({"SERIAL", "BIGSERIAL", "SMALLSERIAL"}), "INTEGER"),
    (frozenset({"FLOAT", "DOUBLE"}), "REAL"), (frozenset({"BINARY", "VARBINARY", "BLOB"}), "BLOB"),
)  # fmt: skip

_FROM_NOTHING = re.compile(r"(?i)\s+FROM\s+dual\b")
_BEYOND = frozenset({"CALL", "COPY", "DO", "MERGE"})
_CATALOGS = frozenset({"information_schema", "pg_catalog", "mysql", "sys"})

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # It warns of each statement that it does not know.


def translate(dialect: str, text: str) -> Statement:
    """A statement for SQLite. SQLite's own stay as they are, but for the time."""
    word = first_word(text)
    try:
        tree = cast("exp.Expression", sqlglot.parse_one(text, read=dialect))
    except SqlglotError as error:
        is_own = dialect == "sqlite"
        return Statement(word, _with_virtual_time(text), trouble="" if is_own else str(error).partition("\n")[0])
    tables = tuple(_tables(tree))
    asked = tuple(_asked(tree)) if len(tables) == 1 else ()
    if dialect == "sqlite":
        locks = word == "BEGIN" and any(kind in text.upper() for kind in ("IMMEDIATE", "EXCLUSIVE"))
        return Statement(word, _with_virtual_time(text), _written(tree), locks, tables, asked)
    if isinstance(tree, exp.Command) and word == "REPLACE":
        again = translate(dialect, "INSERT" + text.lstrip()[len("REPLACE") :])
        tables = tuple(replace(one, keys=one.keys or (tuple(one.columns)[:1],)) for one in again.tables)
        return replace(again, text=again.text.replace("INSERT", "INSERT OR REPLACE", 1), tables=tables)
    if word in _BEYOND:
        return Statement(word, text, trouble=f"{word} is beyond what is understood here")
    if isinstance(tree, exp.Create) and tables and tables[0].is_declared:
        return Statement(word, declaration(tables[0]), tables[0].name, tables=tables)
    if isinstance(tree, exp.Create) and tree.args.get("kind") == "INDEX" and not tree.args.get("unique"):
        return Statement("", "")  # It changes nothing but the time that statements take.
    locks = tree.find(exp.Lock) is not None or "advisory" in text.lower() or word == "LOCK"
    return Statement(word, _for_sqlite(tree), _written(tree), locks, tables, asked)


def split(dialect: str, text: str) -> list[str]:
    """The statements of a text; none of what cannot be parsed."""
    try:
        trees = sqlglot.parse(text, read=dialect)
    except SqlglotError:
        return []
    return [tree.sql(dialect=dialect) for tree in trees if tree is not None]


def _with_virtual_time(text: str) -> str:
    def call(found: re.Match[str]) -> str:
        return found[1] or f"({_NOW_CALLS[found[2].upper()]}('now'))"

    return _NOW.sub(call, text)


def _for_sqlite(tree: exp.Expression) -> str:
    """The text of a tree for SQLite."""
    tree = tree.copy()
    for lock in list(tree.find_all(exp.Lock)):
        lock.pop()
    settle_arrays(tree)
    for conflict in list(tree.find_all(exp.OnConflict)):
        _settle_conflict(conflict)
    for ordered in list(tree.find_all(exp.Ordered)) if isinstance(tree, exp.Create) else ():
        ordered.replace(ordered.this)
    return _FROM_NOTHING.sub("", str(tree.transform(_own_form).sql(dialect="sqlite")))


def _settle_conflict(conflict: exp.OnConflict) -> None:
    """`ON DUPLICATE KEY UPDATE` is ON CONFLICT without a key, and its new row is called `excluded`."""
    keys = [key.this if isinstance(key, exp.Ordered) else key for key in conflict.args.get("conflict_keys") or ()]
    conflict.set("conflict_keys", keys or None)
    selected = conflict.parent.expression if isinstance(conflict.parent, exp.Insert) else None
    if isinstance(selected, exp.Select) and selected.args.get("where") is None:
        selected.where("TRUE", copy=False)  # Otherwise SQLite takes ON for that of a join.
    if not conflict.args.get("duplicate"):
        return
    conflict.set("duplicate", None)
    conflict.set("action", exp.var("DO UPDATE"))
    insert = conflict.parent
    source = insert.expression if isinstance(insert, exp.Insert) else None
    alias = source.alias if source is not None else ""
    if alias and source is not None:
        source.set("alias", None)
    for values in list(conflict.find_all(exp.Anonymous, exp.Values)):
        if isinstance(values, exp.Anonymous) and values.name.upper() == "VALUES":
            values.replace(exp.column(values.expressions[0].name, table="excluded"))
    for column in conflict.find_all(exp.Column):
        if alias and column.table == alias:
            column.set("table", exp.to_identifier("excluded"))


def _own_form(node: exp.Expression) -> exp.Expression:
    """A node as SQLite, with the functions of `functions`, has it."""
    match node:
        case exp.Table() if node.args.get("db") is not None:
            node.set("db", None)
            node.set("catalog", None)
            return node
        case exp.CurrentTimestamp() | exp.CurrentDatetime():
            return exp.Anonymous(this="redrive_now")
        case exp.CurrentDate():
            return exp.Anonymous(this="redrive_today")
        case exp.Uuid():
            return exp.Anonymous(this="redrive_uuid")
        case exp.Anonymous(this=str(name)) if name.lower() in _OWN_FUNCTIONS:
            return exp.Anonymous(this="redrive_now")
        case exp.Anonymous(this=str(name)) if name.lower() in _UUIDS:
            return exp.Anonymous(this="redrive_uuid")
        case exp.Cast() if _is_kept(node.to):
            return node
        case exp.Cast():
            return cast("exp.Expression", node.this.transform(_own_form))
        case exp.Add(expression=exp.Interval() as interval) | exp.Sub(expression=exp.Interval() as interval):
            sign = "-" if isinstance(node, exp.Sub) else "+"
            unit = exp.Literal.string(str(interval.args.get("unit") or ""))
            at, amount = node.this.transform(_own_form), interval.this.transform(_own_form)
            return exp.Anonymous(this="redrive_shift", expressions=[at, exp.Literal.string(sign), amount, unit])
        case exp.EQ(expression=exp.Any(this=held)):
            members = exp.select("value").from_(exp.Anonymous(this="json_each", expressions=[_bare(held)]))
            return exp.In(this=node.this.transform(_own_form), query=members.subquery())
        case _:
            return node


def _bare(held: exp.Expression) -> exp.Expression:
    while isinstance(held, exp.Paren | exp.Cast):
        held = held.this
    return held


def _is_kept(kind: exp.Expression) -> bool:
    """Whether a cast to a type means the same in SQLite."""
    return type_of(kind) in {"INTEGER", "REAL", "TEXT"}


def type_of(kind: exp.Expression | None) -> str:
    """SQLite's type for a type."""
    name = kind.this.name if isinstance(kind, exp.DataType) and isinstance(kind.this, exp.DataType.Type) else ""
    return next((own for names, own in _TYPES if name in names), "TEXT" if name else "")


def _written(tree: exp.Expression) -> str:
    """The table that a statement writes to."""
    match tree:
        case exp.Insert() | exp.Update() | exp.Delete() | exp.Merge() | exp.Create():
            target = tree.this.find(exp.Table) if tree.this is not None else None
            return target.name if target is not None else ""
        case _:
            within = tree.find(exp.Insert, exp.Update, exp.Delete)
            return _written(within) if within is not None else ""


def _tables(tree: exp.Expression) -> Iterator[Table]:
    """What a statement says about its tables."""
    if isinstance(tree, exp.Create):
        yield from _created(tree)
        return
    named = {cte.alias_or_name for cte in tree.find_all(exp.CTE)}
    tables = [one for one in tree.find_all(exp.Table) if one.name and one.name not in named]
    tables = [one for one in tables if one.name.lower() != "dual"]
    tables = [one for one in tables if not one.args.get("db") or one.db.lower() not in _CATALOGS]
    by_alias = {one.alias_or_name: one.name for one in tables}
    columns: dict[str, dict[str, str]] = {one.name: {} for one in tables}
    only = next(iter(columns)) if len(columns) == 1 else ""
    of_arrays = unnest_columns(tree)
    for column in tree.find_all(exp.Column):
        name = by_alias.get(column.table, only if column.table in {"", "excluded", "new"} else "")
        if name and column.name and column.name != "*" and column.name not in of_arrays | {"xmax"}:
            columns[name].setdefault(column.name, "")
    keys: dict[str, tuple[tuple[str, ...], ...]] = {}
    if isinstance(tree, exp.Insert):
        target = _written(tree)
        schema = tree.this
        given = [one.name for one in schema.expressions] if isinstance(schema, exp.Schema) else []
        columns.setdefault(target, {}).update(dict.fromkeys(given, ""))
        keys[target] = _conflicting(tree, given)
    for name, found in columns.items():
        yield Table(name, found, keys.get(name, ()))


def _conflicting(tree: exp.Insert, given: list[str]) -> tuple[tuple[str, ...], ...]:
    """The keys that an INSERT counts on: of ON CONFLICT; for MySQL's form its first column that is not updated."""
    conflict = tree.args.get("conflict")
    if not isinstance(conflict, exp.OnConflict):
        return ((given[0],),) if tree.args.get("ignore") and given else ()
    named = tuple(
        column.name for key in conflict.args.get("conflict_keys") or () for column in key.find_all(exp.Identifier)
    )
    if named:
        return (named,)
    updated = {one.this.name for one in conflict.expressions if isinstance(one, exp.EQ)}
    left = [name for name in given if name not in updated]
    return ((left[0],),) if left else ()


def _created(tree: exp.Create) -> Iterator[Table]:
    """A table as its CREATE TABLE declares it, or what a CREATE UNIQUE INDEX says of it."""
    if tree.args.get("kind") == "INDEX":
        table = tree.find(exp.Table)
        held = tree.this.args.get("params")
        names = tuple(one.name for one in held.find_all(exp.Column)) if held is not None else ()
        if tree.args.get("unique") and table is not None and names:
            yield Table(table.name, dict.fromkeys(names, ""), (names,))
        return
    schema = tree.this
    if tree.args.get("kind") != "TABLE" or not isinstance(schema, exp.Schema):
        return
    columns: dict[str, str] = {}
    primary: list[tuple[str, ...]] = []
    unique: list[tuple[str, ...]] = []
    defaults: dict[str, str] = {}
    required: set[str] = set()
    for part in schema.expressions:
        if isinstance(part, exp.ColumnDef):
            columns[part.name] = type_of(part.args.get("kind")) or "TEXT"
            for constraint in part.args.get("constraints") or ():
                match constraint.kind:
                    case exp.PrimaryKeyColumnConstraint():
                        primary.append((part.name,))
                    case exp.UniqueColumnConstraint():
                        unique.append((part.name,))
                    case exp.NotNullColumnConstraint() if not constraint.kind.args.get("allow_null"):
                        required.add(part.name)
                    case exp.DefaultColumnConstraint():
                        defaults[part.name] = f"({_for_sqlite(constraint.kind.this)})"
                    case _:
                        pass
        else:
            _keyed(part, primary, unique)
    is_serial = {part.name for part in schema.expressions if isinstance(part, exp.ColumnDef) and _is_serial(part)}
    name = schema.this.name
    yield Table(name, columns, (*primary, *unique), defaults, frozenset(required - is_serial), is_declared=True)


def _is_serial(column: exp.ColumnDef) -> bool:
    kind = column.args.get("kind")
    return kind is not None and "SERIAL" in kind.sql().upper()


def _keyed(part: exp.Expression, primary: list[tuple[str, ...]], unique: list[tuple[str, ...]]) -> None:
    """The keys of a constraint of a table."""
    for one in part.find_all(exp.PrimaryKey, exp.UniqueColumnConstraint):
        listed = one.this.expressions if isinstance(one.this, exp.Schema) else one.expressions or [one]
        names = tuple(dict.fromkeys(name.name for held in listed for name in held.find_all(exp.Identifier)))
        (primary if isinstance(one, exp.PrimaryKey) else unique).append(names)


def _asked(tree: exp.Expression) -> Iterator[tuple[str, str]]:
    """Columns that must equal a value, of a statement that finds rows."""
    where = tree.args.get("where") if isinstance(tree, exp.Select | exp.Update) else None
    for one in where.find_all(exp.EQ) if where is not None else ():
        if isinstance(one.this, exp.Column) and isinstance(one.expression, exp.Placeholder | exp.Literal):
            value = one.expression
            yield (
                one.this.name,
                f":{value.name}" if isinstance(value, exp.Placeholder) and value.name != "?" else value.name,
            )
