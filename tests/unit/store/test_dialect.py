"""PostgreSQL's form of each statement: parameters have numbers, and overrides have reasons."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.store.dialect import numbered
from redrive.store.queries import load_queries, postgresql_queries, postgresql_text
from tests.unit.store.dialects import ONLY_THERE, sql_files, statements, tables

BASELINE = 15
OVERRIDES = [(table, name) for table in tables() for name in postgresql_queries(table)]


@pytest.mark.parametrize(
    ("sql", "text", "parameters"),
    [
        ("SELECT :a, :b, :a", "SELECT $1, $2, $1", ("a", "b")),
        ("VALUES (?, ?, ?)", "VALUES ($1, $2, $3)", (0, 1, 2)),
        ("SELECT 1", "SELECT 1", ()),
        ("SELECT ':a', '?', 'it''s :a', :b", "SELECT ':a', '?', 'it''s :a', $1", ("b",)),
        ('SELECT "a:b?" FROM t WHERE c = ?', 'SELECT "a:b?" FROM t WHERE c = $1', (0,)),
        ("-- the queue's :a?\nSELECT :b", "-- the queue's :a?\nSELECT $1", ("b",)),
        ("/* :a ? */ SELECT :b", "/* :a ? */ SELECT $1", ("b",)),
        ("SELECT :a::bigint, b::text", "SELECT $1::bigint, b::text", ("a",)),
        ("SELECT t.rowid, rowid, rowids, my_rowid FROM t", "SELECT t.seq, seq, rowids, my_rowid FROM t", ()),
        ("SELECT 'rowid' FROM t INDEXED BY t_by_x WHERE x = :x", "SELECT 'rowid' FROM t WHERE x = $1", ("x",)),
        ("SELECT 1 WHERE +a > :a", "SELECT 1 WHERE +a > $1", ("a",)),
    ],
)
def test_parameters_are_numbered_and_all_else_stays(sql: str, text: str, parameters: tuple[str | int, ...]) -> None:
    assert numbered(sql) == (text, parameters)


PIECES = st.sampled_from(
    ["'a :b ? '' c'", '"d?:e"', "-- it's :f ?\n", "/* :g '?*/", "h::text", "::int", "i", " + ", "(1)"]
)


@given(st.lists(st.one_of(PIECES, st.sampled_from([":a", ":b", ":c_1"]))))
def test_each_named_parameter_has_one_number(pieces: list[str]) -> None:
    text, names = numbered(" ".join(pieces))

    numbers = {f":{name}": f"${number}" for number, name in enumerate(names, 1)}
    assert text == " ".join(numbers.get(piece, piece) for piece in pieces)
    assert set(numbers) == {piece for piece in pieces if re.fullmatch(r":\w+", piece)}


@given(st.lists(st.one_of(PIECES, st.just("?"))))
def test_each_question_mark_has_a_number_of_its_own(pieces: list[str]) -> None:
    text, positions = numbered(" ".join(pieces))

    assert positions == tuple(range(pieces.count("?")))
    assert re.sub(r"\$\d+", "?", text) == " ".join(pieces)


@pytest.mark.parametrize(("table", "name"), OVERRIDES)
def test_override_says_why_it_differs(table: str, name: str) -> None:
    assert re.match(r"-- \S+ \S+ ", postgresql_queries(table)[name])


@pytest.mark.parametrize(("table", "name"), OVERRIDES)
def test_override_takes_the_parameters_of_the_statement(table: str, name: str) -> None:
    _, original = numbered(load_queries(table)[name])
    _, overriding = numbered(postgresql_queries(table)[name])

    assert sorted(map(repr, overriding)) == sorted(map(repr, original))


@pytest.mark.parametrize(("table", "name"), OVERRIDES)
def test_override_answers_in_place_of_its_statement(table: str, name: str) -> None:
    statement = load_queries(table)[name]

    assert postgresql_text(statement) == postgresql_queries(table)[name] != statement


def test_files_of_overrides_belong_to_tables() -> None:
    """An override in a file of another name would never be read."""
    files = {entry.name.removesuffix(".sql") for entry in sql_files("sql", "postgresql")}

    assert files - set(tables()) == ONLY_THERE


def test_statements_without_override_stay() -> None:
    portable = [load_queries(table)[name] for table, name in statements() if (table, name) not in OVERRIDES]

    assert portable
    assert [postgresql_text(sql) for sql in portable] == portable


def test_migrations_have_the_same_numbers_in_both_dialects() -> None:
    here = {int(entry.name[:4]) for entry in sql_files("migrations")}
    there = {int(entry.name[:4]) for entry in sql_files("migrations", "postgresql")}

    assert min(there) == BASELINE
    assert there == {number for number in here if number >= BASELINE}
