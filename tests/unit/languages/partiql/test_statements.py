"""Statements of PartiQL: what they mean, and the sentences with which AWS refuses them.

The sentences are AWS's, as docs/semantics/dynamodb-partiql.md says for each.
"""

from __future__ import annotations

import contextlib

import pytest

from redrive.core.errors import ServiceError
from redrive.languages.dynamo import AttributeValue, Update, apply_update, holds
from redrive.languages.dynamo.expressions.tree import Path
from redrive.languages.partiql import (
    Delete,
    Exists,
    Insert,
    Order,
    Returning,
    Select,
    Source,
    Statement,
    UpdateStatement,
    bind,
    parse,
    tokens,
)
from redrive.languages.partiql.reader import DEPTH_MAX
from tests.unit.languages.dynamo.refused import refusal

ITEM: dict[str, AttributeValue] = {
    "pk": {"S": "a"}, "n": {"N": "5"}, "text": {"S": "Acme Band"}, "none": {"NULL": True}, "yes": {"BOOL": True},
    "tags": {"SS": ["x", "y"]}, "items": {"L": [{"N": "1"}, {"S": "z"}]}, "map": {"M": {"in": {"L": [{"N": "7"}]}}},
}  # fmt: skip
MALFORMED = "Statement wasn't well formed, can't be processed: "


def statement(text: str, *parameters: AttributeValue) -> Statement:
    return bind(parse(text), parameters)


def where(clause: str, *parameters: AttributeValue) -> bool:
    """Whether a WHERE clause holds for the item of these tests."""
    select = statement(f"SELECT * FROM t WHERE {clause}", *parameters)
    assert isinstance(select, Select)
    assert select.where is not None
    return holds(select.where, ITEM)


def value(text: str, *parameters: AttributeValue) -> AttributeValue:
    """The attribute value that a literal means."""
    insert = statement(f"INSERT INTO t VALUE {{'v': {text}}}", *parameters)
    assert isinstance(insert, Insert)
    return insert.item["v"]


def updated(text: str, *parameters: AttributeValue) -> dict[str, AttributeValue]:
    """The item of these tests after SET and REMOVE."""
    update = statement(f"UPDATE t {text} WHERE pk = 'a'", *parameters)
    assert isinstance(update, UpdateStatement)
    assert isinstance(update.update, Update)
    return apply_update(update.update, ITEM)


def test_select_has_a_projection_a_source_and_an_order() -> None:
    select = statement('select a.b[0], "c d" from "T"."I" order by x desc, y')

    assert select == Select(
        Source("T", "I"), (Path(("a", "b", 0)), Path(("c d",))), None,
        (Order(Path(("x",)), descending=True), Order(Path(("y",)), descending=False)),
    )  # fmt: skip


def test_asterisk_selects_all_attributes_of_the_items() -> None:
    assert statement("SELECT * FROM Music;") == Select(Source("Music"), None, None, ())


def test_insert_has_an_item() -> None:
    assert statement("INSERT INTO \"T\" value {'a': ?, 'b' : 1}", {"B": b"x"}) == Insert(
        Source("T"), {"a": {"B": b"x"}, "b": {"N": "1"}}
    )


def test_item_may_be_a_parameter() -> None:
    assert statement("INSERT INTO T VALUE ?", {"M": {"a": {"S": "x"}}}) == Insert(Source("T"), {"a": {"S": "x"}})


@pytest.mark.parametrize("returning", list(Returning))
def test_update_returns_one_of_four_things(returning: Returning) -> None:
    update = statement(f"UPDATE t SET a = 1 WHERE pk = 'a' RETURNING {returning.value.lower()} *")

    assert isinstance(update, UpdateStatement)
    assert update.returning is returning


def test_delete_returns_all_that_was() -> None:
    delete = statement("DELETE FROM t WHERE pk = 'a' RETURNING ALL OLD *")

    assert isinstance(delete, Delete)
    assert delete.returning is Returning.ALL_OLD


def test_table_may_come_first() -> None:
    assert statement("FROM t WHERE pk = 'a' SET x = 1") == statement("UPDATE t SET x = 1 WHERE pk = 'a'")
    assert statement("FROM t SET x = 1 WHERE pk = 'a'") == statement("UPDATE t SET x = 1 WHERE pk = 'a'")


def test_exists_has_a_select() -> None:
    exists = statement("EXISTS(SELECT * FROM t WHERE pk = 'a' AND n IS MISSING)")

    assert isinstance(exists, Exists)
    assert exists.source == Source("t")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'it''s'", {"S": "it's"}),
        ("1", {"N": "1"}),
        ("-1.50", {"N": "-1.5"}),
        ("--comment\n 2e2", {"N": "200"}),
        ("- - 3", {"N": "3"}),
        ("TRUE", {"BOOL": True}),
        ("false", {"BOOL": False}),
        ("Null", {"NULL": True}),
        ("[1, 'a', [true]]", {"L": [{"N": "1"}, {"S": "a"}, {"L": [{"BOOL": True}]}]}),
        ("[]", {"L": []}),
        ("{'x': {'y': 1}}", {"M": {"x": {"M": {"y": {"N": "1"}}}}}),
        ("{}", {"M": {}}),
        ("<<1, 34, 4.5>>", {"NS": ["1", "34", "4.5"]}),
        ("<<'a', 'b'>>", {"SS": ["a", "b"]}),
        ("/* a */ ('x')", {"S": "x"}),
    ],
)
def test_literal_is_a_value(text: str, expected: AttributeValue) -> None:
    assert value(text) == expected


def test_parameters_stand_anywhere_within_values() -> None:
    assert value("[?, {'x': ?}, <<?>>]", {"N": "1"}, {"BOOL": True}, {"B": b"z"}) == {
        "L": [{"N": "1"}, {"M": {"x": {"BOOL": True}}}, {"BS": [b"z"]}]
    }


@pytest.mark.parametrize(
    "clause",
    [
        "pk = 'a'", "'a' = pk", "n > 4", "n >= 5 AND n <= 5", "n <> 4", "n != 4", "n BETWEEN 5 AND 6",
        "n NOT BETWEEN 6 AND 7", "n IN [1, 5]", "n in (1, 5)", "n NOT IN [1]", "NOT n = 4", "NOT NOT n = 5",
        "begins_with(text, 'Acme')", "BEGINS_WITH(\"text\", 'A')", "contains(text, 'Band')", "contains(tags, 'x')",
        "contains(items, 1)", "attribute_type(text, 'S')", "size(text) = 9", "size(tags) > 1", "gone IS MISSING",
        "text IS NOT MISSING", "gone = MISSING", "text <> MISSING", "none IS NULL", "text IS NOT NULL", "none = NULL",
        "yes = true", "yes IS BOOL", "n IS INT", "tags IS BAG", 'map."in"[0] = 7', "items[1] = 'z'", "map['in'][0] = 7",
        "pk = 'b' OR pk = 'a' AND n = 5", "(pk = 'b' OR pk = 'a') AND n = 5", "NOT (pk = 'b' AND n = 5)",
        "tags = <<'y', 'x'>>", "items = [1, 'z']", "n > -5",
    ],
)  # fmt: skip
def test_condition_holds(clause: str) -> None:
    """Each operator and function is true of an item that it describes."""
    assert where(clause)


@pytest.mark.parametrize(
    "clause",
    [
        "pk = 'A'", "n < 5", "n BETWEEN 6 AND 7", "n IN [1, 2]", "NOT n = 5", "begins_with(text, 'Band')",
        "begins_with(n, 'x')", "contains(text, 'acme')", "attribute_type(text, 'N')", "size(text) = 1",
        "text IS MISSING", "gone IS NOT MISSING", "gone IS NULL", "text IS NULL", "gone = 1", "gone < 1",
        "(pk = 'a' OR pk = 'b') AND n = 4", "pk = 'b' OR pk = 'a' AND n = 4", "n = '5'",
    ],
)  # fmt: skip
def test_condition_does_not_hold(clause: str) -> None:
    assert not where(clause)


def test_condition_has_parameters_in_their_order() -> None:
    assert where("n BETWEEN ? AND ? AND pk = ?", {"N": "4"}, {"N": "6"}, {"S": "a"})
    assert where("n IN ?", {"L": [{"N": "1"}, {"N": "5"}]})


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("SET n = n + 100", "n", {"N": "105"}),
        ("SET n = 10 - n - 1", "n", {"N": "4"}),
        ("SET copy = text", "copy", {"S": "Acme Band"}),
        ("SET map.\"in\" = [2020, 'x']", "map", {"M": {"in": {"L": [{"N": "2020"}, {"S": "x"}]}}}),
        ("SET items = LIST_APPEND(items, [<<'s'>>])", "items", {"L": [{"N": "1"}, {"S": "z"}, {"SS": ["s"]}]}),
        ("SET tags = set_add(tags, <<'z'>>)", "tags", {"SS": ["x", "y", "z"]}),
        ("SET tags = SET_DELETE( tags, <<'x'>>)", "tags", {"SS": ["y"]}),
        ("SET fresh = set_add(fresh, <<1>>)", "fresh", {"NS": ["1"]}),
        ("REMOVE items[0]", "items", {"L": [{"S": "z"}]}),
        ("SET a = 1 SET b = 2 REMOVE n", "b", {"N": "2"}),
        ("SET a = 1, b = 2", "b", {"N": "2"}),
    ],
)  # fmt: skip
def test_update_changes_the_item(text: str, name: str, expected: AttributeValue) -> None:
    assert updated(text)[name] == expected


def test_remove_takes_an_attribute_away() -> None:
    assert "n" not in updated("SET a = 1 REMOVE n, text")


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("DESCRIBE t", "Expected data manipulation"),
        ("", "Expected data manipulation"),
        ("UPDATE Payment-x SET a = 1 WHERE pk = 'a'", "Expected data manipulation"),
        ("SELECT * FROM t WHERE a = 1)", "Unexpected token after expression"),
        ("SELECT * FROM t; SELECT * FROM t", "Unexpected token after expression"),
        ("SELECT * FROM t ORDER BY a WHERE a = 1", "Unexpected token after expression"),
        ("DELETE FROM t WHERE a = 1 ORDER BY a", "Unexpected token after expression"),
        ("INSERT INTO t x VALUE {'a': 1}", "Unexpected token after expression"),
        ("SELECT * FROM t WHERE", "Unexpected term"),
        ("SELECT * FROM t WHERE NOT", "Unexpected term"),
        ("SELECT * FROM t WHERE (", "Unexpected term"),
        ("SELECT * FROM", "Unexpected term"),
        ("SELECT * FROM t WHERE a = 1 AND", "Missing right-hand side expression of infix operator"),
        ("SELECT * FROM t WHERE a = 1 OR", "Missing right-hand side expression of infix operator"),
        ("SELECT * FROM t WHERE ORDER BY a", "Unexpected keyword"),
        ("SELECT * FROM t WHERE key = 1", "Unexpected keyword"),
        ("INSERT INTO t (key, a) VALUES (?, ?)", "Unexpected keyword"),
        ("SELECT * FROM t WHERE IS NULL", "Unexpected operator"),
        ("SELECT * FROM t WHERE a = LIKE 'x'", "Unexpected operator"),
        ("SELECT * FROM t WHERE a IS FOO", "Expected type name"),
        ("DELETE FROM", "Expected identifier for simple path"),
        ("DELETE FROM WHERE a = 1", "Expected identifier for simple path"),
        ("SELECT * FROM t # comment", ""),
        ("SELECT * FROM t /* comment", ""),
        ("SELECT * FROM t WHERE a = 'open", ""),
        ('SELECT * FROM "open', ""),
        ("SELECT * FROM t WHERE a = 1e99999999999", ""),
    ],
)
def test_statement_that_is_not_well_formed_is_refused_with_the_sentence_of_aws(text: str, detail: str) -> None:
    assert refusal(lambda: statement(text)) == MALFORMED + detail


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT * FROM t x", "Aliasing is not supported"),
        ("SELECT * FROM t AS x WHERE a = 1", "Aliasing is not supported"),
        ("UPDATE t x SET a = 1", "Aliasing is not supported"),
        ("DELETE FROM t x WHERE a = 1", "Aliasing is not supported"),
        ("SELECT a AS b FROM t", "Aliasing is not supported"),
        ("SELECT * FROM a.b.c", "A path may contain at most 2 components in the FROM clause"),
        ('SELECT * FROM "t".""', "Path component cannot be an empty string"),
        ("SELECT * FROM t LIMIT 5", "Unsupported clause: LIMIT at 1:23:1"),
        ("SELECT *\nFROM t\nWHERE a = 1 LIMIT 10", "Unsupported clause: LIMIT at 3:19:2"),
        (
            "SELECT * FROM t WHERE a < true",
            "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL",
        ),
        (
            "SELECT * FROM t WHERE begins_with(a, 1)",
            "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
        ),
        (
            "SELECT * FROM t WHERE contains(a)",
            (
                "Incorrect number of operands for operator or function; operator or function: contains, "
                "number of operands: 1"
            ),
        ),
        (
            "SELECT * FROM t WHERE a BETWEEN 2 AND 1",
            (
                "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
                "lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}"
            ),
        ),
        ("SELECT * FROM t WHERE a = ?", "Number of parameters in request and statement don't match."),
        (
            "DELETE FROM t WHERE a = 1 RETURNING MODIFIED OLD *",
            (
                "Invalid returning clause: RETURNING MODIFIED OLD *. "
                "Only RETURNING ALL OLD * is allowed in DELETE statements."
            ),
        ),
        (
            "UPDATE t SET a = 1 SET a.b = 2 WHERE pk = 'a'",
            (
                "Two document paths overlap with each other; "
                "must remove or rewrite one of these paths; path one: [a], path two: [a, b]"
            ),
        ),
        (
            f"SELECT * FROM t WHERE a = 1{'0' * 38}1",
            "Attempting to store more than 38 significant digits in a Number under root",
        ),
        (
            "INSERT INTO t VALUE {'x': 1E200}",
            "Number overflow. Attempting to store a number with magnitude larger than supported range under root.x",
        ),
        (
            "UPDATE t SET a = [1, 1E-200] WHERE pk = 'a'",
            "Number underflow. Attempting to store a number with magnitude smaller than supported range under root[1]",
        ),
    ],
)
def test_statement_that_means_nothing_is_refused_with_the_sentence_of_aws(text: str, message: str) -> None:
    assert refusal(lambda: statement(text)) == message


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) FROM t",
        "SELECT DISTINCT a FROM t",
        "SELECT a + 1 FROM t",
        "SELECT * FROM t, u",
        "SELECT * FROM t GROUP BY a",
        "SELECT * FROM t WHERE a LIKE 'x'",
        "SELECT * FROM t WHERE a + 1 = 2",
        "SELECT * FROM t WHERE upper(a) = 'X'",
        "SELECT * FROM t WHERE a",
        "UPDATE t SET a = b * 2 WHERE pk = 'a'",
        "UPDATE t SET a = set_add(b, <<1>>) WHERE pk = 'a'",
        "UPDATE t SET a = if_not_exists(a, 1) WHERE pk = 'a'",
        "INSERT INTO t VALUE {'a': b}",
        "INSERT INTO t VALUE 1",
        "INSERT INTO t VALUE {'a': <<>>}",
        "INSERT INTO t VALUE {'a': <<1, 'x'>>}",
        "INSERT INTO t VALUE {'a': <<1, 1.0>>}",
        "INSERT INTO t VALUE {'': 1}",
    ],
)
def test_what_dynamodb_does_not_have_is_refused(text: str) -> None:
    refusal(lambda: statement(text))


def test_nesting_and_operators_have_a_largest_number() -> None:
    """Nothing that fits into a statement is too deep for Python's stack."""
    depth = DEPTH_MAX - 1
    assert where("(" * depth + "n = 5" + ")" * depth)
    refusal(lambda: where("(" * 2000 + "n = 5" + ")" * 2000))
    refusal(lambda: value("[" * 4000))
    refusal(lambda: where("NOT " * 2000 + "n = 5"))
    refusal(lambda: updated("SET n = 1" + " + 1" * 2000))
    assert value("- " * 3000 + "1") == {"N": "1"}


@pytest.mark.parametrize("unit", ["/*", "'", '"', "''", "--", "<", "? ", "1e", "a.", "/**/", " \n"])
def test_every_place_of_a_statement_is_matched_once(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lexer that goes back would take quadratic time: each match begins behind the one before."""
    text, pattern, places = unit * (8_192 // len(unit)), tokens.TOKEN, list[int]()

    class Counting:
        def match(self, text: str, place: int) -> object:
            places.append(place)
            return pattern.match(text, place)

    monkeypatch.setattr(tokens, "TOKEN", Counting())
    with contextlib.suppress(ServiceError):
        tokens.tokens_of(text)

    assert places == sorted(set(places))
