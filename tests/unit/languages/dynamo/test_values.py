"""Attribute values: what is one, when two are equal, which comes first, how large they are."""

from __future__ import annotations

import base64
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.languages.dynamo import (
    AttributeValue,
    check_hash_key,
    check_item_size,
    check_nesting,
    check_range_key,
    check_updated_size,
    compare,
    dump_item,
    encode_key,
    encoded_item,
    equal,
    item_size,
    load_item,
    read_item,
    read_value,
)
from tests.unit.languages.dynamo.refused import refusal
from tests.unit.languages.dynamo.strategies import ITEMS, NUMBERS, VALUES

EMPTY = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
SEVERAL = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
INVALID = "One or more parameter values were invalid: "


def nested(levels: int) -> AttributeValue:
    value: AttributeValue = {"S": "leaf"}
    for _ in range(levels - 1):
        value = {"M": {"n": value}}
    return value


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({}, EMPTY),
        ({"a": ""}, EMPTY),
        ({"S": None}, EMPTY),
        ({"S": 1}, EMPTY),
        ({"SS": ["a", 1]}, EMPTY),
        ({"M": {"a": {}}}, EMPTY),
        ({"L": [{}]}, EMPTY),
        ("text", EMPTY),
        ({"S": "a", "N": "1"}, SEVERAL),
        ({"S": "a", "N": "b"}, "The parameter cannot be converted to a numeric value: b"),
        ({"NULL": False}, INVALID + "Null attribute value types must have the value of true"),
        ({"SS": []}, INVALID + "An string set  may not be empty"),
        ({"NS": []}, INVALID + "An number set  may not be empty"),
        ({"BS": []}, INVALID + "Binary sets should not be empty"),
        ({"SS": ["a", "a"]}, INVALID + "Input collection [a, a] contains duplicates."),
        ({"NS": ["1", "1.0"]}, "Input collection contains duplicates"),
        ({"BS": [b"b", b"b"]}, INVALID + "Input collection [Yg==, Yg==]of type BS contains duplicates."),
        ({"NS": ["1", "b"]}, "The parameter cannot be converted to a numeric value: b"),
    ],
)
def test_bad_value_is_refused_with_the_text_of_aws(raw: object, message: str) -> None:
    """An attribute value has exactly one type, and sets are neither empty nor hold a member twice."""
    assert refusal(lambda: read_value(raw)) == message


@given(VALUES)
def test_valid_value_is_read_as_it_is(value: AttributeValue) -> None:
    """Reading a valid, canonical value changes nothing."""
    assert read_value(value) == value


def test_attribute_without_a_name_is_refused() -> None:
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html"""
    assert refusal(lambda: read_item({"": {"S": "a"}})) == (
        INVALID + "The name of an attribute must have at least one character"
    )


def test_numbers_are_canonical_at_every_depth() -> None:
    """Numbers have AWS's spelling wherever they are in an item."""
    item = read_item({"a": {"L": [{"N": "1.0"}, {"M": {"b": {"NS": ["2E1"]}}}]}})

    assert item == {"a": {"L": [{"N": "1"}, {"M": {"b": {"NS": ["20"]}}}]}}


def test_empty_text_and_binary_are_values() -> None:
    """Empty strings and binaries are valid where they are no keys, also in sets."""
    assert read_value({"SS": [""]}) == {"SS": [""]}
    assert read_value({"L": [{"S": ""}, {"B": b""}]}) == {"L": [{"S": ""}, {"B": b""}]}


def test_values_nest_to_level_32() -> None:
    """An attribute is on level 1, and 32 levels are the limit."""
    message = (
        "Nesting Levels have exceeded supported limits: "
        "Attributes in the item have nested levels beyond supported limit"
    )

    assert read_value(nested(32)) == nested(32)
    check_nesting({"a": nested(32)})
    assert refusal(lambda: read_value(nested(33))) == message
    assert refusal(lambda: check_nesting({"a": nested(33)})) == message


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"N": "1"}, {"N": "1.0"}),
        ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}),
        ({"NS": ["1", "2"]}, {"NS": ["2.0", "1"]}),
        ({"BS": [b"a", b"b"]}, {"BS": [b"b", b"a"]}),
        ({"L": [{"SS": ["a", "b"]}]}, {"L": [{"SS": ["b", "a"]}]}),
        ({"M": {"a": {"N": "1"}, "b": {"S": "x"}}}, {"M": {"b": {"S": "x"}, "a": {"N": "1.0"}}}),
        ({"BOOL": True}, {"BOOL": True}),
        ({"NULL": True}, {"NULL": True}),
    ],
)
def test_equal_values(left: AttributeValue, right: AttributeValue) -> None:
    """Numbers are equal by value, sets in any order, documents in depth."""
    assert equal(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"N": "1"}, {"S": "1"}),
        ({"N": "1"}, {"BOOL": True}),
        ({"S": "a"}, {"S": "A"}),
        ({"S": "a"}, {"SS": ["a"]}),
        ({"SS": ["a"]}, {"SS": ["a", "b"]}),
        ({"L": [{"N": "1"}, {"N": "2"}]}, {"L": [{"N": "2"}, {"N": "1"}]}),
        ({"L": [{"N": "1"}]}, {"L": [{"N": "1"}, {"N": "1"}]}),
        ({"M": {"a": {"N": "1"}}}, {"M": {"b": {"N": "1"}}}),
        ({"L": []}, {"M": {}}),
        ({"BOOL": True}, {"BOOL": False}),
    ],
)
def test_unequal_values(left: AttributeValue, right: AttributeValue) -> None:
    """Values of two types are never equal, and lists are ordered."""
    assert not equal(left, right)


@pytest.mark.parametrize(
    ("less", "greater"),
    [
        ({"N": "9"}, {"N": "10"}),
        ({"N": "-10"}, {"N": "-9"}),
        ({"S": "a"}, {"S": "b"}),
        ({"S": "Z"}, {"S": "a"}),
        ({"S": "\uffff"}, {"S": "\U0001f600"}),
        ({"B": b"\x7f"}, {"B": b"\x80"}),
        ({"B": b""}, {"B": b"\x00"}),
    ],
)
def test_ordered_values(less: AttributeValue, greater: AttributeValue) -> None:
    """Numbers are ordered by value, strings by UTF-8 bytes, binary by unsigned bytes."""
    assert (compare(less, greater) or 0) < 0
    assert (compare(greater, less) or 0) > 0
    assert compare(less, less) == 0


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"N": "1"}, {"S": "1"}),
        ({"BOOL": True}, {"BOOL": True}),
        ({"L": []}, {"L": []}),
        ({"SS": ["a"]}, {"SS": ["a"]}),
    ],
)
def test_other_values_have_no_order(left: AttributeValue, right: AttributeValue) -> None:
    """Two types have no order between them, and documents and sets have none at all."""
    assert compare(left, right) is None


@given(ITEMS)
def test_item_survives_its_compact_form(item: dict[str, AttributeValue]) -> None:
    """What was dumped is loaded again, binary and maps with an attribute named B included."""
    assert load_item(dump_item(item)) == item


@given(ITEMS)
def test_stored_form_is_that_of_the_wire(item: dict[str, AttributeValue]) -> None:
    """An answer contains the stored bytes as they are, so they are JSON with binary in base64."""
    on_the_wire = json.loads(dump_item(item))

    assert on_the_wire == json.loads(json.dumps(item, default=lambda data: base64.b64encode(data).decode()))
    assert encoded_item(dump_item(item)) == item


@pytest.mark.parametrize(
    "data",
    [
        b'{"name":{"S":"J\\u00fcrgen \\ud83d\\ude00"}}', '{"name":{"S":"Jürgen \U0001f600"}}'.encode(),
        b'{"name":{"S":"J\\u00fcrgen \\ud83d\\ude00"} }',
    ],
)  # fmt: skip
def test_items_that_were_stored_in_ascii_are_still_read(data: bytes) -> None:
    """So earlier versions wrote them."""
    assert load_item(data) == {"name": {"S": "Jürgen \U0001f600"}}


def test_text_with_a_lone_surrogate_survives_its_compact_form() -> None:
    """Such a text cannot be written in UTF-8; JSON has an escape for it."""
    item: dict[str, AttributeValue] = {"name": {"S": "\ud800"}, "photo": {"B": b"x"}, "plain": {"S": "a"}}

    assert load_item(dump_item(item)) == item
    assert load_item(dump_item({"name": {"S": "\ud800"}})) == {"name": {"S": "\ud800"}}


KEY_PAIRS = st.one_of(
    st.tuples(NUMBERS, NUMBERS).map(lambda pair: ({"N": pair[0]}, {"N": pair[1]})),
    st.tuples(NUMBERS, st.integers(0, 10**9)).map(lambda pair: ({"N": pair[0]}, {"N": str(pair[1])})),
    st.tuples(st.text(), st.text()).map(lambda pair: ({"S": pair[0]}, {"S": pair[1]})),
    st.tuples(st.binary(), st.binary()).map(lambda pair: ({"B": pair[0]}, {"B": pair[1]})),
    st.tuples(st.integers(-999, 999), st.integers(-999, 999), st.integers(-3, 3)).map(
        lambda three: ({"N": str(three[0])}, {"N": f"{Decimal(three[1]).scaleb(three[2]):f}"})
    ),
)


@given(KEY_PAIRS)
def test_encoded_keys_compare_as_the_keys_do(pair: tuple[AttributeValue, AttributeValue]) -> None:
    """The byte order of encoded keys is DynamoDB's order of their values."""
    left, right = map(read_value, pair)
    first, second = encode_key(left), encode_key(right)

    assert (first > second) - (first < second) == compare(left, right)


def test_encoded_numbers_have_their_documented_form() -> None:
    """Stored keys outlive a release, so their form is fixed."""
    assert [encode_key({"N": n}).hex() for n in ("0", "1", "-1")] == ["01", "02820b", "007df4ff"]


def test_key_of_another_type_is_refused() -> None:
    """Keys are strings, numbers or binary."""
    message = "The provided key element does not match the schema"

    assert refusal(lambda: encode_key({"BOOL": True})) == message


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": "é"}, 2),
        ({"N": "0"}, 1),
        ({"N": "1"}, 2),
        ({"N": "100"}, 2),
        ({"N": "123"}, 3),
        ({"N": "1" * 38}, 20),
        ({"B": b"abc"}, 3),
        ({"BOOL": True}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["a", "bc"]}, 3),
        ({"NS": ["1", "2"]}, 4),
        ({"BS": [b"a"]}, 1),
        ({"L": []}, 3),
        ({"M": {}}, 3),
        ({"L": [{"S": "ab"}, {"S": ""}]}, 7),
        ({"M": {"key": {"S": "ab"}}}, 9),
    ],
)
def test_size_of_a_value(value: AttributeValue, size: int) -> None:
    """Sizes follow AWS's published rules; the name counts its UTF-8 bytes."""
    assert item_size({"ü": value}) == size + 2


def test_item_of_400_kb_is_the_largest() -> None:
    """An item has at most 400 KB, and the text differs between a request and an update."""
    largest: dict[str, AttributeValue] = {"a": {"S": "x" * (400 * 1024 - 1)}}
    too_large: dict[str, AttributeValue] = {"a": {"S": "x" * 400 * 1024}}

    check_item_size(largest)
    check_updated_size(largest)
    assert refusal(lambda: check_item_size(too_large)) == "Item size has exceeded the maximum allowed size"
    assert refusal(lambda: check_updated_size(too_large)) == "Item size to update has exceeded the maximum allowed size"


@pytest.mark.parametrize("check", [check_hash_key, check_range_key])
@pytest.mark.parametrize(("value", "kind"), [({"S": ""}, "string"), ({"B": b""}, "binary")])
def test_empty_key_is_refused(check: object, value: AttributeValue, kind: str) -> None:
    """A key attribute is not empty."""
    assert callable(check)
    assert refusal(lambda: check("pk", value)) == (
        INVALID + f"The AttributeValue for a key attribute cannot contain an empty {kind} value. Key: pk"
    )


def test_keys_have_a_largest_size() -> None:
    """A partition key has at most 2048 bytes, a sort key 1024."""
    check_hash_key("pk", {"S": "x" * 2048})
    check_range_key("sk", {"S": "x" * 1024})
    assert refusal(lambda: check_hash_key("pk", {"S": "x" * 2049})) == (
        INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes"
    )
    assert refusal(lambda: check_range_key("sk", {"B": b"x" * 1025})) == (
        INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
    )
