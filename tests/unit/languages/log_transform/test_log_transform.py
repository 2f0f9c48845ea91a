"""Transformers of logs: what each processor makes of an event. Most examples are those of AWS's pages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.languages.log_transform import NO_METADATA, MalformedTransformer, read_transformer

JSON: dict[str, Any] = {"parseJSON": {}}
NESTED = '{"outer_key": {"inner_key": "inner_value"}}'
LIST = json.dumps({
    "outer_key": [
        {"inner_key": "a", "inner_value": "val-a"}, {"inner_key": "b", "inner_value": "val-b1"},
        {"inner_key": "b", "inner_value": "val-b2"},
    ]
})  # fmt: skip
PAIRS = {
    "destination": "new_key", "fieldDelimiter": "!", "keyValueDelimiter": ":", "nonMatchValue": "defaultValue",
    "keyPrefix": "parsed_",
}  # fmt: skip


def made(message: str, *config: dict[str, Any]) -> Any:
    """What a message becomes."""
    found = read_transformer(list(config)).transform(message, {"@logGroupName": "group", "@accountId": "1"})
    return None if found is None else json.loads(found)


def changed(message: str, name: str, **settings: Any) -> Any:
    """What a JSON message becomes by one processor after parseJSON."""
    return made(message, JSON, {name: settings})


@pytest.mark.parametrize(
    ("message", "settings", "expected"),
    [
        (NESTED, {"parseJSON": {"destination": "new_key"}}, {"new_key": {"outer_key": {"inner_key": "inner_value"}}}),
        ("no JSON", JSON, None),
        ("[1]", JSON, None),
        ("'Akua Mansa':28:'New York: USA'", {"csv": {"delimiter": ":", "quoteCharacter": "'"}},
         {"column_1": "Akua Mansa", "column_2": "28", "column_3": "New York: USA"}),
        ("a\tb\tc", {"csv": {"delimiter": "\\t", "columns": ["x", "y"]}}, {"x": "a", "y": "b", "column_3": "c"}),
        ("key1:value1!key2:value2!key4", {"parseKeyValue": PAIRS},
         {"new_key": {"parsed_key1": "value1", "parsed_key2": "value2", "parsed_key4": "defaultValue"}}),
        ("a=1&b&c=2=3", {"parseKeyValue": {}}, {"a": "1", "c": "2=3"}),
    ],
)  # fmt: skip
def test_parsers_read_whole_messages(message: str, settings: dict[str, Any], expected: Any) -> None:
    assert made(message, settings) == expected


@pytest.mark.parametrize(
    ("pattern", "message", "expected"),
    [
        ("%{NUMBER:version} %{HOSTNAME:hostname} %{NOTSPACE:status} %{QUOTEDSTRING:logMsg}",
         '293750 server-01.internal-network.local OK "[Thread-000] token generated"',
         {"version": "293750", "hostname": "server-01.internal-network.local", "status": "OK",
          "logMsg": "[Thread-000] token generated"}),
        ("%{HTTPDATE:timestamp} %{IPORHOST:clientip} %{NUMBER:response_status}",
         "23/Nov/2024:10:25:15 -0900 172.16.0.1 200\n",
         {"timestamp": "23/Nov/2024:10:25:15 -0900", "clientip": "172.16.0.1", "response_status": "200"}),
        ("%{IP:client.ip} %{WORD:method} %{URIPATHPARAM:request.uri} %{NUMBER:response.status}",
         "192.168.1.1 GET /index.html?param=value 200",
         {"client": {"ip": "192.168.1.1"}, "method": "GET", "request": {"uri": "/index.html?param=value"},
          "response": {"status": "200"}}),
        ("%{NUMBER:timestamp} [%{NUMBER:db} %{IP:client_ip}:%{NUMBER:client_port}] %{GREEDYDATA:data}",
         '1629860738.123456 [0 127.0.0.1:6379] "SET" "key1"',
         {"timestamp": "1629860738.123456", "db": "0", "client_ip": "127.0.0.1", "client_port": "6379",
          "data": '"SET" "key1"'}),
        ("%{DATA:x} %{DATA:y}", "abc def ghi", {"x": "abc", "y": "def ghi"}),
        ("%{GREEDYDATA:x} %{GREEDYDATA:y}", "abc def ghi", {"x": "abc def", "y": "ghi"}),
        ("%{GREEDYDATA_MULTILINE:data}", "abc\ndef", {"data": "abc\ndef"}),
        ("%{ARN:arn}", "arn:aws:iam:us-east-1:123456789012:user/johndoe",
         {"arn": "arn:aws:iam:us-east-1:123456789012:user/johndoe"}),
        ("%{IPV6:ip}", "2001:db8:3333:4444:5555:6666:7777:8888", {"ip": "2001:db8:3333:4444:5555:6666:7777:8888"}),
        ("%{TIMESTAMP_ISO8601:at} %{LOGLEVEL:level} %{GREEDYDATA:text}", "2024-11-23T16:03:12.123Z INFO started",
         {"at": "2024-11-23T16:03:12.123Z", "level": "INFO", "text": "started"}),
        ("%{WORD} %{WORD:second}", "dropped kept", {"second": "kept"}),
        ("%{INT:n}", "-456 and more", None),
    ],
)  # fmt: skip
def test_grok_takes_fields_out_of_a_text(pattern: str, message: str, expected: Any) -> None:
    assert made(message, {"grok": {"match": pattern}}) == expected


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("addKeys", {"entries": [{"key": "outer_key.new_key", "value": "new_value"}]},
         {"outer_key": {"inner_key": "inner_value", "new_key": "new_value"}}),
        ("addKeys", {"entries": [{"key": "outer_key", "value": "x"}]}, {"outer_key": {"inner_key": "inner_value"}}),
        ("addKeys", {"entries": [{"key": "outer_key", "value": "x", "overwriteIfExists": True}]}, {"outer_key": "x"}),
        ("deleteKeys", {"withKeys": ["outer_key.inner_key", "gone"]}, {"outer_key": {}}),
        ("renameKeys", {"entries": [{"key": "outer_key", "renameTo": "new_key"}]},
         {"new_key": {"inner_key": "inner_value"}}),
        ("copyValue", {"entries": [
            {"source": "outer_key.inner_key", "target": "copy"}, {"source": "@logGroupName", "target": "from.group"}]},
         {"outer_key": {"inner_key": "inner_value"}, "copy": "inner_value", "from": {"group": "group"}}),
        ("upperCaseString", {"withKeys": ["outer_key.inner_key"]}, {"outer_key": {"inner_key": "INNER_VALUE"}}),
        ("splitString", {"entries": [{"source": "outer_key.inner_key", "delimiter": "_"}]},
         {"outer_key": {"inner_key": ["inner", "value"]}}),
        ("substituteString", {"entries": [{"source": "outer_key.inner_key", "from": "(\\w+)_(\\w+)", "to": "$2-$1"}]},
         {"outer_key": {"inner_key": "value-inner"}}),
    ],
)  # fmt: skip
def test_mutators_change_fields_and_leave_what_they_do_not_fit(
    name: str, settings: dict[str, Any], expected: Any
) -> None:
    assert changed(NESTED, name, **settings) == expected


def test_moved_key_keeps_its_name_in_its_new_place() -> None:
    message = '{"a": {"x": 1}, "b": {"y": 2}}'

    assert changed(message, "moveKeys", entries=[{"source": "a.x", "target": "b"}]) == {"a": {}, "b": {"y": 2, "x": 1}}


def test_texts_are_trimmed_and_substituted_by_named_groups() -> None:
    message = '{"a": "  arn:aws:sts::123456789012:x "}'
    entry = {"source": "a", "from": r"^arn:aws:sts::(?P<account_id>\d{12}):(.*)$", "to": r"\${account_id}/$2"}

    found = made(
        message, JSON, {"trimString": {"withKeys": ["a"]}}, {"substituteString": {"entries": [entry]}},
        {"lowerCaseString": {"withKeys": ["a"]}},
    )  # fmt: skip
    assert found == {"a": r"\123456789012/x"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {"a": ["val-a"], "b": ["val-b1", "val-b2"]}),
        ({"flatten": True, "flattenedElement": "first"}, {"a": "val-a", "b": "val-b1"}),
        ({"flatten": True, "flattenedElement": "last"}, {"a": "val-a", "b": "val-b2"}),
    ],
)
def test_list_becomes_a_map(settings: dict[str, Any], expected: Any) -> None:
    shared = {"source": "outer_key", "key": "inner_key", "valueKey": "inner_value"}

    found = changed(LIST, "listToMap", **shared, **settings)
    below = changed(LIST, "listToMap", **shared, **settings, target="t")

    assert found == {**json.loads(LIST), **expected}
    assert below["t"] == expected


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("integer", "200", 200), ("integer", "1.9", 1), ("integer", "x", "x"), ("double", "1.5", 1.5),
        ("double", "nan", "nan"), ("boolean", "TRUE", True), ("boolean", "1", "1"), ("string", 7, "7"),
        ("string", True, "true"), ("integer", True, True),
    ],
)  # fmt: skip
def test_types_are_converted_where_they_can_be(kind: str, value: object, expected: object) -> None:
    found = changed(json.dumps({"v": value}), "typeConverter", entries=[{"key": "v", "type": kind}])

    assert (found["v"], type(found["v"])) == (expected, type(expected))


@pytest.mark.parametrize(
    ("value", "settings", "expected"),
    [
        ("2024-07-01 12:00:00", {"sourceTimezone": "Europe/Berlin"}, "2024-07-01T10:00:00.000Z"),
        ("23/Nov/2024:10:25:15 -0900", {"targetFormat": "EEE, d MMM yyyy hh:mm a XXX", "targetTimezone": "+01:00"},
         "Sat, 23 Nov 2024 08:25 PM +01:00"),
        ("2024-07-01T12:00:00.123Z", {"targetFormat": "yyyyMMdd HHmmssSSS"}, "20240701 120000123"),
    ],
)  # fmt: skip
def test_dates_are_written_in_another_format(value: str, settings: dict[str, Any], expected: str) -> None:
    patterns = ["yyyy-MM-dd HH:mm:ss", "dd/MMM/yyyy:HH:mm:ss Z", "yyyy-MM-dd'T'HH:mm:ss.SSSX"]

    found = changed(
        json.dumps({"t": value}), "dateTimeConverter", source="t", target="u", matchPatterns=patterns, **settings
    )
    unread = changed('{"t": "yesterday"}', "dateTimeConverter", source="t", target="u", matchPatterns=patterns)

    assert found["u"] == expected
    assert unread == {"t": "yesterday"}


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ([{"addKeys": {"entries": [{"key": "a", "value": "b"}]}}], "the first processor is a parser"),
        ([JSON] * 6, "more than 5 parsers"),
        ([{"grok": {"match": "%{WORD:a}"}}] * 2, "more than one grok"),
        ([{"parseVPC": {}}], "redrive has no parseVPC"),
        ([{"parseJSON": {}, "csv": {}}], "processor 1 is one processor, not 2"),
        ([{"grok": {"match": "%{NOSUCH:x}"}}], "none of the supported patterns"),
        ([{"grok": {"match": "%{APACHE_ACCESS_LOG}"}}], "name the fields of the line one by one"),
        ([{"grok": {"match": "plain"}}], "no pattern a name"),
        ([JSON, {"deleteKeys": {"withKeys": ["a.b.c.d"]}}], "more than 3 names deep"),
        ([JSON, {"substituteString": {"entries": [{"source": "a", "from": r"(a)\1", "to": "b"}]}}], "linear time"),
        ([JSON, {"substituteString": {"entries": [{"source": "a", "from": "a", "to": "$1"}]}}], "no such group"),
        ([JSON, {"listToMap": {"source": "a", "key": "k", "flatten": True}}], "flattenedElement is required"),
        ([JSON, {"dateTimeConverter": {"source": "a", "target": "b", "matchPatterns": ["yyyy-QQ"]}}], "no date format"),
    ],
)
def test_transformer_that_cannot_be_says_why(config: list[dict[str, Any]], why: str) -> None:
    with pytest.raises(MalformedTransformer, match=why):
        read_transformer(config)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=9,
)


@given(st.text() | VALUES.map(json.dumps))
def test_any_message_becomes_json_or_nothing(message: str) -> None:
    transformer = read_transformer([
        JSON, {"grok": {"source": "a", "match": "%{WORD:b.c} %{GREEDYDATA:a.b}"}},
        {"listToMap": {"source": "b", "key": "a", "target": "c.b"}},
        {"moveKeys": {"entries": [{"source": "a.b", "target": "c"}, {"source": "c", "target": "c.c"}]}},
        {"copyValue": {"entries": [{"source": "a", "target": "b.a"}]}},
        {"typeConverter": {"entries": [{"key": "a", "type": "integer"}, {"key": "b", "type": "string"}]}},
        {"splitString": {"entries": [{"source": "b", "delimiter": "a"}]}},
    ])  # fmt: skip

    found = transformer.transform(message, NO_METADATA)

    assert found is None or isinstance(json.loads(found), dict)
