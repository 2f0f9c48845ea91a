"""A Map has the items, the children's inputs, the concurrency and the tolerance that its fields say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.languages.states import Map, StatesError
from redrive.languages.states.definition import ItemReader
from redrive.languages.states.items import batch_document, batches_of, listed_item, manifest_files, read_items
from redrive.languages.states.items.readers import inventory_items
from redrive.languages.states.mapping import Item, Tolerance, concurrency_of, item_input, items_of, tolerance_of
from redrive.languages.states.payloads import payload_bytes
from tests.unit.languages.states.worlds import bindings, state

INNER = {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}
DISTRIBUTED = {**INNER, "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}


def _map(**members: Any) -> Map:
    one = state({"Type": "Map", "ItemProcessor": INNER, "End": True, **members})
    assert isinstance(one, Map)
    return one


def test_items_are_the_elements_of_the_array_at_the_path() -> None:
    surroundings = bindings()

    assert [item.value for item in items_of(_map(), [5, 6], surroundings)] == [5, 6]
    assert [
        item.value for item in items_of(_map(InputPath="$.a", ItemsPath="$.b"), {"a": {"b": [7]}}, surroundings)
    ] == [7]
    keyed = items_of(_map(Items={"x": 1, "y": 2}, QueryLanguage="JSONata"), {}, surroundings)
    assert keyed == [Item(0, 1, "x"), Item(1, 2, "y")]
    assert keyed[1].context() == {"Index": 1, "Key": "y", "Value": 2}


@pytest.mark.parametrize(
    ("members", "error", "cause"),
    [
        ({}, "States.Runtime", 'Reference path "$" must point to array.'),
        ({"ItemsPath": "$.a"}, "States.Runtime", 'Reference path "$.a" must point to array.'),
        (
            {"QueryLanguage": "JSONata"},
            "States.QueryEvaluationError",
            'Map state input must be an array but was: {"a":5}',
        ),
        (
            {"QueryLanguage": "JSONata", "Items": "{% $states.input.a %}"},
            "States.QueryEvaluationError",
            (
                "The JSONata expression '$states.input.a' specified for the field 'Items' returned an "
                "unexpected result type. Expected 'array', but was 'number' for value: 5"
            ),
        ),
    ],
)
def test_what_is_no_array_has_no_items(members: dict[str, Any], error: str, cause: str) -> None:
    with pytest.raises(StatesError) as raised:
        items_of(_map(**members), {"a": 5}, bindings())

    assert (raised.value.error, raised.value.cause) == (error, cause)


def test_child_gets_its_item_or_what_the_selector_makes_of_it() -> None:
    surroundings = bindings()
    surroundings.context["Map"] = {"Item": {"Index": 0, "Value": 5}}
    try:
        selected = _map(ItemSelector={"n.$": "$$.Map.Item.Value", "all.$": "$.list"})
        old = _map(Parameters={"n.$": "$$.Map.Item.Index"})
        new = _map(ItemSelector={"n": "{% $states.context.Map.Item.Value %}"}, Items=[1], QueryLanguage="JSONata")

        assert item_input(_map(), {"list": [5]}, Item(0, 5), surroundings) == 5
        assert item_input(selected, {"list": [5]}, Item(0, 5), surroundings) == {"n": 5, "all": [5]}
        assert item_input(old, {}, Item(0, 5), surroundings) == {"n": 0}
        assert item_input(new, {}, Item(0, 5), surroundings) == {"n": 5}
    finally:
        del surroundings.context["Map"]


@pytest.mark.parametrize(
    ("members", "running"),
    [
        ({}, 40),
        ({"MaxConcurrency": 0}, 40),
        ({"MaxConcurrency": 3}, 3),
        ({"MaxConcurrency": 50}, 40),
        ({"MaxConcurrencyPath": "$.n"}, 2),
        ({"ItemProcessor": DISTRIBUTED}, 10_000),
        ({"ItemProcessor": DISTRIBUTED, "MaxConcurrency": 500}, 500),
    ],
)
def test_so_many_children_run_at_once(members: dict[str, Any], running: int) -> None:
    assert concurrency_of(_map(**members), {"n": 2}, bindings()) == running


def test_concurrency_that_is_no_integer_fails_the_map() -> None:
    with pytest.raises(
        StatesError, match='The MaxConcurrencyPath field refers to value "abc" which is not a valid integer'
    ):
        concurrency_of(_map(MaxConcurrencyPath="$.n"), {"n": "abc"}, bindings())


@given(st.integers(0, 20), st.integers(1, 20), st.none() | st.integers(0, 20), st.none() | st.integers(0, 100))
def test_tolerance_is_exceeded_by_more_than_the_count_or_the_share(
    failed: int, total: int, count: int | None, percentage: int | None
) -> None:
    bounds = [bound for bound in (count, None if percentage is None else percentage * total / 100) if bound is not None]

    assert Tolerance(count, percentage).is_exceeded(failed, total) is (failed > (min(bounds) if bounds else 0))


@pytest.mark.parametrize(
    ("members", "raw", "cause"),
    [
        ({"ToleratedFailureCountPath": "$.n"}, {"n": -1}, "ToleratedFailureCount cannot be negative."),
        (
            {"ToleratedFailurePercentagePath": "$.n"},
            {"n": 100.1},
            "ToleratedFailurePercentage must be between 0 and 100.",
        ),
        (
            {"ToleratedFailurePercentagePath": "$.n"},
            {"n": "x"},
            'The ToleratedFailurePercentagePath field refers to value "x" which is not a valid float: $.n',
        ),
    ],
)
def test_tolerance_out_of_bounds_fails_the_map(members: dict[str, Any], raw: object, cause: str) -> None:
    with pytest.raises(StatesError) as raised:
        tolerance_of(_map(ItemProcessor=DISTRIBUTED, **members), raw, bindings())

    assert raised.value.cause == cause


def _read(text: str, input_type: str = "CSV", items_max: int = 0, **config: Any) -> list[object]:
    return list(read_items(text.encode(), ItemReader("", None, input_type, **config), items_max))


def test_rows_of_csv_are_objects_of_texts() -> None:
    assert _read('\ufeffa,b,\n1,"x, ""y"""\n\n2,3,4,5\n') == [
        {"a": "1", "b": 'x, "y"', "": ""},
        {"a": "2", "b": "3", "": "4"},
    ]
    assert _read("1;2;3\n4;5", delimiter="SEMICOLON", header_location="GIVEN", headers=("a", "b")) == [
        {"a": "1", "b": "2"},
        {"a": "4", "b": "5"},
    ]


def test_json_and_lines_of_json_are_read_up_to_the_most_items() -> None:
    assert _read('{"a": {"b/c": [1, 2, 3]}}', "JSON", 2, items_pointer="/a/b~1c") == [1, 2]
    assert _read('{"a":1}\n\n"x\u2028y"\n[3]', "JSONL") == [{"a": 1}, "x\u2028y", [3]]


@pytest.mark.parametrize(
    ("text", "input_type", "items_max", "cause"),
    [
        ("a,a\n1,2", "CSV", 0, "CSV headers cannot contain duplicates."),
        ('{"a": 1}', "JSON", 0, "Attempting to map over non-iterable node."),
        ("[1]", "JSON", -1, "field MaxItems must be positive"),
        ("{}\n{", "JSONL", 0, "The file is not in the JSON format"),
        ("PAR1", "PARQUET", 0, "Files of the InputType PARQUET cannot be read."),
    ],
)
def test_file_that_cannot_be_read_fails_the_reader(text: str, input_type: str, items_max: int, cause: str) -> None:
    with pytest.raises(StatesError) as raised:
        _read(text, input_type, items_max)

    assert raised.value.error == "States.ItemReaderFailed"
    assert raised.value.cause.startswith(cause)


def test_manifest_of_an_inventory_names_its_files_and_columns() -> None:
    manifest = (
        b'{"destinationBucket":"arn:aws:s3:::inventory","fileFormat":"CSV","fileSchema":"Bucket, Key",'
        b'"files":[{"key":"a.csv.gz"}]}'
    )

    bucket, keys, columns = manifest_files(manifest)

    assert (bucket, keys, columns) == ("inventory", ("a.csv.gz",), ("Bucket", "Key"))
    assert list(inventory_items(b'"b","k1"\n"b","k2"\n', columns)) == [
        {"Bucket": "b", "Key": "k1"},
        {"Bucket": "b", "Key": "k2"},
    ]
    with pytest.raises(StatesError):
        list(inventory_items(b"\x1f\x8bno", columns))


def test_object_of_a_list_is_an_item() -> None:
    assert listed_item("k", "e", 3, 1.5, "STANDARD")["Etag"] == '"e"'


@given(st.lists(st.text(max_size=12), max_size=20), st.none() | st.integers(1, 5), st.none() | st.integers(20, 60))
def test_batches_keep_all_items_in_order_and_their_bounds(items: list[str], most: int | None, size: int | None) -> None:
    batches = list(batches_of(items, most, size, {"k": 1}))

    assert [item for batch in batches for item in batch] == items
    for batch, following in zip(batches, [*batches[1:], None], strict=False):
        assert most is None or len(batch) <= most
        assert size is None or len(batch) == 1 or payload_bytes(batch_document(batch, {"k": 1})) <= size
        if following is not None and (most is None or len(batch) < most):
            assert size is not None
            assert payload_bytes(batch_document([*batch, following[0]], {"k": 1})) > size
