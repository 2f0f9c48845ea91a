"""Logs Insights: commands, functions, fields that are found, errors, and the same answers as a slow reading."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.languages.insights import LogOrigin, MalformedQuery, QueryTooLarge, SearchedEvent, compile_query, stages
from redrive.languages.insights.values import order
from tests.unit.languages.counting import lines_run
from tests.unit.languages.insights.oracle import Command, answered, written

NOW = 1_763_931_412_000  # 2025-11-23T20:56:52Z
ID = "8f5b4444-1234-1234-1234-123456789012"
REPORT = (
    "REPORT RequestId: 8f5b4444-1234-1234-1234-123456789012\tDuration: 102.25 ms\tBilled Duration: 103 ms"
    "\tMemory Size: 128 MB\tMax Memory Used: 35 MB\tInit Duration: 200.5 ms\t\n"
    "XRAY TraceId: 1-5c-ab\tSegmentId: 6d2f\tSampled: true\t\n"
)


def run(query: str, *messages: str, limit: int = 10_000) -> list[dict[str, str]]:
    """The rows of a query over messages, the first of which is the newest; without @ptr."""
    running = compile_query(query, now=NOW).begin(limit)
    origin = LogOrigin("1:g")
    running.push(
        SearchedEvent(NOW - 1000 * place, text, "s", NOW, place, origin) for place, text in enumerate(messages)
    )
    return [{name: value for name, value in row if name != "@ptr"} for row in running.finish()]


def value(expression: str, message: str = "{}") -> str | None:
    (row,) = run(f"display {expression} as x", message)
    return row.get("x")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1 + 2 * 3", "7"), ("(1 + 2) * 3", "9"), ("2 ^ 3 ^ 2", "512"), ("10 % 3", "1"), ("-3 + 1", "-2"),
        ("7 / 2", "3.5"), ("1 / 3", "0.3333"), ("1 / 0", None), ("9 ^ 9 ^ 9", None), ("'x' + 1", None),
        ("abs(-3)", "3"), ("ceil(1.2)", "2"), ("floor(-1.2)", "-2"), ("sqrt(16)", "4"), ("log(1)", "0"),
        ("sqrt(-1)", None), ("greatest(1, 22, 3)", "22"), ("least(5, 4)", "4"),
        ("strlen('añb')", "3"), ("toupper('aß')", "ASS"), ("tolower('AB')", "ab"), ("substr('xyZfooxyZ', 3, 3)", "foo"),
        ("substr('abc', 1)", "bc"), ("substr('abc', 9)", ""), ("replace('foo', 'o', '0')", "f00"),
        ("concat('a', 1, 2.5)", "a12.5"), ("trim('  a ')", "a"), ("ltrim('xyZfooxyZ', 'xyZ')", "fooxyZ"),
        ("rtrim('xyZfooxyZ', 'xyZ')", "xyZfoo"), ("strcontains('abc', 'bc')", "1"), ("strcontains('abc', 'x')", "0"),
        ("isempty('')", "1"), ("isempty(gone)", "1"), ("isblank('  ')", "1"), ("isblank('a')", "0"),
        ("ispresent(gone)", "0"), ("coalesce(gone, 'a', 'b')", "a"),
        ("isValidIp('::1')", "1"), ("isValidIpV4('::1')", "0"), ("isValidIpV6('::1')", "1"),
        ("isIpInSubnet('10.1.2.3', '10.0.0.0/8')", "1"), ("isIpv4InSubnet('11.1.2.3', '10.0.0.0/8')", "0"),
        ("isIpv6InSubnet('2001:db8::5', '2001:db8::/32')", "1"), ("isIpInSubnet('x', '10.0.0.0/8')", "0"),
        ("jsonParse('[1, {\"a\": true}]')[1].a", "1"), ("jsonParse('{\"a\": [5]}')['a']", "[5]"),
        ("jsonStringify(jsonParse('{\"a\": 1}'))", '{"a":1}'), ("jsonParse('x')", None),
        ("1 = 1.0", "1"), ("'1' = 1", "1"), ("'b' > 'a'", "1"), ("'10' > '9'", "1"), ("gone = 1", "0"),
        ("gone != 1", "0"), ("not (gone = 1)", "1"), ("1 in [2, 1]", "1"), ("'a' not in ['b']", "1"),
        ("true and 0", "0"), ("0 or 'x' like 'x'", "1"), ("'Error' like /(?i)ERR/", "1"), ("'a/b' =~ /a\\/b/", "1"),
        ("'abc' not like /^b/", "1"), ("now()", str(NOW // 1000)), ("toMillis(@timestamp)", str(NOW)),
        ("fromMillis(0)", "1970-01-01 00:00:00.000"), ("@timestamp", "2025-11-23 20:56:52.000"),
        ("bin(5m)", "2025-11-23 20:55:00.000"), ("bin(1h)", "2025-11-23 20:00:00.000"),
        ("bin(1d)", "2025-11-23 00:00:00.000"), ("bin(1w)", "2025-11-17 00:00:00.000"),
        ("bin(1mo)", "2025-11-01 00:00:00.000"), ("bin(1q)", "2025-10-01 00:00:00.000"),
        ("bin(1y)", "2025-01-01 00:00:00.000"), ("datefloor(@timestamp, 30s)", "2025-11-23 20:56:30.000"),
        ("dateceil(@timestamp, 1h)", "2025-11-23 21:00:00.000"), ("unmask(@logStream)", "s"), ("@log", "1:g"),
    ],
)  # fmt: skip
def test_expressions(expression: str, expected: str | None) -> None:
    """Operators and functions give these values; what has no answer has no value."""
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("field", "message", "expected"),
    [
        ("@type", REPORT, "REPORT"), ("@duration", REPORT, "102.25"), ("@billedDuration", REPORT, "103"),
        ("@memorySize", REPORT, "128000000"), ("@maxMemoryUsed", REPORT, "35000000"),
        ("@initDuration", REPORT, "200.5"),
        ("@requestId", REPORT, ID), ("@xrayTraceId", REPORT, "1-5c-ab"),
        ("@xraySegmentId", REPORT, "6d2f"), ("@type", "START RequestId: x", "START"), ("@type", "STARTED", None),
        ("@requestId", f"[INFO]\t2026\t{ID}\thello", ID),
        ("@duration", "Duration: 5 ms", None),
        ("a.b", '{"a": {"b": 1}}', "1"), ("a.b", '{"a.b": 2}', "2"), ("a.0.c", '{"a": [{"c": true}]}', "1"),
        ("a.b.c", '{"a.b": {"c": 3}}', "3"), ("a", '{"a": {"b": 1}}', None), ("a", '{"a": null}', None),
        ("`a-b`", '{"a-b": "x"}', "x"), ("@@id", '{"@id": 7}', "7"), ("a", 'said {"a": 4} {"a": 5}', "4"),
        ("a", '{"a": 1', None), ("a", "[1]", None), ("f250", json.dumps({f"f{n}": n for n in range(300)}), None),
        ("f150", json.dumps({f"f{n}": n for n in range(300)}), "150"),
    ],
)  # fmt: skip
def test_fields_are_found(field: str, message: str, expected: str | None) -> None:
    """Fields of JSON, and those of Lambda's lines, have these values without a parse."""
    assert value(field, message) == expected


def test_parse_by_glob_by_expression_and_by_expression_in_quotation_marks() -> None:
    line = "25 May [ERROR] user=ann, took 31 ms for all"

    glob = run('parse @message "[*] user=*, took * ms*" as level, user, ms, rest | display level, user, ms, rest', line)
    regex = run(r"parse @message /user=(?<user>\w+), took (?<ms>\d+)/ | display user, ms + 1 as more", line, "other")
    quoted = run(r'parse "took (?<ms>\\d+)" | display ms', line)

    assert glob == [{"level": "ERROR", "user": "ann", "ms": "31", "rest": " for all"}]
    assert regex == [{"user": "ann", "more": "32"}, {}]
    assert quoted == [{"ms": "31"}]


def test_columns_are_those_of_fields_or_of_the_last_display() -> None:
    message = '{"a": 1, "b": 2}'

    assert run("filter a = 1", message) == [{"@timestamp": "2025-11-23 20:56:52.000", "@message": message}]
    assert run("fields a | fields b as c", message) == [{"a": "1", "c": "2"}]
    assert run("fields a, b | display b | limit 5", message) == [{"b": "2"}]
    assert run("fields a | parse @message '*:' as head", message) == [{"a": "1", "head": '{"a"'}]
    assert run("fields a + b", message) == [{"a + b": "3"}]


def test_stats_computes_with_aggregates_and_with_what_it_has_made() -> None:
    messages = [json.dumps({"k": key, "n": number}) for key, number in (("a", 1), ("a", 3), ("b", 10))]

    made = run("stats max(n) as most, min(n) as least, most - least as span, sum(n) / count(*) as mean by k", *messages)
    twice = run("stats count(*) as c, sum(n) as s by k | filter c > 1 or s = 10 | stats max(s), count()", *messages)
    sorted_by = run("stats count(*) by k | sort count(*) desc, k | display k", *messages)

    assert made == [
        {"k": "a", "most": "3", "least": "1", "span": "2", "mean": "2"},
        {"k": "b", "most": "10", "least": "10", "span": "0", "mean": "10"},
    ]
    assert twice == [{"max(s)": "10", "count()": "2"}]
    assert sorted_by == [{"k": "a"}, {"k": "b"}]


def test_unnest_makes_a_row_of_each_item() -> None:
    query = "fields jsonParse(@message) as j | unnest j.events into e | display e.name, j.id"

    found = run(query, '{"id": 1, "events": [{"name": "a"}, {"name": "b"}]}', '{"id": 2}')

    assert found == [{"e.name": "a", "j.id": "1"}, {"e.name": "b", "j.id": "1"}]


def test_sort_is_natural_as_the_documentation_lists_it() -> None:
    texts = ["!:", "#", "*%04", "0#", "5A", "111A", "2345_", "@", "@_", "A", "A9876fghj", "a12345hfh"]
    numbers = ["0", "01", "1", "2", "3"]

    assert sorted([*numbers[:1], *texts[::-1], *numbers[1:]], key=order)[: len(texts)] == texts
    assert sorted([*reversed(texts), *numbers], key=order)[len(texts) :] == ["0", "01", "1", "2", "3"]


def test_pattern_groups_what_has_the_same_form() -> None:
    found = run(
        "pattern @message | sort @sampleCount desc", "[INFO] took 327 ms", "[INFO] took 4 ms", "ERROR: disk full"
    )

    assert found == [
        {"@pattern": "[INFO] took <*> ms", "@ratio": "0.6667", "@sampleCount": "2", "@severityLabel": "Info"},
        {"@pattern": "ERROR: disk full", "@ratio": "0.3333", "@sampleCount": "1", "@severityLabel": "Error"},
    ]


def test_comments_are_left_out_and_those_of_sql_are_told() -> None:
    query = compile_query("-- what\n# so\nfields a # all\n  -- again\n| limit 3", now=NOW)

    assert [note.partition(":")[0] for note in query.notes] == ["line 1", "line 4"]


def test_field_that_stats_does_not_make_is_told() -> None:
    (note,) = compile_query("stats count() by a | sort count desc", now=NOW).notes

    assert "count() as count" in note


@pytest.mark.parametrize(
    ("query", "at"),
    [
        ("filter a = ", (11, 11)), ("fields nosuch(1)", (7, 16)), ("dedup a | sort b", (10, 16)),
        ("stats n", (6, 7)), ("stats count(*) | stats count(*) | stats count(*)", (34, 48)),
        ("filter count(*) > 1", (7, 15)),
        ("fields abs(1, 2)", (7, 16)), ("limit 0", (6, 7)), ("sort a sideways", (7, 15)), ("fields 'a", (7, 9)),
        ("stats pct(a, 101)", (6, 17)), ("fields a | SOURCE 'x'", (11, 21)), ("display bin(5)", (8, 14)),
        ("filter " + "(" * 100, (47, 48)), ("parse a /no groups/", (8, 19)), ("fields datefloor(a)", (7, 19)),
    ],
)  # fmt: skip
def test_malformed_queries_tell_where(query: str, at: tuple[int, int]) -> None:
    with pytest.raises(MalformedQuery) as caught:
        compile_query(query, now=NOW)

    assert (caught.value.start, caught.value.end) == at


def test_a_query_holds_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "GROUPS_MAX", 3)
    messages = [f'{{"n": {number}}}' for number in range(5)]

    with pytest.raises(QueryTooLarge):
        run("stats count(*) by n", *messages)


def test_sort_holds_few_rows_if_few_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "HELD_MAX", 10)
    messages = [f'{{"n": {number % 5000}}}' for number in range(6_000)]

    assert run("sort n desc | limit 3 | display n", *messages) == [{"n": "4999"}, {"n": "4998"}, {"n": "4997"}]
    with pytest.raises(QueryTooLarge):
        run("sort n desc | stats count(*)", *messages)


def test_work_of_an_exploding_expression_grows_with_the_message_alone() -> None:
    query = compile_query(r"parse @message /(?<a>(x+x+)+)y/ | filter @message like /(x+x+)+z/", now=NOW)

    def searched(size: int) -> None:
        running = query.begin()
        running.push([SearchedEvent(NOW, "x" * size)])
        running.finish()

    searched(1_000)
    once, twice = lines_run(searched, 1_000), lines_run(searched, 2_000)
    assert twice < 3 * once + 1_000


_VALUES: st.SearchStrategy[Any] = st.sampled_from([0, 1, 2, 10, 2.5, -1, "a", "b", "ab", "1", "10", "", True])
_FIELDS = st.sampled_from(["k", "n", "s"])
_EVENTS = st.lists(st.dictionaries(_FIELDS, _VALUES), max_size=8)
_TEXTS = st.sampled_from(["a", "b", "ab", "1", "10"])


def _conditions() -> st.SearchStrategy[Any]:
    compared = st.tuples(
        st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), _FIELDS, st.one_of(_TEXTS, st.sampled_from([1, 2.5, 10]))
    )
    simple = st.one_of(
        compared,
        st.tuples(st.just("in"), _FIELDS, st.lists(_TEXTS, min_size=1, max_size=2)),
        st.tuples(st.just("like"), _FIELDS, _TEXTS),
        st.tuples(st.just("present"), _FIELDS),
    )
    return st.recursive(
        simple,
        lambda inner: st.one_of(
            st.tuples(st.sampled_from(["and", "or"]), inner, inner), st.tuples(st.just("not"), inner)
        ),
        max_leaves=4,
    )


_FUNCTIONS = st.sampled_from(["count", "count_distinct", "sum", "avg", "pct", "stddev", "latest"])


@st.composite
def queries(draw: st.DrawFn) -> list[Command]:
    """Filters, then perhaps an aggregation, then perhaps an order, a limit, and no duplicates."""
    commands: list[Command] = [("filter", one) for one in draw(st.lists(_conditions(), max_size=2))]
    names = ["k", "n", "s"]
    if draw(st.booleans()):
        aggregates = [
            (function, field, f"f{index}")
            for index, (function, field) in enumerate(
                draw(st.lists(st.tuples(_FUNCTIONS, _FIELDS), min_size=1, max_size=3))
            )
        ]
        by = draw(st.lists(_FIELDS, max_size=2, unique=True))
        commands.append(("stats", aggregates, by))
        names = [*by, *(name for _, _, name in aggregates)]
    else:
        commands.append(("filter", ("present", draw(_FIELDS))))
    if draw(st.booleans()):
        keys = draw(st.lists(st.tuples(st.sampled_from(names), st.booleans()), min_size=1, max_size=2))
        commands.append(("sort", keys))
    if draw(st.booleans()):
        commands.append(("dedup", draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))))
    if draw(st.booleans()):
        commands.append(("limit", draw(st.integers(1, 4))))
    return commands


@settings(max_examples=200)
@given(queries(), _EVENTS)
def test_queries_answer_as_a_slow_reading_does(commands: list[Command], events: list[dict[str, Any]]) -> None:
    timed = [(NOW - 1000 * place, json.dumps(event)) for place, event in enumerate(events)]
    shown = "" if any(command[0] == "stats" for command in commands) else "display k, n, s | "

    found = run(shown + written(commands), *[message for _, message in timed])

    assert found == answered(commands, timed)
