"""Paths find what Jayway's dialect finds, and reference paths write what they read."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.languages.states.paths import (
    MalformedPath,
    NothingFound,
    UnwritablePath,
    parse_path,
    parse_reference,
    write,
)

STORE = {
    "store": {
        "book": [
            {"category": "reference", "author": "Rees", "title": "Sayings", "price": 8.95},
            {"category": "fiction", "author": "Waugh", "title": "Sword", "price": 12.99},
            {"category": "fiction", "author": "Melville", "title": "Moby", "isbn": "0-553", "price": 8.99},
        ],
        "bicycle": {"color": "red", "price": 19.95},
    },
    "expensive": 10,
    "it's": {"a b": 1},
    "nothing": None,
}

FOUND = [
    ("$", STORE),
    ("$.store.bicycle.color", "red"),
    ("$['store']['bicycle'][\"color\"]", "red"),
    ("$['it\\'s']['a b']", 1),
    ("$.nothing", None),
    ("$.store.book[0].author", "Rees"),
    ("$.store.book.[0].author", "Rees"),
    ("$.store.book[-1].author", "Melville"),
    ("$.store.book[*].price", [8.95, 12.99, 8.99]),
    ("$.store.book[0,2].title", ["Sayings", "Moby"]),
    ("$.store.book[:2].title", ["Sayings", "Sword"]),
    ("$.store.book[1:].title", ["Sword", "Moby"]),
    ("$.store.book[-2:].title", ["Sword", "Moby"]),
    ("$.store.*.color", ["red"]),
    ("$..isbn", ["0-553"]),
    ("$..nowhere", []),
    ("$..book[2].title", ["Moby"]),
    ("$.store.bicycle['color','price']", {"color": "red", "price": 19.95}),
    ("$.store.book[1:]['author','isbn']", [{"author": "Waugh"}, {"author": "Melville", "isbn": "0-553"}]),
    ("$..book[?(@.isbn)].title", ["Moby"]),
    ("$..book[?(!@.isbn)].title", ["Sayings", "Sword"]),
    ("$..book[?(@.price < 10)].title", ["Sayings", "Moby"]),
    ("$..book[?(@.price <= $.expensive)].title", ["Sayings", "Moby"]),
    ("$.store.book[?(@.category == 'fiction' && @.price > 9)].title", ["Sword"]),
    ("$.store.book[?(@.category == reference || @['price'] == 12.99)].title", ["Sayings", "Sword"]),
    ("$.store.book[?(@.author =~ /.*e{2}S/i)].title", ["Sayings"]),
    ("$.store.book[?(@.author in ['Rees', 'Waugh'])].title", ["Sayings", "Sword"]),
    ("$.store.book[?(@.author nin ['Rees', 'Waugh'])].title", ["Moby"]),
    ("$.store.book[?(@.title size 4)].title", ["Moby"]),
    ("$.store.book[?(@.title contains 'ay')].title", ["Sayings"]),
    ("$.store.book[?(@.isbn empty false)].title", ["Moby"]),
    ("$.store.book.length()", 3),
    ("$..book.length()", 1),
    ("$.store.book[*].price.min()", 8.95),
    ("$.store.book[*].price.sum()", 30.93),
    ("$.store.bicycle.keys()", ["color", "price"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), FOUND)
def test_path_finds_its_value_or_the_list_of_values(text: str, value: object) -> None:
    found = parse_path(text).find(STORE)

    assert found == (pytest.approx(value) if isinstance(value, float) else value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("$.nowhere", "No results for path: $['nowhere']"),
        ("$.nowhere.a", "Missing property in path $['nowhere']"),
        ("$.store.nowhere.a", "Missing property in path $['store']['nowhere']"),
        ("$.store.book[3]", "No results for path: $['store']['book'][3]"),
        ("$.expensive.length()", "length() takes an array, an object or a text"),
    ],
)
def test_definite_path_that_leads_nowhere_says_how_far_it_came(text: str, why: str) -> None:
    with pytest.raises(NothingFound) as raised:
        parse_path(text).find(STORE)

    assert str(raised.value) == why


@pytest.mark.parametrize(
    "text",
    ["", "store", "$.", "$..", "$.a b", "$[", "$[]", "$['a'", "$['a]", "$.a[?(@.b >)]", "$[?(@.b]", "$.a.nosuch()",
     "$[1:2:3]", "$[?(@.a =~ /(/)]", "$[?(1)]", "$[?(" + "!" * 50 + "@.a)]", "$." + "a" * 20_000],
)  # fmt: skip
def test_text_that_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(MalformedPath):
        parse_path(text)


@pytest.mark.parametrize(("text", "root"), [("$$.Execution.Id", "$$"), ("$order.id", "$order"), ("$ä_1[0]", "$ä_1")])
def test_path_begins_at_the_context_object_or_at_a_variable(text: str, root: str) -> None:
    path = parse_path(text)

    assert path.root == root
    assert path.is_definite


def test_path_that_multiplies_ends_with_an_error_and_not_with_memory() -> None:
    document: object = 1
    for _ in range(8):
        document = [document] * 10

    with pytest.raises(NothingFound, match="more than 100000"):
        parse_path("$..*..*..*").find(document)


@pytest.mark.parametrize(
    "text", ["$.a[*]", "$..a", "$.a[0:1]", "$.a[?(@.b)]", "$['a','b']", "$.a.length()", "$$.a", "$v.a", "$.a[-1]"]
)
def test_reference_path_names_one_place(text: str) -> None:
    with pytest.raises(MalformedPath):
        parse_reference(text)


@pytest.mark.parametrize(
    ("document", "text"), [({"a": 1}, "$.a.b"), ([1], "$.a"), ({"a": [1]}, "$.a[1]"), ("x", "$.a"), ({}, "$.a[0]")]
)
def test_place_that_cannot_be_made_is_refused(document: object, text: str) -> None:
    with pytest.raises(UnwritablePath):
        write(document, parse_reference(text), 1)


NAMES = st.sampled_from(["a", "b", "c d", "it's"])
DOCUMENTS = st.recursive(
    st.none() | st.integers(0, 3) | st.text("xy", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
PATHS = st.lists(NAMES | st.integers(0, 2), max_size=4).map(
    lambda steps: "$" + "".join(f"[{step}]" if isinstance(step, int) else f"[{step!r}]" for step in steps)
)


@settings(max_examples=200)
@given(DOCUMENTS, PATHS, DOCUMENTS)
def test_what_is_written_is_read_there_and_nothing_else_changes(document: object, text: str, value: object) -> None:
    path = parse_reference(text)
    before = copy.deepcopy(document)
    try:
        written = write(document, path, value)
    except UnwritablePath:
        return

    assert path.find(written) == value
    assert document == before
    assert write(written, path, value) == written
    try:
        old = path.find(document)
    except NothingFound:
        return
    assert write(written, path, old) == document


@settings(max_examples=100)
@given(DOCUMENTS)
def test_descent_finds_each_value_once_and_wildcards_what_is_inside(document: object) -> None:
    inside = parse_path("$.*").find({"x": document})
    below = parse_path("$..*").find(document)

    assert inside == [document]
    assert isinstance(below, list)
    assert len(below) == _count(document) - 1


def _count(value: object) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_count, value.values()))
    return 1 + sum(map(_count, value)) if isinstance(value, list) else 1
