"""Update expressions: the grammar, its errors, and what becomes of an item."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.errors import ServiceError
from redrive.languages.dynamo import (
    AttributeValue,
    Path,
    Placeholders,
    Update,
    apply_update,
    dump_item,
    parse_update,
    project_paths,
    read_item,
    touched_paths,
)
from tests.unit.languages.dynamo.model import Refused, model_update
from tests.unit.languages.dynamo.printing import Printer
from tests.unit.languages.dynamo.refused import refusal
from tests.unit.languages.dynamo.strategies import ITEMS, NAMES, actions

DEFINED = {"#a": "a", "#b": "b", "#c": "c", "#three": "[3]", "#1": "1"}
GIVEN: dict[str, object] = {
    ":s": {"S": "a"},
    ":n": {"N": "1"},
    ":b": {"B": b"a"},
    ":bool": {"BOOL": False},
    ":null": {"NULL": True},
    ":ss": {"SS": ["a"]},
    ":ns": {"NS": ["1"]},
    ":bs": {"BS": [b"a"]},
    ":m": {"M": {}},
    ":l": {"L": [{"S": "new"}]},
}
ITEM: dict[str, AttributeValue] = {
    "s": {"S": "text"},
    "n": {"N": "10"},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2"]},
    "l": {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}]},
    "m": {"M": {"1": {"S": "one"}, "deep": {"L": [{"M": {"x": {"N": "5"}}}]}}},
}


def parse(text: str) -> Update:
    return parse_update(text, Placeholders(DEFINED, GIVEN))


def updated(text: str, item: Mapping[str, AttributeValue] = ITEM) -> dict[str, AttributeValue]:
    return apply_update(parse(text), item)


def refused(text: str) -> str:
    message = refusal(lambda: parse(text))
    assert message.startswith("Invalid UpdateExpression: ")
    return message.removeprefix("Invalid UpdateExpression: ")


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("SET x = :s", {"x": {"S": "a"}}),
        ("set s = :n", {"s": {"N": "1"}}),
        ("SET x = s", {"x": {"S": "text"}}),
        ("SET s = n, n = s", {"s": {"N": "10"}, "n": {"S": "text"}}),
        ("SET n = n + :n", {"n": {"N": "11"}}),
        ("SET n = :n - n", {"n": {"N": "-9"}}),
        ("SET n = (n + :n)", {"n": {"N": "11"}}),
        ("SET n = (n) + (:n)", {"n": {"N": "11"}}),
        ("SET n = l[2] + m.deep[0].x", {"n": {"N": "7"}}),
        ("SET n = if_not_exists(n, :n) + :n", {"n": {"N": "11"}}),
        ("SET x = if_not_exists(x, :n) + :n", {"x": {"N": "2"}}),
        ("SET x = if_not_exists(x, if_not_exists(y, s))", {"x": {"S": "text"}}),
        ("SET n = if_not_exists(n, gone)", {}),
        ("SET x = list_append(:l, :l)", {"x": {"L": [{"S": "new"}, {"S": "new"}]}}),
        ("SET x = list_append(if_not_exists(x, :l), :l)", {"x": {"L": [{"S": "new"}, {"S": "new"}]}}),
        ("SET l[1] = :s", {"l": {"L": [{"N": "0"}, {"S": "a"}, {"N": "2"}]}}),
        ("SET l[9] = :s, l[7] = :n", {"l": {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}, {"N": "1"}, {"S": "a"}]}}),
        ("SET m.deep[0].x = :s", {"m": {"M": {"1": {"S": "one"}, "deep": {"L": [{"M": {"x": {"S": "a"}}}]}}}}),
        ("SET m.#1 = :s REMOVE m.deep", {"m": {"M": {"1": {"S": "a"}}}}),
        ("REMOVE m.gone, l[9], x", {}),
        ("REMOVE l[0], l[2]", {"l": {"L": [{"N": "1"}]}}),
        ("REMOVE l[0] SET l[1] = l[0]", {"l": {"L": [{"N": "0"}, {"N": "2"}]}}),
        ("REMOVE l[0], l[1], l[2]", {"l": {"L": []}}),
        ("ADD n :n", {"n": {"N": "11"}}),
        ("ADD x :n, ss :ss", {"x": {"N": "1"}}),
        ("ADD ns :ns, x :bs", {"x": {"BS": [b"a"]}}),
        ("ADD l[0] :n", {"l": {"L": [{"N": "1"}, {"N": "1"}, {"N": "2"}]}}),
        ("ADD l[5] :n", {"l": {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}, {"N": "1"}]}}),
        ("DELETE ss :ss", {"ss": {"SS": ["b"]}}),
        ("DELETE ns :ns", {"ns": {"NS": ["2"]}}),
        ("DELETE x :ss", {}),
        ("DELETE m.gone :ss", {}),
    ],
)
def test_update_changes_the_item(text: str, changes: dict[str, AttributeValue]) -> None:
    """Every right-hand side and every index sees the item as it was; an index beyond the end appends."""
    assert updated(text) == ITEM | changes


def test_removed_attribute_is_gone() -> None:
    """REMOVE deletes an attribute, and DELETE of the last member of a set deletes the set."""
    assert updated("REMOVE s, n DELETE ss :ss", {"s": {"S": ""}, "n": {"N": "1"}, "ss": {"SS": ["a"]}}) == {}


def test_add_unites_sets() -> None:
    """ADD puts the members that are not there yet into a set."""
    assert updated("ADD x :ss, y :ns, z :bs", {"x": {"SS": ["b"]}, "y": {"NS": ["2"]}, "z": {"BS": [b"b"]}}) == {
        "x": {"SS": ["b", "a"]},
        "y": {"NS": ["2", "1"]},
        "z": {"BS": [b"b", b"a"]},
    }


MISMATCH = "An operand in the update expression has an incorrect data type"
MISSING = "The provided expression refers to an attribute that does not exist in the item"
BAD_PATH = "The document path provided in the update expression is invalid for update"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("DELETE ns :ss", MISMATCH),
        ("DELETE n :ns", MISMATCH),
        ("ADD ss :ns", MISMATCH),
        ("ADD ns :n", MISMATCH),
        ("ADD s :n", MISMATCH),
        ("SET x = s + :n", MISMATCH),
        ("SET x = :n - ss", MISMATCH),
        ("SET x = if_not_exists(s, :n) + :n", MISMATCH),
        ("SET x = list_append(ns, if_not_exists(y, :l))", MISMATCH),
        ("SET x = gone", MISSING),
        ("SET x = l[3]", MISSING),
        ("SET x = gone + :n", MISSING),
        ("SET x = list_append(l, gone)", MISSING),
        ("SET x = if_not_exists(y, gone)", MISSING),
        ("SET s.a = :s", BAD_PATH),
        ("SET s[1] = :s", BAD_PATH),
        ("SET y.a = :s", BAD_PATH),
        ("SET y[1] = :s", BAD_PATH),
        ("SET m[1] = :s", BAD_PATH),
        ("SET l.#1 = :s", BAD_PATH),
        ("SET m.gone.x = :s", BAD_PATH),
        ("SET l[5].x = :s", BAD_PATH),
        ("REMOVE s.a", BAD_PATH),
        ("REMOVE y.a", BAD_PATH),
        ("REMOVE m[1]", BAD_PATH),
        ("REMOVE l.#1", BAD_PATH),
        ("DELETE y.a :ss", BAD_PATH),
        ("DELETE m[1] :ss", BAD_PATH),
        ("ADD s.a :n", BAD_PATH),
        ("ADD l.#1 :ss", BAD_PATH),
    ],
)
def test_update_that_does_not_fit_the_item_is_refused(text: str, message: str) -> None:
    """Wrong types, missing attributes and paths through what is no map or list are errors; nothing is changed."""
    assert refusal(lambda: updated(text)) == message


def test_result_that_nests_too_deeply_is_refused() -> None:
    """Neither the item nor the value is too deep, but what the update would make of them is."""
    value: AttributeValue = {"S": "leaf"}
    for _ in range(31):
        value = {"M": {"n": value}}
    update = parse_update("SET m.x = :v", Placeholders(None, {":v": value}))

    assert refusal(lambda: apply_update(update, ITEM)).startswith("Nesting Levels have exceeded supported limits")


def test_sum_out_of_range_is_refused() -> None:
    """A sum that DynamoDB cannot hold is an overflow."""
    update = parse_update("ADD n :n", Placeholders(None, {":n": {"N": "9e125"}}))

    assert refusal(lambda: apply_update(update, {"n": {"N": "9" + "0" * 125}})).startswith("Number overflow.")


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("whatever", "whatever", "whatever"),
        ("SET", "<EOF>", "SET"),
        ("set a", "<EOF>", "a"),
        ("add a", "<EOF>", "a"),
        ("set a=set", "set", "=set"),
        ("remove a = b", "=", "a = b"),
        ("add a = b", "=", "a = b"),
        ("delete a b", "b", "a b"),
        ("remove a b", "b", "a b"),
        ("set a x b", "x", "a x b"),
        ("set :s = b", ":s", "set :s ="),
        ("remove :s", ":s", "remove :s"),
        ("set a = b / c", "/", "b / c"),
        ("set a = b + c + d", "+", "c + d"),
        ('set a[1] = "eight"', '"', '= "eight'),
        ("set a[1] = 1", "1", "= 1"),
        ("set a = f(a, 100)", "100", ", 100)"),
        ("set f(a, b) = a", "(", "f(a"),
        ("set (a = (b + c))", "(", "set (a"),
        ("set a = (b.c).d + e", ".", ").d"),
        ("set a = (b.c)[0] + e", "[", ")[0"),
        ("set a = b,", "<EOF>", ","),
        ("SET _123 = :s", "_", "SET _123"),
        ("a-b", "a", "a-"),
    ],
)
def test_syntax_error(text: str, token: str, near: str) -> None:
    """A syntax error names the token that cannot stand there, and the text from the one before to the one after."""
    assert refused(text) == f'Syntax error; token: "{token}", near: "{near}"'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The expression can not be empty;"),
        ("set a = ((b))", "The expression has redundant parentheses;"),
        (" set #x = :x set abOrt = b ", "Attribute name is a reserved keyword; reserved keyword: abOrt"),
        (" remove Absolute ", "Attribute name is a reserved keyword; reserved keyword: Absolute"),
        ("set #x = if_not_exist(:x) set c = d", "Invalid function name; function: if_not_exist"),
        ("set a = size(b)", "The function is not allowed in an update expression; function: size"),
        (
            "set a = list_append(list_append(b, c), d)",
            "The function is not allowed to be used this way in an expression; function: list_append",
        ),
        ("set a = #x set c = :x", 'The "SET" section can only be used once in an update expression;'),
        ("remove #x set a = b remove e", 'The "REMOVE" section can only be used once in an update expression;'),
        ("add #x :x set a = b add e :x", 'The "ADD" section can only be used once in an update expression;'),
        ("delete a :x delete b :x", 'The "DELETE" section can only be used once in an update expression;'),
        (
            "SET #x = if_not_exists(:x)",
            "An expression attribute name used in the document path is not defined; attribute name: #x",
        ),
        (
            "SET #a = if_not_exists(:x)",
            "An expression attribute value used in expression is not defined; attribute value: :x",
        ),
    ],
)
def test_bad_update_is_refused(text: str, message: str) -> None:
    """Each kind of mistake has its own text, and they are looked for in AWS's order."""
    assert refused(text) == message


@pytest.mark.parametrize(
    ("text", "problem", "one", "two"),
    [
        ("set d[1] = a, d.b = a, c[1].a = a, #c = if_not_exists(a)", "overlap", "[c, [1], a]", "[c]"),
        ("set c.b.#c = a, c = a", "overlap", "[c, b, c]", "[c]"),
        ("set a = b remove a", "overlap", "[a]", "[a]"),
        ("remove c, #c.a", "overlap", "[c]", "[c, a]"),
        ("set #c[3].#three = a, #c.#three[3] = if_not_exists(a)", "conflict", "[c, [3], [3]]", "[c, [3], [3]]"),
        ("remove a.#c set a[1] = d", "conflict", "[a, c]", "[a, [1]]"),
    ],
)
def test_entangled_paths_are_refused(text: str, problem: str, one: str, two: str) -> None:
    """An update writes every place once, and knows whether it is in a map or a list."""
    assert refused(text) == (
        f"Two document paths {problem} with each other; "
        f"must remove or rewrite one of these paths; path one: {one}, path two: {two}"
    )


@pytest.mark.parametrize(
    ("text", "operator", "name"),
    [
        ("set b = list_append(:s, a), c = if_not_exists(a) add a.b :s", "ADD", "STRING"),
        ("add a :b", "ADD", "BINARY"),
        ("add a :bool", "ADD", "BOOLEAN"),
        ("add a :null", "ADD", "NULL"),
        ("add a :m", "ADD", "MAP"),
        ("add a :l", "ADD", "LIST"),
        ("delete a :s", "DELETE", "STRING"),
        ("delete a :n", "DELETE", "NUMBER"),
    ],
)
def test_add_and_delete_take_numbers_and_sets(text: str, operator: str, name: str) -> None:
    """ADD takes a number or a set, DELETE a set."""
    assert refused(text) == (
        f"Incorrect operand type for operator or function; operator: {operator}, operand type: {name}"
    )


@pytest.mark.parametrize(
    ("text", "operator", "name"),
    [
        ("set a = list_append(:s, a)", "list_append", "S"),
        ("set a = list_append(a, :n)", "list_append", "N"),
        ("set a = list_append(a, :m)", "list_append", "M"),
        ("set a = a + :s", "+", "S"),
        ("set a = :b + a", "+", "B"),
        ("set a = a - :ns", "-", "NS"),
        ("set a = a - list_append(b, c)", "-", "L"),
    ],
)
def test_operand_of_a_wrong_type_is_refused(text: str, operator: str, name: str) -> None:
    """Arithmetic takes numbers, list_append takes lists."""
    assert refused(text) == (
        f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {name}"
    )


def test_functions_of_updates_take_two_operands() -> None:
    """if_not_exists begins with a document path; both functions take two operands."""
    count = "Incorrect number of operands for operator or function; operator or function: "
    path = "Operator or function requires a document path; operator or function: if_not_exists"

    assert refused("set a = if_not_exists(c)") == count + "if_not_exists, number of operands: 1"
    assert refused("set a = list_append(c, d, e)") == count + "list_append, number of operands: 3"
    assert refused("set a = if_not_exists(:s, c)") == path
    assert refused("set a = if_not_exists(if_not_exists(a, b), c)") == path


def test_touched_paths_project_what_the_update_wrote() -> None:
    """UPDATED_OLD and UPDATED_NEW return the written paths, before and after."""
    update = parse("SET m.deep[0].x = :s REMOVE s ADD n :n")

    paths = touched_paths(update)

    assert [str(path) for path in paths] == ["[m, deep, [0], x]", "[s]", "[n]"]
    assert project_paths(paths, ITEM) == {
        "s": {"S": "text"},
        "n": {"N": "10"},
        "m": {"M": {"deep": {"L": [{"M": {"x": {"N": "5"}}}]}}},
    }
    assert project_paths(paths, apply_update(update, ITEM)) == {
        "n": {"N": "11"},
        "m": {"M": {"deep": {"L": [{"M": {"x": {"S": "a"}}}]}}},
    }


PLACES = st.builds(
    lambda name, rest: Path((name, *rest)),
    st.sampled_from(NAMES),
    st.lists(st.sampled_from([*NAMES, 0, 1, 5]), max_size=2),
)
ACTIONS = st.lists(actions(PLACES), min_size=1, max_size=4)


def by_section(found: list[object]) -> list[object]:
    kinds = list(dict.fromkeys(type(action) for action in found))
    return [action for kind in kinds for action in found if type(action) is kind]


def parsed(found: list[object]) -> Update | None:
    """The update with these actions, in the order of their sections; None if their paths are entangled."""
    printer = Printer()
    text = printer.update(found)
    try:
        return parse_update(text, printer.placeholders())
    except ServiceError as error:
        if error.message.startswith("Invalid UpdateExpression: Two document paths"):
            return None
        raise


@given(ACTIONS)
def test_printed_update_is_read_as_the_same_update(found: list[object]) -> None:
    """Reading is the inverse of writing."""
    ordered = by_section(found)
    update = parsed(ordered)

    assert update is None or list(update.actions) == ordered


@given(ACTIONS, ITEMS)
def test_update_agrees_with_a_simple_model(found: list[object], item: dict[str, AttributeValue]) -> None:
    """Applying an update gives what a model gives that changes a copy step by step, and leaves the item alone."""
    update = parsed(by_section(found))
    if update is None:
        return
    before = copy.deepcopy(item)

    try:
        wanted: object = model_update(update, item)
    except Refused:
        wanted = None
    try:
        result: object = apply_update(update, item)
        assert read_item(apply_update(update, item)) == result
    except ServiceError:
        result = None

    assert result == wanted
    assert dump_item(item) == dump_item(before)
