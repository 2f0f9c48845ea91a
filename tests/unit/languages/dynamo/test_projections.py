"""Projection expressions: the grammar, its errors, and what is left of an item."""

from __future__ import annotations

import pytest
from hypothesis import given

from redrive.languages.dynamo import (
    AttributeValue,
    Path,
    Placeholders,
    Projection,
    lookup,
    parse_projection,
    project,
)
from tests.unit.languages.dynamo.printing import Printer
from tests.unit.languages.dynamo.refused import refusal
from tests.unit.languages.dynamo.strategies import ITEMS, PATHS

ITEM: dict[str, AttributeValue] = {
    "a": {"S": "A"},
    "b": {"M": {"x": {"S": "X"}, "y": {"M": {"z": {"N": "1"}}}, "with.dot": {"N": "2"}}},
    "c": {"L": [{"S": "0"}, {"S": "1"}, {"M": {"k": {"S": "K"}, "l": {"S": "L"}}}]},
    "name": {"S": "N"},
}
NAMES = {"#n": "name", "#dot": "with.dot", "#0": "[0]"}


def refused(text: str) -> str:
    message = refusal(lambda: parse_projection(text, Placeholders(NAMES)))
    assert message.startswith("Invalid ProjectionExpression: ")
    return message.removeprefix("Invalid ProjectionExpression: ")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a", {"a": {"S": "A"}}),
        ("#n, a", {"a": {"S": "A"}, "name": {"S": "N"}}),
        ("gone", {}),
        ("b.x", {"b": {"M": {"x": {"S": "X"}}}}),
        ("b.#dot", {"b": {"M": {"with.dot": {"N": "2"}}}}),
        ("b.y.z, b.x", {"b": {"M": {"x": {"S": "X"}, "y": {"M": {"z": {"N": "1"}}}}}}),
        ("b.gone, a", {"a": {"S": "A"}}),
        ("c[1]", {"c": {"L": [{"S": "1"}]}}),
        ("c[2].l, c[0]", {"c": {"L": [{"S": "0"}, {"M": {"l": {"S": "L"}}}]}}),
        ("c[7]", {}),
        ("c[0].x", {}),
        ("a.x", {}),
        ("a[0]", {}),
        ("c.#0", {}),
        ("b[0]", {}),
        (" a ,\n b . x ", {"a": {"S": "A"}, "b": {"M": {"x": {"S": "X"}}}}),
    ],
)
def test_projection_leaves_the_named_parts(text: str, left: dict[str, AttributeValue]) -> None:
    """Maps keep the named members, lists the chosen elements; what is not there is left out with all around it."""
    assert project(parse_projection(text, Placeholders(NAMES)), ITEM) == left


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("whatever(stuff)", "(", "whatever(stuff"),
        (":a", ":a", ":a"),
        ("a,", "<EOF>", ","),
        ("a,,b", ",", ",,b"),
        ("a..b", ".", "..b"),
        ("a[b]", "b", "[b]"),
        ("a[0", "<EOF>", "0"),
        ("(a)", "(", "(a"),
        ("a-b", "-", "a-b"),
        ("a b", "b", "a b"),
    ],
)
def test_syntax_error(text: str, token: str, near: str) -> None:
    """A projection is document paths and commas."""
    assert refused(text) == f'Syntax error; token: "{token}", near: "{near}"'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.abORt", "Attribute name is a reserved keyword; reserved keyword: abORt"),
        ("#x, name", "Attribute name is a reserved keyword; reserved keyword: name"),
        (
            "a, b, a, #x",
            "An expression attribute name used in the document path is not defined; attribute name: #x",
        ),
        ("", "The expression can not be empty;"),
    ],
)
def test_bad_projection_is_refused(text: str, message: str) -> None:
    """Reserved words, undefined names and empty texts have their own errors."""
    assert refused(text) == message


@pytest.mark.parametrize(
    ("text", "problem", "one", "two"),
    [
        ("b[1], b.a, a.b, a", "overlap", "[a, b]", "[a]"),
        ("a, a[1]", "overlap", "[a]", "[a, [1]]"),
        ("a, b, a", "overlap", "[a]", "[a]"),
        ("a.b, a[1], b", "conflict", "[a, b]", "[a, [1]]"),
        ("a.b[1], a[1]", "conflict", "[a, b, [1]]", "[a, [1]]"),
        ("a[3].b, a.#0.b", "conflict", "[a, [3], b]", "[a, [0], b]"),
    ],
)
def test_entangled_paths_are_refused(text: str, problem: str, one: str, two: str) -> None:
    """One path may not contain another, nor may one place be a map and a list; overlaps are reported first."""
    assert refused(text) == (
        f"Two document paths {problem} with each other; "
        f"must remove or rewrite one of these paths; path one: {one}, path two: {two}"
    )


def test_paths_beside_each_other_are_allowed() -> None:
    """Siblings in a map or list do not overlap, nor do names that only begin alike."""
    projection = parse_projection("a.b, a.c[0], a.c[1], ab, a.bc", Placeholders())

    assert [str(path) for path in projection.paths] == ["[a, b]", "[a, c, [0]]", "[a, c, [1]]", "[ab]", "[a, bc]"]


@given(PATHS)
def test_printed_path_is_read_as_the_same_path(path: Path) -> None:
    """Reading is the inverse of writing."""
    printer = Printer()
    text = printer.path(path)

    assert parse_projection(text, printer.placeholders()) == Projection((path,))


@given(PATHS, ITEMS)
def test_projection_keeps_the_value_at_its_path(path: Path, item: dict[str, AttributeValue]) -> None:
    """One path leaves its value, with nothing beside it, or nothing at all."""
    left = project(Projection((path,)), item)
    in_place = Path(tuple(0 if isinstance(element, int) else element for element in path.elements))

    assert lookup(left, in_place) == lookup(item, path)
    assert bool(left) == (lookup(item, path) is not None)
