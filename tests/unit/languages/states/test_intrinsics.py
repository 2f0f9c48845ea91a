"""Intrinsic functions compute what AWS's page shows, and refuse what they cannot take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.languages.states.errors import INTRINSIC_FAILURE, RUNTIME, StatesError
from redrive.languages.states.intrinsics import MalformedCall, parse_call
from tests.unit.languages.states.worlds import bindings

DATA = {
    "name": "Foo",
    "list": [1, 2, 3, 4, 5, 6, 7, 8, 9],
    "one": {"a": {"x": 1}, "c": 3},
    "two": {"a": {"y": 2}},
    "n": 111.4,
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("States.Format('Hello, my name is {}.', $.name)", "Hello, my name is Foo."),
        ("States.Format('{} {} {} {}', 1, null, true, $.one)", '1 null true {"a":{"x":1},"c":3}'),
        (r"States.Format('\{\} \' \\ {}', 'x')", r"{} ' \ x"),
        (r"States.Array('it\'s', 2.5, null, false, $.name)", ["it's", 2.5, None, False, "Foo"]),
        ("States.Array()", []),
        ("States.ArrayPartition($.list, 4)", [[1, 2, 3, 4], [5, 6, 7, 8], [9]]),
        ("States.ArrayPartition($.list, 3.6)", [[1, 2, 3, 4], [5, 6, 7, 8], [9]]),
        ("States.ArrayContains($.list, 5)", True),
        ("States.ArrayContains($.list, '5')", False),
        ("States.ArrayContains(States.Array(1, 'a'), true)", False),
        ("States.ArrayRange(1, 9, 2)", [1, 3, 5, 7, 9]),
        ("States.ArrayRange(3, 1, -1)", [3, 2, 1]),
        ("States.ArrayRange(3, 1, 1)", []),
        ("States.ArrayGetItem($.list, 5)", 6),
        ("States.ArrayLength($.list)", 9),
        ("States.ArrayUnique(States.Array(1, 2, 1.0, '1', true))", [1, 2, "1", True]),
        ("States.Base64Encode('Data to encode')", "RGF0YSB0byBlbmNvZGU="),
        ("States.Base64Decode('RGVjb2RlZCBkYXRh')", "Decoded data"),
        ("States.Hash('input data', 'SHA-1')", "aaff4a450a104cd177d28d18d74485e8cae074b7"),
        ("States.Hash('a', 'MD5')", "0cc175b9c0f1b6a831c399e269772661"),
        ("States.JsonMerge($.one, $.two, false)", {"a": {"y": 2}, "c": 3}),
        ("States.StringToJson('{\"a\": [1, null]}')", {"a": [1, None]}),
        ("States.JsonToString($.one)", '{"a":{"x":1},"c":3}'),
        ("States.MathAdd($.n, -1)", 110),
        ("States.StringSplit('This.is+a,test=string', '.+,=')", ["This", "is", "a", "test", "string"]),
        ("States.StringSplit(',,1,,2', ',')", ["1", "2"]),
        ("States.ArrayLength(States.StringSplit(States.Format('{}-b', $.name), '-'))", 2),
    ],
)
def test_function_computes_what_its_page_shows(text: str, value: object) -> None:
    assert parse_call(text).value(DATA, bindings()) == value


@pytest.mark.parametrize(
    "text",
    [
        "States.Format('{}')",
        "States.Format('{} {', 1)",
        "States.Format($.list)",
        "States.StringToJson('{')",
        "States.ArrayPartition($.list, 0)",
        "States.ArrayPartition($.name, 1)",
        "States.ArrayRange(1, 9, 0)",
        "States.ArrayRange(1, 1001, 1)",
        "States.ArrayGetItem($.list, 9)",
        "States.ArrayGetItem($.list, -1)",
        "States.Base64Decode('no base64')",
        "States.Hash('a', 'SHA-2')",
        "States.Hash($.list, 'SHA-2')",
        "States.JsonMerge($.one, $.two, true)",
        "States.JsonMerge($.one, $.list, false)",
        "States.MathAdd('1', 2)",
        "States.MathAdd(2147483648, 1)",
        "States.MathRandom(5, 5)",
        "States.StringSplit(1, ',')",
    ],
)
def test_arguments_that_do_not_fit_are_an_intrinsic_failure(text: str) -> None:
    with pytest.raises(StatesError) as raised:
        parse_call(text).value(DATA, bindings())

    assert raised.value.error == INTRINSIC_FAILURE
    assert raised.value.cause.startswith(f"The function '{text}' had the following error: ")


def test_text_of_more_than_ten_thousand_characters_is_not_hashed() -> None:
    with pytest.raises(StatesError):
        parse_call("States.Hash($.long, 'MD5')").value({"long": "a" * 10_001}, bindings())


def test_path_among_the_arguments_that_leads_nowhere_is_a_runtime_error() -> None:
    with pytest.raises(StatesError) as raised:
        parse_call("States.Format('{}', $.zip)").value({"a": 1}, bindings())

    assert raised.value.error == RUNTIME
    assert raised.value.cause == (
        "The function 'States.Format('{}', $.zip)' had the following error: The JsonPath argument for the field "
        "'$.zip' could not be found in the input '{\"a\":1}'"
    )


@pytest.mark.parametrize(
    "text",
    ["States.Nothing()", "States.UUID(1)", "States.Format()", "Format('a')", "States.Array(1", "States.Array(1,)",
     "States.Array(1 2)", "States.Array('a)", "States.Array($.)", "States.Array(x)", "States.UUID() x",
     "States.Array(" * 11 + "1" + ")" * 11],
)  # fmt: skip
def test_text_that_is_no_call_is_refused(text: str) -> None:
    with pytest.raises(MalformedCall):
        parse_call(text)


def test_calls_nest_ten_levels_deep() -> None:
    assert parse_call("States.Array(" * 10 + "1" + ")" * 10).value(None, bindings()) == [[[[[[[[[[1]]]]]]]]]]


def test_context_object_and_variables_are_arguments_too() -> None:
    call = parse_call("States.Format('{}/{}', $$.Execution.Name, $order.id)")

    assert call.value(None, bindings(order={"id": 7})) == "x/7"


def test_randomness_is_that_of_the_bindings_and_a_seed_repeats_it() -> None:
    seeded = parse_call("States.MathRandom(1, 1000000, 7)")
    drawn = parse_call("States.MathRandom(1, 1000000)")
    uuid = parse_call("States.UUID()")

    assert seeded.value(None, bindings()) == seeded.value(None, bindings())
    assert drawn.value(None, bindings()) == drawn.value(None, bindings())
    surroundings = bindings()
    assert uuid.value(None, surroundings) != uuid.value(None, surroundings)


@given(st.integers(-50, 50), st.integers(1, 60))
def test_random_number_lies_below_the_end(start: int, width: int) -> None:
    number = parse_call(f"States.MathRandom({start}, {start + width})").value(None, bindings())

    assert isinstance(number, int)
    assert start <= number < start + width


@given(st.text(max_size=40))
def test_any_text_survives_base64_and_json(text: str) -> None:
    surroundings = bindings()
    data = {"text": text}

    for there, back in (("Base64Encode", "Base64Decode"), ("JsonToString", "StringToJson")):
        assert parse_call(f"States.{back}(States.{there}($.text))").value(data, surroundings) == text


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 10))
def test_chunks_of_an_array_make_the_array_again(values: list[int], size: int) -> None:
    chunks = parse_call(f"States.ArrayPartition($, {size})").value(values, bindings())

    assert isinstance(chunks, list)
    assert [value for chunk in chunks for value in chunk] == values
    assert all(len(chunk) == size for chunk in chunks[:-1])
