"""Log events: what is taken, how streams are read, how groups are searched."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.clock import DAY_MS, HOUR_MS
from redrive.core.errors import ServiceError
from redrive.services.logs.model.batch import sort_out
from redrive.services.logs.model.tokens import Position, read_position
from redrive.store.connection import SqliteDatabase
from redrive.store.tables.log_events import Place
from redrive.testing.world import World

NOW = 1_760_000_000_000


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    world.call("logs", "CreateLogGroup", logGroupName="g")
    for name in ("s", "t"):
        world.call("logs", "CreateLogStream", logGroupName="g", logStreamName=name)
    yield world
    world.close()


def put(world: World, messages: list[str], *, stream: str = "s", at: int = 0, **params: object) -> dict[str, Any]:
    """Write messages one second apart, the first `at` milliseconds from now."""
    events = [{"timestamp": world.now + at + 1000 * place, "message": text} for place, text in enumerate(messages)]
    return world.call("logs", "PutLogEvents", logGroupName="g", logStreamName=stream, logEvents=events, **params)


def get(world: World, **params: object) -> tuple[list[str], str, str]:
    answer = world.call("logs", "GetLogEvents", logGroupName="g", logStreamName="s", **params)
    texts = [event["message"] for event in answer["events"]]
    return texts, answer["nextForwardToken"], answer["nextBackwardToken"]


def search(world: World, **params: object) -> tuple[list[str], str | None]:
    answer = world.call("logs", "FilterLogEvents", logGroupName="g", **params)
    return [event["message"] for event in answer["events"]], answer.get("nextToken")


def refused(world: World, operation: str, **params: object) -> tuple[str, str]:
    with pytest.raises(ServiceError) as caught:
        world.call("logs", operation, logGroupName="g", **params)
    return caught.value.code, caught.value.message


def test_events_come_back_through_boto3_as_they_were_put(world: World) -> None:
    logs = world.client("logs")
    events = [{"timestamp": world.now - 5, "message": "é\n"}, {"timestamp": world.now, "message": "two"}]

    answer = logs.put_log_events(logGroupName="g", logStreamName="s", logEvents=events, sequenceToken="any")
    found = logs.get_log_events(logGroupIdentifier="g", logStreamName="s", startFromHead=True)["events"]

    assert len(answer["nextSequenceToken"]) == 56
    assert "rejectedLogEventsInfo" not in answer
    assert found == [{**event, "ingestionTime": world.now} for event in events]


def test_stream_must_exist_before_events_are_put(world: World) -> None:
    events = [{"timestamp": world.now, "message": "m"}]

    assert refused(world, "PutLogEvents", logStreamName="none", logEvents=events) == (
        "ResourceNotFoundException",
        "The specified log stream does not exist.",
    )


def event(at: int, message: str = "m") -> dict[str, object]:
    return {"timestamp": at, "message": message}


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([event(NOW), event(NOW - 1)], "Log events in a single PutLogEvents request must be in chronological order."),
        (
            [event(NOW - DAY_MS - 1), event(NOW)],
            "The batch of log events in a single PutLogEvents request cannot span more than 24 hours.",
        ),
        ([event(NOW, "x" * 1_048_551)], "Upload too large: 1048577 bytes exceeds limit of 1048576"),
        ([event(NOW, "é" * 524_276)], "Upload too large: 1048578 bytes exceeds limit of 1048576"),
    ],
)
def test_batch_that_breaks_a_rule_is_refused_whole(events: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ServiceError) as caught:
        sort_out(events, now=NOW, kept_since=0)

    assert (caught.value.code, caught.value.message) == ("InvalidParameterException", message)


def test_batch_of_exactly_the_largest_size_and_span_is_taken() -> None:
    batch = sort_out([event(NOW - DAY_MS), event(NOW, "x" * (1_048_576 - 53))], now=NOW, kept_since=0)

    assert (len(batch.accepted), batch.bytes, batch.rejected) == (2, 1_048_576, None)


@pytest.mark.parametrize(
    ("ages_ms", "kept_days", "accepted", "rejected"),
    [
        ([14 * DAY_MS + 1, 14 * DAY_MS], None, 1, {"tooOldLogEventEndIndex": 1}),
        ([2 * DAY_MS, 1, 0], 1, 2, {"expiredLogEventEndIndex": 1}),
        ([15 * DAY_MS, 2 * DAY_MS, 0], 1, 1, {"tooOldLogEventEndIndex": 1, "expiredLogEventEndIndex": 2}),
        ([15 * DAY_MS, 0], 1, 1, {"tooOldLogEventEndIndex": 1}),
        ([0, -2 * HOUR_MS, -2 * HOUR_MS - 1], None, 2, {"tooNewLogEventStartIndex": 2}),
        ([15 * DAY_MS, -3 * HOUR_MS], None, 0, {"tooOldLogEventEndIndex": 1, "tooNewLogEventStartIndex": 1}),
    ],
)
def test_events_out_of_time_are_left_out_and_told(
    ages_ms: list[int], kept_days: int | None, accepted: int, rejected: dict[str, int]
) -> None:
    kept_since = 0 if kept_days is None else NOW - kept_days * DAY_MS

    batch = sort_out([event(NOW - age_ms) for age_ms in ages_ms], now=NOW, kept_since=kept_since)

    assert (len(batch.accepted), batch.rejected) == (accepted, rejected)


def test_rejected_events_are_not_stored(world: World) -> None:
    answer = put(world, ["old", "new"], at=-15 * DAY_MS)

    assert answer["rejectedLogEventsInfo"] == {"tooOldLogEventEndIndex": 2}
    assert get(world)[0] == []


@pytest.mark.parametrize(
    ("keys", "error_type"),
    [
        ({"Name": "n", "Identifier": "i"}, "MissingRequiredFields"),
        ({"Type": "Service", "Colour": "c"}, "InvalidKeyAttributes"),
    ],
)
def test_entity_that_is_not_valid_is_told_and_events_are_taken(
    world: World, keys: dict[str, str], error_type: str
) -> None:
    answer = put(world, ["m"], entity={"keyAttributes": keys})

    assert answer["rejectedEntityInfo"] == {"errorType": error_type}
    assert get(world)[0] == ["m"]


def test_stream_is_read_from_its_head_in_pages_and_on_when_more_comes(world: World) -> None:
    put(world, ["a", "b", "c"])

    first, token, _ = get(world, startFromHead=True, limit=2)
    second, end, _ = get(world, startFromHead=True, limit=2, nextToken=token)
    nothing, same, _ = get(world, startFromHead=True, nextToken=end)
    put(world, ["d"], at=9_000)
    more, _, _ = get(world, startFromHead=True, nextToken=same)

    assert (first, second, nothing, more) == (["a", "b"], ["c"], [], ["d"])
    assert same == end


def test_stream_is_read_from_its_end_backward_each_page_in_order_of_time(world: World) -> None:
    put(world, ["a", "b", "c"])

    last, forward, token = get(world, limit=2)
    first, _, end = get(world, limit=2, nextToken=token)
    nothing, _, same = get(world, nextToken=end)

    assert (last, first, nothing) == (["b", "c"], ["a"], [])
    assert same == end
    assert get(world, nextToken=forward)[0] == []
    assert (forward[:2], token[:2]) == ("f/", "b/")


def test_turning_round_at_an_end_finds_the_last_page_again(world: World) -> None:
    put(world, ["a", "b", "c"])
    _, end, _ = get(world, startFromHead=True)

    _, _, back = get(world, nextToken=end)

    assert get(world, nextToken=back, limit=2)[0] == ["b", "c"]


def test_tokens_of_an_empty_stream_find_what_comes_later(world: World) -> None:
    _, forward, _ = get(world)
    put(world, ["a"])

    assert get(world, nextToken=forward)[0] == ["a"]


def test_start_is_part_of_the_range_of_a_stream_and_end_is_not(world: World) -> None:
    put(world, ["a", "b", "c", "d"])
    bounds = {"startTime": world.now + 1000, "endTime": world.now + 3000}

    assert get(world, **bounds)[0] == get(world, startFromHead=True, **bounds)[0] == ["b", "c"]


def test_events_of_the_same_time_keep_their_order_over_pages(world: World) -> None:
    events = [{"timestamp": world.now, "message": str(number)} for number in range(5)]
    world.call("logs", "PutLogEvents", logGroupName="g", logStreamName="s", logEvents=events)

    first, token, _ = get(world, startFromHead=True, limit=3)

    assert first + get(world, nextToken=token)[0] == ["0", "1", "2", "3", "4"]


def test_page_weighs_one_megabyte_at_most(world: World) -> None:
    for letter in "abc":
        put(world, [letter * 500_000], at=ord(letter))

    page, token, _ = get(world, startFromHead=True)
    found, next_token = search(world)

    assert [text[0] for text in page] == [text[0] for text in found] == ["a", "b"]
    assert [text[0] for text in get(world, nextToken=token)[0]] == ["c"]
    assert [text[0] for text in search(world, nextToken=next_token)[0]] == ["c"]


@pytest.mark.parametrize("token", ["f/1", "x", "b/" + "0" * 55 + "/s", "f/" + "9" * 56 + "/s"])
def test_token_that_is_none_of_ours_is_refused(world: World, token: str) -> None:
    refusal = ("InvalidParameterException", "The specified nextToken is invalid.")

    assert refused(world, "GetLogEvents", logStreamName="s", nextToken=token) == refusal
    assert refused(world, "FilterLogEvents", nextToken=token) == refusal


@given(at=st.integers(0, 10**18), seq=st.integers(0, 10**18), is_forward=st.booleans())
def test_position_is_read_back_from_its_token(at: int, seq: int, is_forward: bool) -> None:
    position = Position(Place(at, seq), is_forward)

    assert read_position(str(position)) == position


def test_search_interleaves_the_streams_of_a_group(world: World) -> None:
    put(world, ["s1", "s2"])
    put(world, ["t1", "t2"], stream="t", at=500)

    answer = world.call("logs", "FilterLogEvents", logGroupName="g", interleaved=False)

    assert [event["message"] for event in answer["events"]] == ["s1", "t1", "s2", "t2"]
    assert [event["logStreamName"] for event in answer["events"]] == ["s", "t", "s", "t"]
    assert len({event["eventId"] for event in answer["events"]}) == 4
    assert answer["searchedLogStreams"] == []


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"logStreamNames": ["t"]}, ["t1 ERROR"]),
        ({"logStreamNames": ["s", "t"]}, ["s1", "t1 ERROR", "s2 ERROR"]),
        ({"logStreamNamePrefix": "s"}, ["s1", "s2 ERROR"]),
        ({"logStreamNamePrefix": "x"}, []),
        ({"filterPattern": "ERROR"}, ["t1 ERROR", "s2 ERROR"]),
        ({"filterPattern": "ERROR -s2", "limit": 1}, ["t1 ERROR"]),
    ],
)
def test_search_is_narrowed_by_streams_and_pattern(
    world: World, params: dict[str, object], expected: list[str]
) -> None:
    put(world, ["s1", "s2 ERROR"])
    put(world, ["t1 ERROR"], stream="t", at=500)

    assert search(world, **params) == (expected, None)


def test_both_ends_are_part_of_the_range_of_a_search(world: World) -> None:
    put(world, ["a", "b", "c", "d"])

    assert search(world, startTime=world.now + 1000, endTime=world.now + 2000)[0] == ["b", "c"]


def test_search_may_end_at_the_last_instant_there_is(world: World) -> None:
    """Any Long is an endTime. Source: AWS's model of FilterLogEvents gives it no maximum."""
    put(world, ["a"])

    assert search(world, endTime=2**63 - 1)[0] == ["a"]


def test_search_goes_on_where_its_token_says(world: World) -> None:
    put(world, ["a x", "b", "c x", "d x"])

    first, token = search(world, filterPattern="x", limit=2)
    second, end = search(world, filterPattern="x", limit=2, nextToken=token)

    assert (first, second, end) == (["a x", "c x"], ["d x"], None)


def test_search_goes_from_the_newest_if_asked_and_its_token_keeps_the_direction(world: World) -> None:
    put(world, ["a", "b", "c"])

    newest, token = search(world, startFromHead=False, limit=2)
    rest, end = search(world, nextToken=token, startFromHead=True)

    assert (newest, rest, end) == (["c", "b"], ["a"], None)


def test_search_from_the_newest_does_not_reach_before_2024(world: World) -> None:
    params = {"startFromHead": False, "startTime": 1_704_067_199_999}

    assert refused(world, "FilterLogEvents", **params)[0] == "InvalidParameterException"


def test_search_stops_after_so_many_events_and_hands_out_a_token(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redrive.services.logs.limits.SCANNED_EVENTS_MAX", 2)
    put(world, ["a", "b", "c x"])

    nothing, token = search(world, filterPattern="x")

    assert (nothing, token is None) == ([], False)
    assert search(world, filterPattern="x", nextToken=token) == (["c x"], None)


def test_search_stops_sooner_the_more_its_filter_costs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else is served while a group is searched, so the length of the messages counts, and the filter's cost."""
    monkeypatch.setattr("redrive.services.logs.limits.SCANNED_WEIGHT_MAX", 250)
    put(world, ["-" * 100, "-" * 100, "-" * 100, "xyz"])

    plain = search(world, filterPattern="xy")
    costly = search(world, filterPattern="%x[y]z%")

    assert (plain[0], costly[0]) == ([], [])
    places = [read_position(str(token)).place.seq for token in (plain[1], costly[1])]
    assert places == [3, 1]
    assert search(world, filterPattern="%x[y]z%", nextToken=plain[1]) == (["xyz"], None)


@pytest.mark.sqlite("PostgreSQL sends all rows of an answer")
def test_search_holds_one_event_that_it_does_not_answer_with(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """However large a group's events are, those behind the end of a page are not read."""
    monkeypatch.setattr("redrive.services.logs.limits.PAGE_BYTES_MAX", 200)
    put(world, ["-" * 100 for _ in range(50)])
    each, read = SqliteDatabase.each, itertools.count()
    monkeypatch.setattr(SqliteDatabase, "each", lambda *args: (row for row, _ in zip(each(*args), read, strict=False)))

    found, _ = search(world)
    page = world.call("logs", "GetLogEvents", logGroupName="g", logStreamName="s")["events"]

    assert (len(found), len(page), next(read)) == (1, 1, 4)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("%a*a*a*a*b%", ["aaab", '{"x":"aaab"}']),
        ("%a?a?a?a?a?a?a?a?a?a?aab%", ["aaab", '{"x":"aaab"}']),
        ('{ $.x = "*a*a*a*b*" }', ['{"x":"aaab"}']),
    ],
)
def test_filter_made_to_go_back_for_ever_is_answered(world: World, pattern: str, found: list[str]) -> None:
    """The attack: patterns on which a backtracking matcher takes cubic time and more, over long messages."""
    long = "a" * 50_000 + "!"
    put(world, [long, json.dumps({"x": long}), "aaab", '{"x":"aaab"}'])

    assert search(world, filterPattern=pattern)[0] == found


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"logStreamNames": ["s"], "logStreamNamePrefix": "s"}, "InvalidParameterException"),
        ({"logStreamNames": ["none"]}, "ResourceNotFoundException"),
        ({"filterPattern": "{ $.a = "}, "InvalidParameterException"),
    ],
)
def test_search_that_means_nothing_is_refused(world: World, params: dict[str, object], code: str) -> None:
    assert refused(world, "FilterLogEvents", **params)[0] == code


def test_deleted_stream_takes_its_events_out_of_the_group(world: World) -> None:
    put(world, ["s1"])
    put(world, ["t1"], stream="t")

    world.call("logs", "DeleteLogStream", logGroupName="g", logStreamName="s")

    assert search(world)[0] == ["t1"]
    assert world.call("logs", "DescribeLogGroups")["logGroups"][0]["storedBytes"] == 28


def test_put_that_rejects_all_events_answers_a_token(world: World) -> None:
    answer = put(world, ["old"], at=-15 * DAY_MS)

    assert answer["rejectedLogEventsInfo"] == {"tooOldLogEventEndIndex": 1}
    assert len(answer["nextSequenceToken"]) == 56
