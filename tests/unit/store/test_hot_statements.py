"""Statements that are marked `-- hot` go by an index: their cost must not grow with what is stored."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from redrive.store.queries import load_queries
from redrive.store.sqlite import SqliteStore

HOT = [
    (entry.name.removesuffix(".sql"), name)
    for entry in sorted(resources.files("redrive.store").joinpath("sql").iterdir(), key=lambda entry: entry.name)
    if entry.name.endswith(".sql")
    for name in re.findall(r"^-- name: (\w+) -- hot", entry.read_text("utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize(("table", "name"), HOT)
def test_hot_statement_scans_no_table(store: SqliteStore, table: str, name: str) -> None:
    statement = load_queries(table)[name]
    named = dict.fromkeys(re.findall(r":(\w+)", statement), 1)
    params = named or (1,) * statement.count("?")

    plan = [step[3] for step in store.connection.execute(f"EXPLAIN QUERY PLAN {statement}", params)]

    tables = {found for (found,) in store.connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    assert not [step for step in plan if step.startswith("SCAN") and step.split()[1] in tables], plan


def test_tables_have_hot_statements() -> None:
    assert {table for table, _ in HOT} >= {"attempts", "deliveries", "messages"}


def test_place_of_a_delivery_is_compared_with_no_bare_parameter() -> None:
    """There is an index on a condition of it: SQLite would prepare such a statement anew for each execution."""
    bare = [name for name, sql in load_queries("deliveries").items() if re.search(r"\bplace = :\w+\b(?! \|\|)", sql)]

    assert bare == []
